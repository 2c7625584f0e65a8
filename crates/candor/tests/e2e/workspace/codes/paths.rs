//! Path errors.

use crate::workspace::place::Place;
use serde_json::json;
use std::os::unix::net::UnixListener;
use std::process::Command;

#[test]
fn invalid_path() {
    let place = Place::allowed();
    let fifo = Command::new("mkfifo").arg(place.at("src/fifo")).status();
    assert!(fifo.unwrap().success());
    let _socket = UnixListener::bind(place.at("src/socket")).unwrap();
    let mut client = place.executor(&[]);
    let long = "n".repeat(256);
    let deep = "d/".repeat(2100);
    for path in [
        "a\0b",
        ".",
        "./",
        &place.root_text(),
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
            let failed = client.failed(tool, arguments);
            assert_eq!(failed.code(), "INVALID_PATH", "{tool} {path:?}");
        }
    }
    let failed = client.failed("write_file", json!({ "path": "src", "content": "x" }));
    assert_eq!(failed.code(), "INVALID_PATH");
}

#[test]
fn path_not_found() {
    let place = Place::allowed();
    let mut client = place.executor(&[]);
    for path in ["src/none/a", "src/a.txt/b", "none/a"] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
        ] {
            let failed = client.failed(tool, arguments);
            assert_eq!(failed.code(), "PATH_NOT_FOUND", "{tool} {path}");
        }
    }
    let failed = client.failed("list_files", json!({ "path": "none" }));
    assert_eq!(failed.code(), "PATH_NOT_FOUND");
    assert!(!place.at("src/none").exists(), "no directory is made");
}

#[test]
fn path_traversal_blocked() {
    let place = Place::allowed();
    let mut client = place.executor(&["--lock-after", "1000"]);
    let absolute = format!("{}/src/../src/a.txt", place.root_text());
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
            let failed = client.failed(tool, arguments);
            assert_eq!(failed.code(), "PATH_TRAVERSAL_BLOCKED", "{tool} {path}");
        }
    }
}

#[test]
fn outside_workspace() {
    let place = Place::allowed();
    let mut client = place.executor(&["--lock-after", "1000"]);
    std::os::unix::fs::symlink("/etc", place.at("src/etc")).unwrap();
    for path in ["/etc/passwd", "/", "src/etc/passwd"] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("list_files", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
        ] {
            let failed = client.failed(tool, arguments);
            assert_eq!(failed.code(), "OUTSIDE_WORKSPACE", "{tool} {path}");
        }
    }
}
