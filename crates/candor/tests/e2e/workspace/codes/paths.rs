//! Path errors.

use crate::workspace::fixture::WorkspaceFixture;
use serde_json::json;
use std::os::unix::net::UnixListener;
use std::process::Command;

#[test]
fn invalid_path() {
    let fixture = WorkspaceFixture::with_plan();
    let fifo = Command::new("mkfifo")
        .arg(fixture.path("src/fifo"))
        .status();
    assert!(fifo.unwrap().success());
    let _socket = UnixListener::bind(fixture.path("src/socket")).unwrap();
    let mut client = fixture.executor(&[]);
    let long = "n".repeat(256);
    let deep = "d/".repeat(2100);
    for path in [
        "a\0b",
        ".",
        "./",
        &fixture.root_text(),
        &long,
        &deep,
        "src/fifo",
        "src/socket",
    ] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            (
                "delete_file",
                json!({ "path": path, "previous_hash": "0".repeat(64) }),
            ),
        ] {
            let failed = client.call_err(tool, arguments);
            assert_eq!(failed.code(), "INVALID_PATH", "{tool} {path:?}");
        }
    }
    let failed = client.call_err("write_file", json!({ "path": "src", "content": "x" }));
    assert_eq!(failed.code(), "INVALID_PATH");
}

#[test]
fn path_not_found() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let edits = json!([{ "old": "a", "new": "b" }]);
    for (tool, arguments) in [
        ("read_file", json!({ "path": "src/none/a" })),
        ("read_file", json!({ "path": "none/a" })),
        ("read_file", json!({ "path": "src/a.txt/b" })),
        (
            "write_file",
            json!({ "path": "src/a.txt/b", "content": "x" }),
        ),
        ("write_file", json!({ "path": "src/none/", "content": "x" })),
        (
            "write_file",
            json!({ "path": "src/none/a", "edits": edits }),
        ),
        (
            "delete_file",
            json!({ "path": "src/none/a", "previous_hash": "0".repeat(64) }),
        ),
    ] {
        let failed = client.call_err(tool, arguments.clone());
        assert_eq!(failed.code(), "PATH_NOT_FOUND", "{tool} {arguments}");
    }
    let failed = client.call_err("list_files", json!({ "path": "none" }));
    assert_eq!(failed.code(), "PATH_NOT_FOUND");
    assert!(!fixture.path("src/none").exists(), "no directory is made");
}

#[test]
fn path_traversal_blocked() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&["--lock-after", "1000"]);
    let absolute = format!("{}/src/../src/a.txt", fixture.root_text());
    for path in [
        "..",
        "../x",
        "src/../src/a.txt",
        "src/..",
        "/../etc",
        &absolute,
    ] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("list_files", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
        ] {
            let failed = client.call_err(tool, arguments);
            assert_eq!(failed.code(), "PATH_TRAVERSAL_BLOCKED", "{tool} {path}");
        }
    }
}

#[test]
fn outside_workspace() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&["--lock-after", "1000"]);
    std::os::unix::fs::symlink("/etc", fixture.path("src/etc")).unwrap();
    for path in ["/etc/passwd", "/", "src/etc/passwd"] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("list_files", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
        ] {
            let failed = client.call_err(tool, arguments);
            assert_eq!(failed.code(), "OUTSIDE_WORKSPACE", "{tool} {path}");
        }
    }
}
