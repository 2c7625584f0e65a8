//! Paths and links that lead out of the workspace.

use crate::workspace::fixture::{WorkspaceFixture, sha256};
use crate::workspace::requests::AgentClient;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// A text that no tool may return.
const SECRET: &str = "what is outside";

/// A workspace with a directory beside it, and a directory whose name begins like that of the workspace.
fn fixture() -> WorkspaceFixture {
    let fixture = WorkspaceFixture::new();
    fixture.allow(&["**"]);
    for dir in ["outside", "ws-evil"] {
        fs::create_dir(fixture.path_beside(dir)).unwrap();
        fs::write(fixture.path_beside(dir).join("file"), SECRET).unwrap();
    }
    fixture
}

fn is_untouched(fixture: &WorkspaceFixture) {
    for dir in ["outside", "ws-evil"] {
        let names = fs::read_dir(fixture.path_beside(dir)).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["file"], "{dir}");
        let text = fs::read_to_string(fixture.path_beside(dir).join("file")).unwrap();
        assert_eq!(text, SECRET, "{dir}");
    }
}

/// Returns every tool that takes a path, with arguments for this path.
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

/// Each of the tools fails with one of these codes and reveals nothing.
fn refused(client: &mut AgentClient, path: &str, codes: &[&str]) {
    for (tool, arguments) in tools(path) {
        let failed = client.call_err(tool, arguments);
        assert!(codes.contains(&failed.code()), "{tool} {path}: {failed:?}");
        assert!(!failed.text.contains(SECRET), "{}", failed.text);
    }
}

#[test]
fn paths_outside_the_workspace_are_refused() {
    let fixture = fixture();
    let mut client = fixture.executor(&["--lock-after", "1000"]);
    let root = fixture.root_text();
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
    let outside = fixture.path_beside("outside/file");
    let twin = fixture.path_beside("ws-evil/file");
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
    is_untouched(&fixture);
}

#[test]
fn links_that_lead_outside_are_refused() {
    let fixture = fixture();
    for (name, target) in [
        ("file", "../../outside/file".into()),
        ("dir", "../../outside".into()),
        ("absolute", fixture.path_beside("outside/file")),
        ("up", "../..".into()),
        ("twin", fixture.path_beside("ws-evil/file")),
        ("dangling", fixture.path_beside("outside/new")),
        ("environ", "/proc/self/environ".into()),
        ("root", "/proc/self/root".into()),
        ("cwd", "/proc/self/cwd".into()),
        ("fd", "/dev/fd/0".into()),
        ("chain", "dir".into()),
        ("longer", "chain/file".into()),
    ] {
        symlink(target, fixture.path("src").join(name)).unwrap();
    }
    let mut client = fixture.executor(&[]);
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
    is_untouched(&fixture);
    for (tool, arguments) in [
        ("list_files", json!({ "depth": 64 })),
        ("search_files", json!({ "pattern": "what is" })),
    ] {
        let answer = client.call(tool, &arguments).to_string();
        assert!(!answer.contains(SECRET), "{answer}");
        assert!(!answer.contains("passwd"), "{answer}");
    }
    symlink("loop", fixture.path("src/loop")).unwrap();
    refused(&mut client, "src/loop", &["INVALID_PATH"]);
}

/// A link within the workspace is followed, and its target decides.
#[test]
fn links_inside_the_workspace_are_followed() {
    let fixture = fixture();
    fixture.write(".git/HEAD", "ref");
    fixture.write("docs/plans/x", "");
    symlink("a.txt", fixture.path("src/same")).unwrap();
    symlink("new.txt", fixture.path("src/dangling")).unwrap();
    symlink("../.git", fixture.path("src/git")).unwrap();
    symlink("../docs", fixture.path("src/docs")).unwrap();
    let mut client = fixture.executor(&[]);
    let wrote = client.call_ok(
        "write_file",
        json!({ "path": "src/same", "content": "new" }),
    );
    assert_eq!(wrote["path"], "src/a.txt");
    assert_eq!(fixture.read("src/a.txt"), "new");
    assert!(fixture.path("src/same").is_symlink());
    let wrote = client.call_ok(
        "write_file",
        json!({ "path": "src/dangling", "content": "new" }),
    );
    assert_eq!(wrote["path"], "src/new.txt");
    assert_eq!(fixture.read("src/new.txt"), "new");
    assert!(fixture.path("src/dangling").is_symlink());
    for path in ["src/git/HEAD", "src/docs/plans/x"] {
        let failed = client.call_err("write_file", json!({ "path": path, "content": "x" }));
        assert_eq!(failed.code(), "UNAUTHORIZED_ACTION", "{path}");
        fixture.unlock();
    }
    assert_eq!(fixture.read(".git/HEAD"), "ref");
}

/// Writing replaces the link; the other name keeps its content.
#[test]
fn hard_links_are_never_written_through() {
    let fixture = fixture();
    for name in ["content", "edits", "delete"] {
        fs::hard_link(
            fixture.path_beside("outside/file"),
            fixture.path("src").join(name),
        )
        .unwrap();
    }
    let mut client = fixture.executor(&[]);
    client.call_ok(
        "write_file",
        json!({ "path": "src/content", "content": "new" }),
    );
    let edits = json!([{ "old": "what", "new": "nothing" }]);
    client.call_ok("write_file", json!({ "path": "src/edits", "edits": edits }));
    let hash = sha256(SECRET.as_bytes());
    client.call_ok(
        "delete_file",
        json!({ "path": "src/delete", "previous_hash": hash }),
    );
    assert_eq!(fixture.read("src/content"), "new");
    assert_eq!(fixture.read("src/edits"), "nothing is outside");
    is_untouched(&fixture);
}

/// A pipe never blocks.
#[test]
fn pipes_and_devices_are_not_opened() {
    let fixture = fixture();
    for status in [
        Command::new("mkfifo")
            .arg(fixture.path("src/fifo"))
            .status(),
        Command::new("mkfifo")
            .arg(fixture.path_beside("outside/fifo"))
            .status(),
    ] {
        assert!(status.unwrap().success());
    }
    symlink("fifo", fixture.path("src/link")).unwrap();
    let mut client = fixture.executor(&[]);
    for path in ["src/fifo", "src/link"] {
        for (tool, arguments) in tools(path) {
            let code = client.call_code(tool, arguments);
            let expected = match tool {
                "list_files" => ["INVALID_PATH", "PATH_NOT_FOUND"],
                _ => ["INVALID_PATH"; 2],
            };
            assert!(expected.contains(&code.as_str()), "{tool} {path}: {code}");
        }
    }
    client.call_ok("list_files", json!({}));
    client.call_ok("search_files", json!({ "pattern": "x" }));
}

#[test]
fn names_that_are_not_utf8_work() {
    let fixture = fixture();
    let mut client = fixture.executor(&[]);
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
        client.call_ok("write_file", json!({ "path": path, "content": name }));
        assert_eq!(fixture.read(&path), *name);
        let read = client.call_ok("read_file", json!({ "path": path }));
        assert_eq!(read["content"], *name);
        let hash = read["hash"].clone();
        client.call_ok(
            "delete_file",
            json!({ "path": path, "previous_hash": hash }),
        );
        assert!(!fixture.path(&path).exists());
    }
    let too_long = format!("src/{}", "n".repeat(256));
    refused(&mut client, &too_long, &["INVALID_PATH"]);
    // Two spellings of one word are two files.
    let (composed, decomposed) = ("src/caf\u{e9}", "src/cafe\u{301}");
    client.call_ok("write_file", json!({ "path": composed, "content": "one" }));
    let missing = client.call_err("read_file", json!({ "path": decomposed }));
    assert_eq!(missing.code(), "FILE_NOT_FOUND");
    client.call_ok(
        "write_file",
        json!({ "path": decomposed, "content": "two" }),
    );
    assert_eq!(
        (fixture.read(composed), fixture.read(decomposed)),
        ("one".into(), "two".into())
    );
}
