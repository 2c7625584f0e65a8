//! File operation errors.

use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use crate::workspace::kernel::{limit, with_ignored_size_signal};
use rustix::process::Resource;
use serde_json::json;
use std::fs::{self, File};

#[test]
fn file_not_found() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    for (tool, arguments) in [
        ("read_file", json!({ "path": "src/none" })),
        (
            "write_file",
            json!({ "path": "src/none", "edits": [{ "old": "a", "new": "b" }] }),
        ),
    ] {
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "FILE_NOT_FOUND", "{failed:?}");
        assert_eq!(failed.cause()["code"], "ENOENT");
    }
}

#[test]
fn file_already_exists() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let create = |path| json!({ "path": path, "content": "x", "create_only": true });
    let failed = client.call_err("write_file", create("src/a.txt"));
    assert_eq!(failed.code(), "FILE_ALREADY_EXISTS");
    assert_eq!(failed.cause()["code"], "EEXIST");
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
    client.call_ok("write_file", create("src/b.txt"));
}

#[test]
fn file_read_failed() {
    let fixture = WorkspaceFixture::new();
    fixture.write("src/bytes", b"\xff\xfe");
    let large = File::create(fixture.path("src/large")).unwrap();
    large.set_len(5 * 1024 * 1024 + 1).unwrap();
    let mut client = fixture.executor(&[]);
    for path in ["src", "src/bytes", "src/large"] {
        let failed = client.call_err("read_file", json!({ "path": path }));
        assert_eq!(failed.code(), "FILE_READ_FAILED", "{path}");
    }
    let bytes = client.call_ok(
        "read_file",
        json!({ "path": "src/bytes", "encoding": "base64" }),
    );
    assert_eq!(bytes["content"], "//4=", "{bytes}");
}

/// A file that exceeds the size limit of the process: the old bytes stay, and there are no leftovers.
#[test]
fn file_write_failed() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.client(with_ignored_size_signal(&fixture.command(EXECUTOR, &[])));
    client.begin_session();
    let pid = client.server.process().pid();
    limit(pid, Resource::Fsize, Some(512 * 1024));
    let large = "x".repeat(600 * 1024);
    for path in ["src/a.txt", "src/new"] {
        let failed = client.call_err("write_file", json!({ "path": path, "content": large }));
        assert_eq!(failed.code(), "FILE_WRITE_FAILED", "{failed:?}");
        assert_eq!(failed.cause()["code"], "EFBIG");
        assert_eq!(failed.effect(), "none");
    }
    // All or nothing.
    let changes = json!([
        { "path": "src/a.txt", "content": "small" },
        { "path": "src/new", "content": large },
    ]);
    let failed = client.call_err("apply_changes", json!({ "changes": changes }));
    assert_eq!(failed.code(), "FILE_WRITE_FAILED");
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
    assert_eq!(fs::read_dir(fixture.path("src")).unwrap().count(), 1);
    limit(pid, Resource::Fsize, None);
    client.call_ok("write_file", json!({ "path": "src/new", "content": large }));
    fixture.verify();
}
