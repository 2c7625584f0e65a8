//! Hostile input of every size, within a gibibyte of address space: always an answer, and never a
//! hang.

use crate::context::fixture::{
    CommandOutput, ContextFixture, error_object, exit_code_of, run_command, with_memory_limit,
};
use crate::context::server::{ContextServer, arguments, outcome};
use crate::fixture::LIMIT;
use crate::requests::call;
use candor_testkit::is_long;
use candor_testkit::user::is_root;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

const GIBIBYTE: u64 = 1 << 30;
const LITTLE: u64 = 400_000_000;
const HUNDRED_MEGABYTES: usize = 100_000_000;
/// The most documents of a cache.
const MAX_DOCUMENTS: usize = 4_000_000;

fn resolve(fixture: &ContextFixture, cache: &str) -> CommandOutput {
    run_command(with_memory_limit(
        &fixture.resolve_command(cache, "fox", "1000"),
        GIBIBYTE,
    ))
}

fn serve(fixture: &ContextFixture) -> ContextServer {
    ContextServer::start(with_memory_limit(&fixture.serve_command(&[]), GIBIBYTE))
}

/// Command and server return this code, and the server continues.
fn check_both(fixture: &ContextFixture, cache: &str, code: &str) {
    let output = resolve(fixture, cache);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (exit_code_of(code), "")
    );
    assert_eq!(output.stderr, error_object(code));
    let mut server = serve(fixture);
    // Reading millions of entries takes long in a build without optimisation.
    let request = call("1", "context.resolve", arguments(cache, "fox", "1000"));
    server.stdio().send_line(request);
    let answer = server.stdio().line_within(LIMIT).unwrap().unwrap();
    assert_eq!(outcome("1", &answer).text(), error_object(code));
    assert_eq!(
        server.resolve("nowhere", "fox", "1000").text(),
        error_object("cache_missing")
    );
    server.end();
}

/// Writes pieces between a beginning and an end.
fn fill(
    fixture: &ContextFixture,
    file: &str,
    (begin, end): (&str, &str),
    pieces: impl Iterator<Item = String>,
) {
    let mut out = BufWriter::new(File::create(fixture.path(file)).unwrap());
    out.write_all(begin.as_bytes()).unwrap();
    for piece in pieces {
        out.write_all(piece.as_bytes()).unwrap();
    }
    out.write_all(end.as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Returns a short text for each number below 36^5, in their order.
fn short_name(number: usize) -> String {
    let digit = |power: u32| {
        let digit = number / 36_usize.pow(power) % 36;
        char::from_digit(digit as u32, 36).unwrap()
    };
    (0..5).rev().map(digit).collect()
}

#[test]
fn manifest_of_brackets_is_invalid() {
    for bracket in ["[", "{", r#"{"cache_version":["#] {
        let fixture = ContextFixture::with_cache();
        let brackets = std::iter::repeat_n("[".repeat(1000), HUNDRED_MEGABYTES / 1000);
        fill(&fixture, "cache/manifest.json", (bracket, ""), brackets);
        check_both(&fixture, "cache", "cache_invalid");
    }
}

#[test]
fn index_of_too_many_names_is_invalid() {
    let fixture = ContextFixture::with_cache();
    // A short text takes as much memory as a longer one, and is read faster.
    let names = (1..=MAX_DOCUMENTS).map(|number| format!(r#","{}":"x""#, short_name(number)));
    fill(&fixture, "cache/index.json", (r#"{"":"x""#, "}"), names);
    check_both(&fixture, "cache", "cache_invalid");
}

#[test]
fn manifest_of_too_many_entries_is_invalid() {
    let fixture = ContextFixture::with_cache();
    let manifest = String::from_utf8(fixture.read("cache/manifest.json")).unwrap();
    let head = &manifest[..manifest.find(r#""documents""#).unwrap()];
    let begin = format!(r#"{head}"documents":[{{"id":"","version":"","file":""}}"#);
    // One more than the limit only if there is time: a smaller limit is tested where the entries are read.
    let more = if is_long() {
        MAX_DOCUMENTS
    } else {
        MAX_DOCUMENTS / 16
    };
    let entries =
        (1..=more).map(|number| format!(r#",{{"id":"{number}","version":"","file":""}}"#));
    fill(&fixture, "cache/manifest.json", (&begin, "]}"), entries);
    check_both(&fixture, "cache", "cache_invalid");
}

/// Sizes in headers that are larger than any file are not trusted.
#[test]
fn sparse_files_of_huge_size_are_invalid() {
    for file in ["manifest.json", "index.json"] {
        let fixture = ContextFixture::with_cache();
        let open = File::options()
            .write(true)
            .open(fixture.path(format!("cache/{file}")))
            .unwrap();
        open.set_len(1 << 40).unwrap();
        check_both(&fixture, "cache", "cache_invalid");
    }
    let fixture = ContextFixture::with_cache();
    let open = File::options()
        .write(true)
        .open(fixture.path(fixture.document("cache", "fox.md")))
        .unwrap();
    open.set_len(1 << 40).unwrap();
    check_both(&fixture, "cache", "cache_invalid");
    // Within the bounds of the format, but larger than the memory limit.
    for file in ["accelerator.sig", "accelerator.idx", "accelerator.src"] {
        for size in [1 << 40, (1 << 30) - 1] {
            let fixture = ContextFixture::with_cache();
            let expected = resolve(&fixture, "cache").stdout;
            let open = File::options()
                .write(true)
                .open(fixture.path(format!("cache/{file}")))
                .unwrap();
            open.set_len(size).unwrap();
            assert_eq!(resolve(&fixture, "cache").stdout, expected, "{file} {size}");
            assert_eq!(
                serve(&fixture).resolve("cache", "fox", "1000").unwrap(),
                expected,
                "{file} {size}"
            );
        }
    }
}

#[test]
fn cache_larger_than_memory_is_an_io_error() {
    let fixture = ContextFixture::empty();
    for number in 0..200 {
        fixture.write(format!("docs/{number}.md"), format!("document {number}\n"));
    }
    fixture.build("docs", "cache");
    for entry in fs::read_dir(fixture.path("cache/documents")).unwrap() {
        let open = File::options()
            .write(true)
            .open(entry.unwrap().path())
            .unwrap();
        open.set_len(500_000_000).unwrap();
    }
    // The first of them is already too much.
    let command = with_memory_limit(&fixture.resolve_command("cache", "fox", "9"), LITTLE);
    let output = run_command(command);
    assert_eq!((output.code, output.stderr), (6, error_object("io_error")));
    let mut server = ContextServer::start(with_memory_limit(&fixture.serve_command(&[]), LITTLE));
    assert_eq!(
        server.resolve("cache", "fox", "9").text(),
        error_object("io_error")
    );
    server.end();
}

#[test]
fn many_links_are_invalid() {
    let fixture = ContextFixture::with_cache();
    fixture.write("farm/real.md", "fox\n");
    for number in 0..300 {
        for (kind, target) in [
            ("self", "."),
            ("up", ".."),
            ("root", "/"),
            ("file", "real.md"),
            ("loop", "loop.md"),
        ] {
            symlink(target, fixture.path(format!("farm/{kind}-{number}.md"))).unwrap();
        }
    }
    let build = fixture.command(&["build", "--sources", "farm", "--cache", "harvest"]);
    let built = run_command(with_memory_limit(&build, GIBIBYTE));
    assert_eq!((built.code, built.stderr.as_str()), (0, ""));
    let built: serde_json::Value = serde_json::from_str(&built.stdout).unwrap();
    assert_eq!(built["document_count"], 1);
    fs::remove_dir_all(fixture.path("cache/documents")).unwrap();
    fs::rename(fixture.path("farm"), fixture.path("cache/documents")).unwrap();
    check_both(&fixture, "cache", "cache_invalid");
}

fn fifo(fixture: &ContextFixture, file: &str) {
    let status = Command::new("mkfifo").arg(fixture.path(file)).status();
    assert!(status.unwrap().success());
}

/// Pipes and other special files never block.
#[test]
fn pipes_never_block() {
    let fixture = ContextFixture::with_cache();
    let expected = resolve(&fixture, "cache").stdout;
    for file in ["accelerator.sig", "accelerator.idx", "accelerator.src"] {
        fixture.remove(format!("cache/{file}"));
        fifo(&fixture, &format!("cache/{file}"));
        assert_eq!(resolve(&fixture, "cache").stdout, expected, "{file}");
        assert_eq!(
            serve(&fixture).resolve("cache", "fox", "1000").unwrap(),
            expected,
            "{file}"
        );
    }
    fifo(&fixture, "docs/pipe.md");
    drop(UnixListener::bind(fixture.path("docs/socket.md")).unwrap());
    fixture.run_ok(&["status", "--sources", "docs", "--cache", "cache"]);
    fixture.build("docs", "other");
    fifo(&fixture, "pipe");
    assert_eq!(
        fixture
            .run(&["build", "--sources", "pipe", "--cache", "new"])
            .code,
        6
    );
    assert_eq!(
        fixture
            .run(&["build", "--sources", "docs", "--cache", "pipe", "--force"])
            .code,
        6
    );
    assert_eq!(fixture.run(&["seal", "--cache", "pipe"]).code, 4);
    assert_eq!(fixture.run(&["serve", "--root", "pipe"]).code, 4);
    for file in ["manifest.json", "index.json"] {
        let fixture = ContextFixture::with_cache();
        fixture.remove(format!("cache/{file}"));
        fifo(&fixture, &format!("cache/{file}"));
        check_both(&fixture, "cache", "cache_invalid");
        assert_eq!(fixture.run(&["verify", "--cache", "cache"]).code, 5);
        assert_eq!(fixture.run(&["inspect", "--cache", "cache"]).code, 0);
    }
}

/// A device that gives zeros without end.
#[test]
fn devices_are_not_read() {
    if !is_root() {
        return candor_testkit::skip_for_kernel("only root can make devices");
    }
    let fixture = ContextFixture::with_cache();
    let files = [
        String::from("cache/manifest.json"),
        String::from("cache/index.json"),
        fixture.document("cache", "fox.md"),
    ];
    for file in files {
        let bytes = fixture.read(&file);
        fixture.remove(&file);
        let path = fixture.path(&file);
        let status = Command::new("mknod")
            .arg(&path)
            .args(["c", "1", "5"])
            .status();
        if !status.unwrap().success() {
            return candor_testkit::skip_for_kernel("the kernel does not permit devices here");
        }
        check_both(&fixture, "cache", "cache_invalid");
        fixture.remove(&file);
        fixture.write(&file, bytes);
    }
}

#[test]
fn query_of_ten_megabytes_is_refused() {
    let fixture = ContextFixture::with_cache();
    let mut server = serve(&fixture);
    for query in [
        "x".repeat(10_000_000),
        "fox ".repeat(2_500_000),
        "é".repeat(5_000_000),
    ] {
        assert_eq!(
            server.resolve("cache", &query, "1").text(),
            error_object("invalid_query")
        );
    }
    server.resolve("cache", "fox", "9").unwrap();
    server.end();
}

/// Each selected document repeats the words of the query: an answer that would be too large is refused.
#[test]
fn query_of_very_many_words_is_answered_or_refused() {
    let fixture = ContextFixture::empty();
    for number in 0..3000 {
        fixture.write(format!("docs/{number}.md"), format!("a {number}\n"));
    }
    fixture.build("docs", "cache");
    let query = "a ".repeat(32_768);
    let resolve_with_budget = |budget: &str| {
        run_command(with_memory_limit(
            &fixture.resolve_command("cache", &query, budget),
            GIBIBYTE,
        ))
    };
    let mut server = serve(&fixture);
    let refused = resolve_with_budget("9007199254740991");
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
    assert_eq!(refused.stderr, error_object("invalid_budget"));
    let answer = server.resolve("cache", &query, "9007199254740991");
    assert_eq!(answer.text(), error_object("invalid_budget"));
    let message = fixture.run_err(
        3,
        &[
            "resolve",
            "--cache",
            "cache",
            "--budget",
            "9007199254740991",
            "--query",
            &query,
        ],
    );
    assert_eq!(
        message,
        "error: the answer to this query with this budget would be larger than 64 MiB\n\
         hint: give a smaller --budget, or a shorter --query\n"
    );
    let some = resolve_with_budget("80");
    assert_eq!((some.code, some.stderr.as_str()), (0, ""));
    assert!(some.stdout.len() > 40 * 32_768 * 4);
    assert_eq!(server.resolve("cache", &query, "80").unwrap(), some.stdout);
    server.end();
}

/// Nested directories, as deep as a path can be.
#[test]
fn deep_source_directories_are_refused() {
    let fixture = ContextFixture::empty();
    let deep = "d/".repeat(500);
    fixture.write(format!("docs/{deep}end.md"), "deep\n");
    fixture.build("docs", "cache");
    let answer = resolve(&fixture, "cache").stdout;
    assert!(
        answer.contains(&format!(r#""id":"{deep}end.md""#)),
        "{answer}"
    );
}
