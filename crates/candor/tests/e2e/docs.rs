//! Runs every example of the documentation and compares its answers.
//!
//! A fenced block `stdio` is one run of the playground: `> ` is sent, `< ` is the whole answer, and
//! `~ ` is a part of it. A block `console` is a session in a new directory: `$ ` is typed, and the
//! following lines are the whole output.

use crate::fixture::{CANDOR, Directory, context};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let mut pages: Vec<_> = docs.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|kind| kind == "md"));
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// The blocks of this kind, each with the number of its first line.
fn blocks(text: &str, kind: &str) -> Vec<(usize, Vec<String>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Vec<String>)> = None;
    for (number, line) in text.lines().enumerate() {
        match &mut open {
            Some((_, lines)) if line != "```" => lines.push(line.to_owned()),
            Some(_) => blocks.extend(open.take()),
            None if line == format!("```{kind}") => open = Some((number + 2, Vec::new())),
            None => {}
        }
    }
    blocks
}

fn answers(requests: &[&str]) -> Vec<String> {
    let mut server = Command::new(CANDOR)
        .arg("playground")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    input
        .write_all((requests.join("\n") + "\n").as_bytes())
        .unwrap();
    drop(input);
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(String::from)
        .collect()
}

#[test]
fn examples_of_the_docs_give_the_documented_answers() {
    let mut examples = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (line, block) in blocks(&text, "stdio") {
            let location = format!("{}:{line}", page.display());
            let lines_with = |mark: &str| -> Vec<&str> {
                block
                    .iter()
                    .filter_map(|line| line.strip_prefix(mark))
                    .collect()
            };
            let actual = answers(&lines_with("> "));
            let expected: Vec<_> = block
                .iter()
                .filter(|line| !line.starts_with("> "))
                .collect();
            assert_eq!(actual.len(), expected.len(), "{location}: {actual:#?}");
            for (actual, expected) in actual.iter().zip(expected) {
                match expected.strip_prefix("~ ") {
                    Some(part) => assert!(
                        actual.contains(part),
                        "{location}: {part} is not in {actual}"
                    ),
                    None => assert_eq!(
                        Some(actual.as_str()),
                        expected.strip_prefix("< "),
                        "{location}"
                    ),
                }
            }
            examples += 1;
        }
    }
    assert!(examples >= 2, "the examples were not found");
}

/// Runs a line in a directory. Returns what it prints on stdout and stderr, in order.
fn typed(line: &str, directory: &Path) -> String {
    let programs = [context(), PathBuf::from(CANDOR)];
    let path = programs.map(|program| program.parent().unwrap().display().to_string());
    let path = format!("{}:/usr/bin:/bin", path.join(":"));
    let run = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(directory)
        .env("PATH", path)
        .env_remove("SOURCE_DATE_EPOCH")
        .output()
        .unwrap();
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn console_sessions_of_the_docs_print_the_documented_output() {
    let mut sessions = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (line, block) in blocks(&text, "console") {
            let directory = Directory::new();
            let mut actual = String::new();
            for typed_line in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                actual += &format!("$ {typed_line}\n{}", typed(typed_line, directory.root()));
            }
            let expected = block.join("\n") + "\n";
            assert_eq!(actual, expected, "{}:{line}", page.display());
            sessions += 1;
        }
    }
    assert!(sessions >= 1, "the sessions were not found");
}

/// The JSON of the guide to `context`: configurations of clients, which start a server, and a record.
#[test]
fn json_of_the_context_guide_is_right() {
    let directory = Directory::new();
    directory.write("docs/a.md", "# One\n");
    fs::create_dir(directory.path("caches")).unwrap();
    let build = "context build --sources docs --cache caches/guide";
    assert!(typed(build, directory.root()).contains("document_count"));
    let text = fs::read_to_string(root().join("docs/context.md")).unwrap();
    let (mut servers, mut records) = (0, 0);
    for (line, block) in blocks(&text, "json") {
        let block: Value = serde_json::from_str(&block.join("\n")).unwrap();
        if block.get("mcpServers").is_none() {
            let record = directory.read("caches/guide/build.json");
            assert_eq!(
                block,
                serde_json::from_str::<Value>(&record).unwrap(),
                "{line}"
            );
            records += 1;
            continue;
        }
        let server = &block["mcpServers"]["context"];
        assert_eq!(server["command"], "candor");
        let arguments = server["args"].as_array().unwrap().iter();
        let arguments = arguments.map(|argument| argument.as_str().unwrap());
        let command: Vec<_> = arguments
            .map(|argument| argument.replace("/path/to/caches", "caches"))
            .collect();
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let line = format!("echo '{request}' | candor {}", command.join(" "));
        let answer: Value = serde_json::from_str(&typed(&line, directory.root())).unwrap();
        assert_eq!(
            answer["result"]["tools"].as_array().unwrap().len(),
            3,
            "{line}"
        );
        servers += 1;
    }
    assert_eq!((servers, records), (3, 1));
}

#[test]
fn links_between_pages_exist() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            let file = page.parent().unwrap().join(path);
            assert!(file.exists(), "{}: {target}", page.display());
        }
    }
}

/// Every name of a test function in the repository.
fn collect_function_names(folder: &Path, functions: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_function_names(&path, functions);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let names = text
                .split("fn ")
                .skip(1)
                .filter_map(|rest| rest.split('(').next());
            functions.extend(names.map(String::from));
        }
    }
}

#[test]
fn every_limit_has_its_test() {
    let page = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let mut tests = Vec::new();
    collect_function_names(&root().join("crates"), &mut tests);
    let named: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_suffix("` |")?.rsplit('`').next())
        .collect();
    assert!(named.len() > 15, "the table was not found");
    for name in named {
        assert!(
            tests.iter().any(|test| test == name),
            "there is no test {name}"
        );
    }
}

/// A page that names a file or a folder of the repository names one that exists.
#[test]
fn paths_in_the_guides_for_developers_exist() {
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let paths = text.split('`').skip(1).step_by(2).filter(|code| {
            let folder = code.split('/').next().unwrap_or_default();
            code.contains('/')
                && !code.contains([' ', '*'])
                && folder != "target"
                && root().join(folder).is_dir()
        });
        let paths: Vec<_> = paths.collect();
        if page == "ARCHITECTURE.md" {
            assert!(paths.len() > 50, "{paths:?}");
        }
        for path in paths {
            assert!(root().join(path).exists(), "{page} names `{path}`");
        }
    }
}
