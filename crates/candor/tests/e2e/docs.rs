//! Runs every example of the documentation and compares its answers.
//!
//! A fenced block `stdio` is one run of the playground: `> ` is sent, `< ` is the whole answer, and
//! `~ ` is a part of it. A block `console` is a session in a new directory: `$ ` is typed, and what
//! follows is everything that is printed.

use crate::fixture::{CANDOR, Directory, context};
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

fn answers(asked: &[&str]) -> Vec<String> {
    let mut server = Command::new(CANDOR)
        .arg("playground")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    input
        .write_all((asked.join("\n") + "\n").as_bytes())
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
            let place = format!("{}:{line}", page.display());
            let said = |mark: &str| -> Vec<&str> {
                block
                    .iter()
                    .filter_map(|line| line.strip_prefix(mark))
                    .collect()
            };
            let got = answers(&said("> "));
            let wanted: Vec<_> = block
                .iter()
                .filter(|line| !line.starts_with("> "))
                .collect();
            assert_eq!(got.len(), wanted.len(), "{place}: {got:#?}");
            for (got, wanted) in got.iter().zip(wanted) {
                match wanted.strip_prefix("~ ") {
                    Some(part) => assert!(got.contains(part), "{place}: {part} is not in {got}"),
                    None => assert_eq!(Some(got.as_str()), wanted.strip_prefix("< "), "{place}"),
                }
            }
            examples += 1;
        }
    }
    assert!(examples >= 2, "the examples were not found");
}

/// Runs a line in a directory; what it prints on both ways out, in order.
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
            let mut got = String::new();
            for typed_line in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                got += &format!("$ {typed_line}\n{}", typed(typed_line, directory.root()));
            }
            let wanted = block.join("\n") + "\n";
            assert_eq!(got, wanted, "{}:{line}", page.display());
            sessions += 1;
        }
    }
    assert!(sessions >= 1, "the sessions were not found");
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
fn tests_below(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let names = text
                .split("fn ")
                .skip(1)
                .filter_map(|rest| rest.split('(').next());
            found.extend(names.map(String::from));
        }
    }
}

#[test]
fn every_limit_has_its_test() {
    let page = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let mut tests = Vec::new();
    tests_below(&root().join("crates"), &mut tests);
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
            let first = code.split('/').next();
            code.contains('/')
                && !code.contains([' ', '*'])
                && root().join(first.unwrap_or_default()).is_dir()
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
