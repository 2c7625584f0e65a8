//! The same sources give the same bytes, and no environment variable changes an answer.

use crate::context::fixture::{ContextFixture, run_command};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns the files that two builds have in common; file signatures differ.
fn repeatable(cache: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in [cache.to_owned(), cache.join("documents")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(cache)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if path.is_file() && !["accelerator.sig", "accelerator.src"].contains(&name.as_str()) {
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

fn build(fixture: &ContextFixture, command: &str, sources: &str, cache: &str) {
    let mut command = fixture.command(&[command, "--sources", sources, "--cache", cache]);
    command.env("SOURCE_DATE_EPOCH", "1700000000");
    let output = run_command(command);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
}

#[test]
fn two_builds_are_the_same_bytes() {
    let fixture = ContextFixture::with_docs();
    fixture.write("docs/Copy.md", "the quick brown fox\n");
    fixture.write("docs/another/copy.md", "the quick brown fox\n");
    build(&fixture, "build", "docs", "one");
    build(&fixture, "build", "docs", "two");
    let first = repeatable(&fixture.path("one"));
    assert_eq!(first, repeatable(&fixture.path("two")));
    let names: Vec<_> = first.keys().map(String::as_str).collect();
    for name in ["accelerator.idx", "index.json", "manifest.json"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // Equal contents have different names; only the first has no number.
    assert_eq!(
        fixture.document("one", "another/copy.md"),
        "one/documents/6e459fed18dd.json"
    );
    assert_eq!(
        fixture.document("one", "copy.md"),
        "one/documents/6e459fed18dd-2.json"
    );
    assert_eq!(
        fixture.document("one", "fox.md"),
        "one/documents/6e459fed18dd-3.json"
    );
    let manifest = String::from_utf8(fixture.read("one/manifest.json")).unwrap();
    assert!(
        manifest.contains(r#""created_at": "2023-11-14T22:13:20Z""#),
        "{manifest}"
    );
}

#[test]
fn update_gives_the_same_bytes_as_a_build() {
    let fixture = ContextFixture::with_docs();
    build(&fixture, "build", "docs", "updated");
    fixture.write("docs/fox.md", "the quick red fox\n");
    fixture.write("docs/twin.md", "Install it, then run it.\n");
    fixture.write("docs/a/first.md", "Install it, then run it.\n");
    fixture.remove("docs/empty.md");
    build(&fixture, "update", "docs", "updated");
    build(&fixture, "build", "docs", "built");
    assert_eq!(
        repeatable(&fixture.path("updated")),
        repeatable(&fixture.path("built"))
    );
    // Twice changes nothing more.
    build(&fixture, "update", "docs", "updated");
    assert_eq!(
        repeatable(&fixture.path("updated")),
        repeatable(&fixture.path("built"))
    );
}

#[test]
fn environment_does_not_change_answers() {
    let fixture = ContextFixture::with_cache();
    let command_lines: &[&[&str]] = &[
        &[
            "resolve", "--cache", "cache", "--query", "fox ÄÖ", "--budget", "20",
        ],
        &[
            "resolve", "--cache", "cache", "--query", "fox", "--budget", "20", "--format", "pretty",
        ],
        &[
            "resolve",
            "--cache",
            "cache",
            "--query",
            "fox",
            "--budget",
            "x",
            "--error-format",
            "json",
        ],
        &["inspect", "--cache", "cache"],
        &["verify", "--cache", "cache"],
    ];
    let variables = [
        ("SOURCE_DATE_EPOCH", "garbage"),
        ("CLICOLOR_FORCE", "1"),
        ("FORCE_COLOR", "3"),
        ("NO_COLOR", "1"),
        ("TERM", "xterm-256color"),
        ("LANG", "tr_TR.UTF-8"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("TZ", "Pacific/Kiritimati"),
        ("HOME", "/nonexistent"),
        ("TMPDIR", "/nonexistent"),
        ("XDG_CACHE_HOME", "/nonexistent"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "1"),
        ("CACHE", "docs"),
        ("CONTEXT_CACHE", "docs"),
        ("CONTEXT_ROOT", "/nonexistent"),
        ("CANDOR_ROOT", "/nonexistent"),
    ];
    for command_line in command_lines {
        let plain = fixture.run(command_line);
        let mut changed = fixture.command(command_line);
        changed.envs(variables);
        assert_eq!(run_command(changed), plain, "{command_line:?}");
        let mut bare = fixture.command(command_line);
        bare.env_clear();
        assert_eq!(run_command(bare), plain, "{command_line:?}");
        // The log is not part of an answer.
        let mut loud = fixture.command(command_line);
        loud.env("CANDOR_LOG", "trace");
        assert_eq!(run_command(loud).stdout, plain.stdout, "{command_line:?}");
    }
    let mut server = fixture.serve_command(&[]);
    server.envs(variables);
    let mut changed = crate::context::server::ContextServer::start(server);
    let mut plain = fixture.serve(&[]);
    for query in ["fox", "ÄÖ"] {
        assert_eq!(
            changed.resolve("cache", query, "20"),
            plain.resolve("cache", query, "20")
        );
    }
}
