//! Ways out of the workspace that an agent may type, or find prepared.

use crate::workspace::asking::Client;
use crate::workspace::place::{Place, sha256};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// What nobody may ever read.
const SECRET: &str = "what is outside";

/// A workspace with a directory beside it, and one whose name only begins like its own.
fn place() -> Place {
    let place = Place::new();
    place.allow(&["**"]);
    for dir in ["outside", "ws-evil"] {
        fs::create_dir(place.beside(dir)).unwrap();
        fs::write(place.beside(dir).join("file"), SECRET).unwrap();
    }
    place
}

fn is_untouched(place: &Place) {
    for dir in ["outside", "ws-evil"] {
        let names = fs::read_dir(place.beside(dir)).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["file"], "{dir}");
        let text = fs::read_to_string(place.beside(dir).join("file")).unwrap();
        assert_eq!(text, SECRET, "{dir}");
    }
}

/// Every tool that takes a path, with this one.
fn tools(path: &str) -> [(&'static str, Value); 7] {
    let hash = sha256(SECRET.as_bytes());
    [
        ("read_file", json!({ "path": path })),
        ("read_file", json!({ "path": path, "encoding": "base64" })),
        ("list_files", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "x" })),
        (
            "write_file",
            json!({ "path": path, "edits": [{ "old": "what", "new": "x" }] }),
        ),
        (
            "delete_file",
            json!({ "path": path, "previous_hash": hash }),
        ),
        (
            "apply_changes",
            json!({ "changes": [{ "path": path, "delete": true, "previous_hash": hash }] }),
        ),
    ]
}

/// Each of the tools answers one of these codes, and tells nothing.
fn refused(client: &mut Client, path: &str, codes: &[&str]) {
    for (tool, arguments) in tools(path) {
        let failed = client.failed(tool, arguments);
        assert!(codes.contains(&failed.code()), "{tool} {path}: {failed:?}");
        assert!(!failed.text.contains(SECRET), "{}", failed.text);
    }
}

#[test]
fn paths_that_say_so() {
    let place = place();
    let mut client = place.executor(&["--lock-after", "1000"]);
    let root = place.root_text();
    for path in [
        "..",
        "../outside/file",
        "src/../../outside/file",
        "./../ws-evil/file",
        "src/..",
        "src//..//..//outside/file",
        &format!("{root}/../outside/file"),
        &format!("{root}/src/../../ws-evil/file"),
    ] {
        refused(&mut client, path, &["PATH_TRAVERSAL_BLOCKED"]);
    }
    let outside = place.beside("outside/file");
    let twin = place.beside("ws-evil/file");
    for path in [
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "/proc/self/cwd/outside/file",
        "/dev/stdin",
        outside.to_str().unwrap(),
        twin.to_str().unwrap(),
        &format!("{root}-evil/file"),
    ] {
        refused(&mut client, path, &["OUTSIDE_WORKSPACE"]);
    }
    is_untouched(&place);
}

#[test]
fn links_that_lead_out() {
    let place = place();
    for (name, target) in [
        ("file", "../../outside/file".into()),
        ("dir", "../../outside".into()),
        ("absolute", place.beside("outside/file")),
        ("up", "../..".into()),
        ("twin", place.beside("ws-evil/file")),
        ("dangling", place.beside("outside/new")),
        ("environ", "/proc/self/environ".into()),
        ("root", "/proc/self/root".into()),
        ("cwd", "/proc/self/cwd".into()),
        ("fd", "/dev/fd/0".into()),
        ("chain", "dir".into()),
        ("longer", "chain/file".into()),
    ] {
        symlink(target, place.at("src").join(name)).unwrap();
    }
    let mut client = place.executor(&[]);
    for path in [
        "src/file",
        "src/dir/file",
        "src/dir/new",
        "src/dir",
        "src/absolute",
        "src/up/outside/file",
        "src/up",
        "src/twin",
        "src/dangling",
        "src/environ",
        "src/root/etc/passwd",
        "src/cwd/outside/file",
        "src/fd",
        "src/chain/file",
        "src/longer",
    ] {
        refused(&mut client, path, &["OUTSIDE_WORKSPACE"]);
    }
    is_untouched(&place);
    for (tool, arguments) in [
        ("list_files", json!({ "depth": 64 })),
        ("search_files", json!({ "pattern": "what is" })),
    ] {
        let answer = client.ask(tool, &arguments).to_string();
        assert!(!answer.contains(SECRET), "{answer}");
        assert!(!answer.contains("passwd"), "{answer}");
    }
    symlink("loop", place.at("src/loop")).unwrap();
    refused(&mut client, "src/loop", &["INVALID_PATH"]);
}

/// A link within the workspace is followed, and judged by where it leads.
#[test]
fn links_that_stay_inside() {
    let place = place();
    place.put(".git/HEAD", "ref");
    place.put("docs/plans/x", "");
    symlink("a.txt", place.at("src/same")).unwrap();
    symlink("new.txt", place.at("src/dangling")).unwrap();
    symlink("../.git", place.at("src/git")).unwrap();
    symlink("../docs", place.at("src/docs")).unwrap();
    let mut client = place.executor(&[]);
    let wrote = client.done(
        "write_file",
        json!({ "path": "src/same", "content": "new" }),
    );
    assert_eq!(wrote["path"], "src/a.txt");
    assert_eq!(place.got("src/a.txt"), "new");
    assert!(place.at("src/same").is_symlink());
    let wrote = client.done(
        "write_file",
        json!({ "path": "src/dangling", "content": "new" }),
    );
    assert_eq!(wrote["path"], "src/new.txt");
    assert_eq!(place.got("src/new.txt"), "new");
    assert!(place.at("src/dangling").is_symlink());
    for path in ["src/git/HEAD", "src/docs/plans/x"] {
        let failed = client.failed("write_file", json!({ "path": path, "content": "x" }));
        assert_eq!(failed.code(), "UNAUTHORIZED_ACTION", "{path}");
        client.done("write_failure_report", json!({ "title": "t", "body": "b" }));
    }
    assert_eq!(place.got(".git/HEAD"), "ref");
}

/// Writing replaces the link; the other name keeps what it had.
#[test]
fn hard_links_are_never_written_through() {
    let place = place();
    for name in ["content", "edits", "delete"] {
        fs::hard_link(place.beside("outside/file"), place.at("src").join(name)).unwrap();
    }
    let mut client = place.executor(&[]);
    client.done(
        "write_file",
        json!({ "path": "src/content", "content": "new" }),
    );
    let edits = json!([{ "old": "what", "new": "nothing" }]);
    client.done("write_file", json!({ "path": "src/edits", "edits": edits }));
    let hash = sha256(SECRET.as_bytes());
    client.done(
        "delete_file",
        json!({ "path": "src/delete", "previous_hash": hash }),
    );
    assert_eq!(place.got("src/content"), "new");
    assert_eq!(place.got("src/edits"), "nothing is outside");
    is_untouched(&place);
}

/// Nobody waits for a pipe.
#[test]
fn pipes_and_devices_are_not_opened() {
    let place = place();
    for made in [
        Command::new("mkfifo").arg(place.at("src/fifo")).status(),
        Command::new("mkfifo")
            .arg(place.beside("outside/fifo"))
            .status(),
    ] {
        assert!(made.unwrap().success());
    }
    symlink("fifo", place.at("src/link")).unwrap();
    let mut client = place.executor(&[]);
    for path in ["src/fifo", "src/link"] {
        for (tool, arguments) in tools(path) {
            let code = client.code(tool, arguments);
            let wanted = match tool {
                "list_files" => ["INVALID_PATH", "PATH_NOT_FOUND"],
                _ => ["INVALID_PATH"; 2],
            };
            assert!(wanted.contains(&code.as_str()), "{tool} {path}: {code}");
        }
    }
    client.done("list_files", json!({}));
    client.done("search_files", json!({ "pattern": "x" }));
}

#[test]
fn names_are_bytes() {
    let place = place();
    let mut client = place.executor(&[]);
    let longest = "n".repeat(255);
    let wide = "é".repeat(127);
    for name in [
        longest.as_str(),
        &wide,
        " ",
        "a\nb",
        "-rf",
        "~",
        "%2e%2e",
        "...",
    ] {
        let path = format!("src/{name}");
        client.done("write_file", json!({ "path": path, "content": name }));
        assert_eq!(place.got(&path), *name);
        let read = client.done("read_file", json!({ "path": path }));
        assert_eq!(read["content"], *name);
        let hash = read["hash"].clone();
        client.done(
            "delete_file",
            json!({ "path": path, "previous_hash": hash }),
        );
        assert!(!place.at(&path).exists());
    }
    let too_long = format!("src/{}", "n".repeat(256));
    refused(&mut client, &too_long, &["INVALID_PATH"]);
    // Two spellings of one word are two files.
    let (composed, decomposed) = ("src/caf\u{e9}", "src/cafe\u{301}");
    client.done("write_file", json!({ "path": composed, "content": "one" }));
    let missing = client.failed("read_file", json!({ "path": decomposed }));
    assert_eq!(missing.code(), "FILE_NOT_FOUND");
    client.done(
        "write_file",
        json!({ "path": decomposed, "content": "two" }),
    );
    assert_eq!(
        (place.got(composed), place.got(decomposed)),
        ("one".into(), "two".into())
    );
}
