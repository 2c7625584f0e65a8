//! Audit errors.

use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use crate::workspace::kernel::{limit, with_ignored_size_signal};
use rustix::process::Resource;
use serde_json::json;
use std::fs::File;

/// A call that cannot be put on record is taken back.
#[test]
fn audit_log_failed() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.client(with_ignored_size_signal(&fixture.command(EXECUTOR, &[])));
    client.begin_session();
    while fixture.read("audit-log.jsonl").len() < 8192 {
        client.call_ok("list_plans", json!({}));
    }
    let lines = fixture.log_lines().len();
    let pid = client.server.process().pid();
    limit(pid, Resource::Fsize, Some(8192));
    let failed = client.call_err("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    assert_eq!(
        (failed.code(), failed.effect()),
        ("AUDIT_LOG_FAILED", "none")
    );
    assert!(failed.line.is_none());
    assert!(!fixture.path("src/b.txt").exists());
    let failed = client.call_err("read_file", json!({ "path": "src/none" }));
    assert_eq!(failed.code(), "AUDIT_LOG_FAILED");
    assert!(
        failed.text.contains("FILE_NOT_FOUND"),
        "the first failure is told: {}",
        failed.text
    );
    limit(pid, Resource::Fsize, None);
    client.call_ok("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    fixture.verify();
    assert_eq!(fixture.log_lines().len(), lines + 1);
}

#[test]
fn audit_lock_failed() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let lock = File::options()
        .write(true)
        .open(fixture.path("audit-log.jsonl.lock"))
        .unwrap();
    lock.lock().unwrap();
    let failed = client.call_err("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    assert_eq!(
        (failed.code(), failed.effect()),
        ("AUDIT_LOCK_FAILED", "none")
    );
    assert!(!fixture.path("src/b.txt").exists());
    drop(lock);
    client.call_ok("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    fixture.verify();
}
