//! After a protected byte changed, the next call fails, in a server that has the cache
//! open and in a new process, for every kind of change.

use crate::context::fixture::{ContextFixture, error_object, unprivileged_context};
use crate::context::reading::{ask, fail, serve};
use crate::context::server::ContextServer;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const SELECTED: &str = "fox.md";
const UNSELECTED: &str = "guide/install.md";

/// The budget takes only the documents that match.
const BUDGET: &str = "14";

/// The calls of every tool of version 1.
fn reading_calls() -> [(&'static str, Value); 5] {
    let of_cache = |mut arguments: Value| {
        arguments["cache"] = json!("cache");
        arguments
    };
    [
        (
            "context_search",
            json!({ "query": "fox", "caches": ["cache"] }),
        ),
        ("context_get", of_cache(json!({ "id": SELECTED }))),
        (
            "context_get",
            of_cache(json!({ "id": UNSELECTED, "budget": 1 })),
        ),
        ("context_list", of_cache(json!({}))),
        ("context_list", of_cache(json!({ "under": "guide/" }))),
    ]
}

fn resolve_fox(server: &mut ContextServer) -> String {
    server.resolve("cache", "fox", BUDGET).text().to_owned()
}

/// Servers that have the cache open. Of each version, one uses events and the other polls.
struct OpenCache {
    fixture: ContextFixture,
    servers: Vec<ContextServer>,
    /// Servers of version 1.
    reading: Vec<ContextServer>,
    answer: String,
}

impl OpenCache {
    fn new() -> OpenCache {
        let fixture = ContextFixture::with_cache();
        // Enough documents for more than one worker.
        for number in 0..40 {
            fixture.write(
                format!("docs/more/{number}.md"),
                format!("number {number}, of no use to anybody\n"),
            );
        }
        fixture.run_ok(&["build", "--sources", "docs", "--cache", "cache", "--force"]);
        let servers = vec![fixture.serve(&[]), fixture.serve(&["--no-watch"])];
        let mut open = OpenCache {
            reading: vec![
                serve(&fixture, &["cache"]),
                serve(&fixture, &["cache", "--no-watch"]),
            ],
            fixture,
            servers,
            answer: String::new(),
        };
        open.answer = open.fixture.resolve("cache", "fox", BUDGET).stdout;
        assert!(open.answer.contains(SELECTED) && !open.answer.contains(UNSELECTED));
        open.check_answer();
        open
    }

    /// Every way of querying returns the first answer.
    fn check_answer(&mut self) {
        let answer = self.answer.clone();
        self.check_text(&answer);
        for server in &mut self.reading {
            for (tool, arguments) in reading_calls() {
                let result = ask(server, tool, &arguments);
                assert_eq!(result.get("isError"), None, "{tool}: {result}");
            }
        }
    }

    fn check_error(&mut self, code: &str) {
        self.check_text(&error_object(code));
        for server in &mut self.reading {
            for (tool, arguments) in reading_calls() {
                let told = fail(server, tool, arguments);
                assert!(told.starts_with(&format!("{code}: ")), "{tool}: {told}");
                assert!(told.contains("cache `cache`"), "{tool}: {told}");
            }
        }
    }

    fn check_text(&mut self, text: &str) {
        for (number, server) in self.servers.iter_mut().enumerate() {
            assert_eq!(resolve_fox(server), text, "server {number}");
        }
        assert_eq!(self.fixture.resolve("cache", "fox", BUDGET).text(), text);
    }

    fn file(&self, id: &str) -> String {
        self.fixture.document("cache", id)
    }
}

/// Changes one byte in place; size, inode and modification time stay the same.
fn flip(fixture: &ContextFixture, file: &str, from: &[u8]) {
    let bytes = fixture.read(file);
    let at = bytes
        .windows(from.len())
        .position(|part| part == from)
        .unwrap();
    let file = OpenOptions::new()
        .write(true)
        .open(fixture.path(file))
        .unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
    file.set_modified(before).unwrap();
    assert_eq!(file.metadata().unwrap().modified().unwrap(), before);
}

#[test]
fn changed_byte_is_noticed_and_its_restoration_too() {
    let mut open = OpenCache::new();
    for (id, from) in [
        (SELECTED, "brown"),
        (UNSELECTED, "then"),
        (SELECTED, "fox.md"),
        (UNSELECTED, "sha256:2"),
    ] {
        let file = open.file(id);
        let bytes = open.fixture.read(&file);
        flip(&open.fixture, &file, from.as_bytes());
        open.check_error("cache_invalid");
        open.check_error("cache_invalid");
        fs::write(open.fixture.path(&file), bytes).unwrap();
        open.check_answer();
    }
    for (file, from) in [
        ("cache/manifest.json", "odd.md"),
        ("cache/index.json", "odd.md"),
    ] {
        let bytes = open.fixture.read(file);
        flip(&open.fixture, file, from.as_bytes());
        open.check_error("cache_invalid");
        fs::write(open.fixture.path(file), bytes).unwrap();
        open.check_answer();
    }
}

/// Each change of a file, undone by writing the bytes that were there.
#[test]
fn changed_files_are_noticed() {
    type Change = fn(&ContextFixture, &str);
    let changes: &[(&str, Change)] = &[
        ("truncated", |fixture, file| {
            File::create(fixture.path(file)).unwrap();
        }),
        ("cut by a byte", |fixture, file| {
            let open = OpenOptions::new()
                .write(true)
                .open(fixture.path(file))
                .unwrap();
            let size = open.metadata().unwrap().len();
            open.set_len(size - 1).unwrap();
        }),
        ("appended to", |fixture, file| {
            let mut open = OpenOptions::new()
                .write(true)
                .open(fixture.path(file))
                .unwrap();
            open.seek(SeekFrom::End(0)).unwrap();
            open.write_all(b"x").unwrap();
        }),
        ("deleted", |fixture, file| fixture.remove(file)),
        ("moved away", |fixture, file| {
            fs::rename(fixture.path(file), fixture.path("away")).unwrap();
        }),
        ("replaced by rename", |fixture, file| {
            let bytes = fixture.read(file);
            fixture.write("draft", [&bytes[..bytes.len() - 3], b"x}}"].concat());
            fs::rename(fixture.path("draft"), fixture.path(file)).unwrap();
        }),
    ];
    let mut open = OpenCache::new();
    let files = [
        open.file(SELECTED),
        open.file(UNSELECTED),
        String::from("cache/manifest.json"),
        String::from("cache/index.json"),
    ];
    for file in &files {
        let bytes = open.fixture.read(file);
        for (name, change) in changes {
            change(&open.fixture, file);
            for server in &mut open.servers {
                assert_eq!(
                    resolve_fox(server),
                    error_object("cache_invalid"),
                    "{name} {file}"
                );
            }
            open.check_error("cache_invalid");
            open.fixture.write(file, &bytes);
            open.check_answer();
        }
    }
}

#[test]
fn added_and_removed_files_are_noticed() {
    let mut open = OpenCache::new();
    open.fixture.write("cache/documents/surplus.json", "{}");
    open.check_error("cache_invalid");
    open.fixture.remove("cache/documents/surplus.json");
    open.check_answer();
    fs::create_dir(open.fixture.path("cache/documents/more")).unwrap();
    open.check_error("cache_invalid");
    fs::remove_dir(open.fixture.path("cache/documents/more")).unwrap();
    open.check_answer();
    fs::rename(
        open.fixture.path("cache/documents"),
        open.fixture.path("away"),
    )
    .unwrap();
    open.check_error("cache_invalid");
    fs::rename(
        open.fixture.path("away"),
        open.fixture.path("cache/documents"),
    )
    .unwrap();
    open.check_answer();
    fs::rename(open.fixture.path("cache"), open.fixture.path("away")).unwrap();
    open.check_error("cache_missing");
    fs::rename(open.fixture.path("away"), open.fixture.path("cache")).unwrap();
    open.check_answer();
    // Files that are not part of the format are ignored.
    open.fixture.write("cache/notes.txt", "mine");
    open.fixture.remove("cache/accelerator.idx");
    for server in &mut open.servers {
        assert_eq!(resolve_fox(server), open.answer);
    }
    open.fixture.write("cache/accelerator.idx", "broken");
    open.fixture.write("cache/accelerator.sig", "broken");
    open.check_answer();
}

/// A link in the place of a document is not followed, even to the same bytes.
#[test]
fn link_instead_of_a_file_is_noticed() {
    let mut open = OpenCache::new();
    for file in [
        open.file(SELECTED),
        open.file(UNSELECTED),
        String::from("cache/manifest.json"),
    ] {
        fs::rename(open.fixture.path(&file), open.fixture.path("away")).unwrap();
        std::os::unix::fs::symlink(open.fixture.path("away"), open.fixture.path(&file)).unwrap();
        open.check_error("cache_invalid");
        fs::rename(open.fixture.path("away"), open.fixture.path(&file)).unwrap();
        open.check_answer();
    }
}

#[test]
fn file_that_becomes_unreadable_is_an_io_error() {
    let other_user = unprivileged_context();
    let fixture = ContextFixture::with_cache();
    let mut servers = [
        ContextServer::start(other_user.run_instead(&fixture.serve_command(&[]))),
        ContextServer::start(other_user.run_instead(&fixture.serve_command(&["--no-watch"]))),
    ];
    let answer = fixture.resolve("cache", "fox", BUDGET).stdout;
    for server in &mut servers {
        assert_eq!(resolve_fox(server), answer);
        for file in [
            fixture.document("cache", SELECTED),
            fixture.document("cache", UNSELECTED),
        ] {
            fixture.set_mode(&file, 0o000);
            assert_eq!(resolve_fox(server), error_object("io_error"));
            fixture.set_mode(&file, 0o644);
            assert_eq!(resolve_fox(server), answer);
        }
    }
}

#[test]
fn rebuilt_cache_gives_new_answers() {
    let mut open = OpenCache::new();
    let mut before = open.answer.clone();
    for (round, command) in ["build", "update", "update", "build"]
        .into_iter()
        .enumerate()
    {
        open.fixture
            .write("docs/fox.md", format!("the fox, round {round}\n"));
        open.check_answer();
        let force: &[&str] = if command == "build" {
            &["--force"]
        } else {
            &[]
        };
        open.fixture
            .run_ok(&[&[command, "--sources", "docs", "--cache", "cache"], force].concat());
        open.answer = open.fixture.resolve("cache", "fox", BUDGET).stdout;
        assert_ne!(open.answer, before);
        open.check_answer();
        before = open.answer.clone();
    }
    // The same bytes once more, in other files.
    open.fixture
        .run_ok(&["build", "--sources", "docs", "--cache", "cache", "--force"]);
    open.check_answer();
    open.fixture.run_ok(&["seal", "--cache", "cache"]);
    open.check_answer();
    fs::remove_dir_all(open.fixture.path("cache")).unwrap();
    open.check_error("cache_missing");
    open.fixture.build("docs", "cache");
    open.check_answer();
}

/// A hard link causes no event; the check that runs every second finds the change.
#[test]
fn write_through_a_hard_link_is_noticed_soon() {
    let mut open = OpenCache::new();
    for id in [SELECTED, UNSELECTED] {
        let file = open.file(id);
        let bytes = open.fixture.read(&file);
        let link = open.fixture.path("link.json");
        fs::hard_link(open.fixture.path(&file), &link).unwrap();
        // The new link is a change by itself, of no byte.
        open.check_answer();
        let at = bytes
            .windows(4)
            .position(|part| part == b"then" || part == b"brow")
            .unwrap();
        let writing = OpenOptions::new().write(true).open(&link).unwrap();
        writing.write_all_at(b"what", at as u64).unwrap();
        for server in &mut open.servers {
            wait_until(|| resolve_fox(server) == error_object("cache_invalid"));
        }
        for server in &mut open.reading {
            let (tool, arguments) = &reading_calls()[0];
            wait_until(|| ask(server, tool, arguments)["isError"] == true);
        }
        open.check_error("cache_invalid");
        writing.write_all_at(&bytes, 0).unwrap();
        for server in &mut open.servers {
            wait_until(|| resolve_fox(server) == open.answer);
        }
        for server in &mut open.reading {
            let (tool, arguments) = &reading_calls()[0];
            wait_until(|| ask(server, tool, arguments)["isError"].is_null());
        }
        open.check_answer();
        fs::remove_file(link).unwrap();
        open.check_answer();
    }
}

/// Waits for a change that the check every second must find soon.
fn wait_until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(5), "it was not seen");
    }
}

/// Changes and calls in quick succession: no answer is older than the change before it.
#[test]
fn each_of_many_quick_changes_is_noticed() {
    let mut open = OpenCache::new();
    let file = open.file(UNSELECTED);
    let good = open.fixture.read(&file);
    let bad = String::from_utf8(good.clone())
        .unwrap()
        .replace("then", "than");
    let path = open.fixture.path(&file);
    for _ in 0..60 {
        for server in &mut open.servers {
            fs::write(&path, &bad).unwrap();
            assert_eq!(resolve_fox(server), error_object("cache_invalid"));
            fs::write(&path, &good).unwrap();
            assert_eq!(resolve_fox(server), open.answer);
        }
    }
    open.check_answer();
}

/// The accelerator is read during queries; the answers stay the same wherever it breaks.
#[test]
fn accelerator_that_breaks_in_use_is_ignored() {
    let mut open = OpenCache::new();
    let queries = ["fox", "number", "install it,", "39, of no use", "anybody"];
    let right: Vec<_> = queries
        .iter()
        .map(|query| open.fixture.resolve("cache", query, "40").stdout)
        .collect();
    for file in ["cache/accelerator.idx", "cache/accelerator.sig"] {
        let bytes = open.fixture.read(file);
        let writing = OpenOptions::new()
            .write(true)
            .open(open.fixture.path(file))
            .unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 23) {
            writing
                .write_all_at(&[bytes[at] ^ 0x55], at as u64)
                .unwrap();
            for server in &mut open.servers {
                for (query, right) in queries.iter().zip(&right) {
                    assert_eq!(
                        &server.resolve("cache", query, "40").unwrap(),
                        right,
                        "{file} {at}"
                    );
                }
            }
            let output = open.fixture.resolve("cache", queries[at % 5], "40");
            assert_eq!(
                (output.code, &output.stdout),
                (0, &right[at % 5]),
                "{file} {at}"
            );
            writing.write_all_at(&[bytes[at]], at as u64).unwrap();
        }
        writing.set_len(bytes.len() as u64 / 2).unwrap();
        for server in &mut open.servers {
            for (query, right) in queries.iter().zip(&right) {
                assert_eq!(
                    &server.resolve("cache", query, "40").unwrap(),
                    right,
                    "{file}"
                );
            }
        }
        fs::write(open.fixture.path(file), bytes).unwrap();
    }
}
