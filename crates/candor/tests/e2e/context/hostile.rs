//! Bad input of every size and kind, within a gibibyte of address space: an answer each time, and no
//! hang.

use crate::context::place::{Place, Said, exit_of, is_root, object, said, within_memory};
use crate::context::server::Server;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

const GIBIBYTE: u64 = 1 << 30;
const LITTLE: u64 = 400_000_000;
const HUNDRED_MEGABYTES: usize = 100_000_000;

fn resolve(place: &Place, cache: &str) -> Said {
    said(within_memory(
        &place.resolve_command(cache, "fox", "1000"),
        GIBIBYTE,
    ))
}

fn serve(place: &Place) -> Server {
    Server::start(within_memory(&place.serve_command(&[]), GIBIBYTE))
}

/// Both ways of asking give this code, and the server lives on.
fn both_say(place: &Place, cache: &str, code: &str) {
    let said = resolve(place, cache);
    assert_eq!((said.code, said.stdout.as_str()), (exit_of(code), ""));
    assert_eq!(said.stderr, object(code));
    let mut server = serve(place);
    assert_eq!(server.resolve(cache, "fox", "1000").text(), object(code));
    assert_eq!(
        server.resolve("nowhere", "fox", "1000").text(),
        object("cache_missing")
    );
    server.end();
}

/// Writes a hundred megabytes of pieces between a beginning and an end.
fn fill(place: &Place, file: &str, begin: &str, end: &str, piece: impl Fn(usize) -> String) {
    let mut out = BufWriter::new(File::create(place.path(file)).unwrap());
    let mut written = begin.len();
    out.write_all(begin.as_bytes()).unwrap();
    for number in 0.. {
        if written >= HUNDRED_MEGABYTES {
            break;
        }
        let piece = piece(number);
        written += piece.len();
        out.write_all(piece.as_bytes()).unwrap();
    }
    out.write_all(end.as_bytes()).unwrap();
    out.flush().unwrap();
}

#[test]
fn a_manifest_of_brackets() {
    for bracket in ["[", "{", r#"{"cache_version":["#] {
        let place = Place::with_cache();
        fill(&place, "cache/manifest.json", bracket, "", |_| {
            "[".repeat(1000)
        });
        both_say(&place, "cache", "cache_invalid");
    }
}

#[test]
fn an_index_of_too_many_names() {
    let place = Place::with_cache();
    fill(&place, "cache/index.json", r#"{"":"""#, "}", |number| {
        format!(r#","{number}":"documents/x""#)
    });
    both_say(&place, "cache", "cache_invalid");
}

#[test]
fn a_manifest_of_too_many_entries() {
    let place = Place::with_cache();
    let manifest = String::from_utf8(place.read("cache/manifest.json")).unwrap();
    let head = &manifest[..manifest.find(r#""documents""#).unwrap()];
    let begin = format!(r#"{head}"documents":[{{"id":"","version":"","file":""}}"#);
    fill(&place, "cache/manifest.json", &begin, "]}", |number| {
        format!(r#",{{"id":"{number}","version":"","file":""}}"#)
    });
    both_say(&place, "cache", "cache_invalid");
}

/// Sizes that nothing could hold are not believed.
#[test]
fn files_that_claim_to_be_huge() {
    for file in ["manifest.json", "index.json"] {
        let place = Place::with_cache();
        let open = File::options()
            .write(true)
            .open(place.path(format!("cache/{file}")))
            .unwrap();
        open.set_len(1 << 40).unwrap();
        both_say(&place, "cache", "cache_invalid");
    }
    let place = Place::with_cache();
    let open = File::options()
        .write(true)
        .open(place.path(place.document("cache", "fox.md")))
        .unwrap();
    open.set_len(1 << 40).unwrap();
    both_say(&place, "cache", "cache_invalid");
    // Within the bounds of the format, and beyond what there is.
    for file in ["accelerator.sig", "accelerator.idx", "accelerator.src"] {
        for size in [1 << 40, (1 << 30) - 1] {
            let place = Place::with_cache();
            let whole = resolve(&place, "cache").stdout;
            let open = File::options()
                .write(true)
                .open(place.path(format!("cache/{file}")))
                .unwrap();
            open.set_len(size).unwrap();
            assert_eq!(resolve(&place, "cache").stdout, whole, "{file} {size}");
            assert_eq!(
                serve(&place).resolve("cache", "fox", "1000").good(),
                whole,
                "{file} {size}"
            );
        }
    }
}

#[test]
fn more_than_memory_holds_is_an_io_error() {
    let place = Place::empty();
    for number in 0..200 {
        place.write(format!("docs/{number}.md"), format!("document {number}\n"));
    }
    place.built("docs", "cache");
    for entry in fs::read_dir(place.path("cache/documents")).unwrap() {
        let open = File::options()
            .write(true)
            .open(entry.unwrap().path())
            .unwrap();
        open.set_len(500_000_000).unwrap();
    }
    // The first of them is already too much.
    let command = within_memory(&place.resolve_command("cache", "fox", "9"), LITTLE);
    let said = said(command);
    assert_eq!((said.code, said.stderr), (6, object("io_error")));
    let mut server = Server::start(within_memory(&place.serve_command(&[]), LITTLE));
    assert_eq!(
        server.resolve("cache", "fox", "9").text(),
        object("io_error")
    );
    server.end();
}

#[test]
fn farms_of_links() {
    let place = Place::with_cache();
    place.write("farm/real.md", "fox\n");
    for number in 0..300 {
        for (kind, target) in [
            ("self", "."),
            ("up", ".."),
            ("root", "/"),
            ("file", "real.md"),
            ("loop", "loop.md"),
        ] {
            symlink(target, place.path(format!("farm/{kind}-{number}.md"))).unwrap();
        }
    }
    let build = place.command(&["build", "--sources", "farm", "--cache", "harvest"]);
    let built = said(within_memory(&build, GIBIBYTE));
    assert_eq!((built.code, built.stderr.as_str()), (0, ""));
    let built: serde_json::Value = serde_json::from_str(&built.stdout).unwrap();
    assert_eq!(built["document_count"], 1);
    fs::remove_dir_all(place.path("cache/documents")).unwrap();
    fs::rename(place.path("farm"), place.path("cache/documents")).unwrap();
    both_say(&place, "cache", "cache_invalid");
}

fn fifo(place: &Place, file: &str) {
    let made = Command::new("mkfifo").arg(place.path(file)).status();
    assert!(made.unwrap().success());
}

/// What is no file is never waited for, wherever it stands.
#[test]
fn nothing_waits_at_a_pipe() {
    let place = Place::with_cache();
    let whole = resolve(&place, "cache").stdout;
    for file in ["accelerator.sig", "accelerator.idx", "accelerator.src"] {
        place.remove(format!("cache/{file}"));
        fifo(&place, &format!("cache/{file}"));
        assert_eq!(resolve(&place, "cache").stdout, whole, "{file}");
        assert_eq!(
            serve(&place).resolve("cache", "fox", "1000").good(),
            whole,
            "{file}"
        );
    }
    fifo(&place, "docs/pipe.md");
    drop(UnixListener::bind(place.path("docs/socket.md")).unwrap());
    place.answer(&["status", "--sources", "docs", "--cache", "cache"]);
    place.built("docs", "other");
    fifo(&place, "pipe");
    assert_eq!(
        place
            .run(&["build", "--sources", "pipe", "--cache", "new"])
            .code,
        6
    );
    assert_eq!(
        place
            .run(&["build", "--sources", "docs", "--cache", "pipe", "--force"])
            .code,
        6
    );
    assert_eq!(place.run(&["seal", "--cache", "pipe"]).code, 4);
    assert_eq!(place.run(&["serve", "--root", "pipe"]).code, 4);
    for file in ["manifest.json", "index.json"] {
        let place = Place::with_cache();
        place.remove(format!("cache/{file}"));
        fifo(&place, &format!("cache/{file}"));
        both_say(&place, "cache", "cache_invalid");
        assert_eq!(place.run(&["verify", "--cache", "cache"]).code, 5);
        assert_eq!(place.run(&["inspect", "--cache", "cache"]).code, 0);
    }
}

/// A device that gives zeros without end.
#[test]
fn devices_are_no_files() {
    if !is_root() {
        return;
    }
    let place = Place::with_cache();
    let files = [
        String::from("cache/manifest.json"),
        String::from("cache/index.json"),
        place.document("cache", "fox.md"),
    ];
    for file in files {
        let bytes = place.read(&file);
        place.remove(&file);
        let path = place.path(&file);
        let made = Command::new("mknod")
            .arg(&path)
            .args(["c", "1", "5"])
            .status();
        if !made.unwrap().success() {
            return;
        }
        both_say(&place, "cache", "cache_invalid");
        place.remove(&file);
        place.write(&file, bytes);
    }
}

#[test]
fn a_query_of_ten_megabytes() {
    let place = Place::with_cache();
    let mut server = serve(&place);
    for query in [
        "x".repeat(10_000_000),
        "fox ".repeat(2_500_000),
        "é".repeat(5_000_000),
    ] {
        assert_eq!(
            server.resolve("cache", &query, "1").text(),
            object("invalid_query")
        );
    }
    server.resolve("cache", "fox", "9").good();
    server.end();
}

/// Each selected document repeats the words of the query: what would be too large is refused.
#[test]
fn a_query_of_very_many_words() {
    let place = Place::empty();
    for number in 0..3000 {
        place.write(format!("docs/{number}.md"), format!("a {number}\n"));
    }
    place.built("docs", "cache");
    let query = "a ".repeat(32_768);
    let ask = |budget: &str| {
        said(within_memory(
            &place.resolve_command("cache", &query, budget),
            GIBIBYTE,
        ))
    };
    let mut server = serve(&place);
    let refused = ask("9007199254740991");
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
    assert_eq!(refused.stderr, object("invalid_budget"));
    let answer = server.resolve("cache", &query, "9007199254740991");
    assert_eq!(answer.text(), object("invalid_budget"));
    let told = place.complaint(
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
        told,
        "error: the answer to this query with this budget would be larger than 64 MiB\n\
         hint: give a smaller --budget, or a shorter --query\n"
    );
    let some = ask("80");
    assert_eq!((some.code, some.stderr.as_str()), (0, ""));
    assert!(some.stdout.len() > 40 * 32_768 * 4);
    assert_eq!(server.resolve("cache", &query, "80").good(), some.stdout);
    server.end();
}

/// Directories within directories, as deep as a path can say.
#[test]
fn deep_sources() {
    let place = Place::empty();
    let deep = "d/".repeat(500);
    place.write(format!("docs/{deep}end.md"), "deep\n");
    place.built("docs", "cache");
    let answer = resolve(&place, "cache").stdout;
    assert!(
        answer.contains(&format!(r#""id":"{deep}end.md""#)),
        "{answer}"
    );
}
