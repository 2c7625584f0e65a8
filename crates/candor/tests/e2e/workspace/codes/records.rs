//! Audit errors.

use crate::workspace::kernel::{limit, minding_sizes};
use crate::workspace::place::{EXECUTOR, Place};
use rustix::process::Resource;
use serde_json::json;
use std::fs::File;

/// A call that cannot be put on record is taken back.
#[test]
fn audit_log_failed() {
    let place = Place::allowed();
    let mut client = place.client(minding_sizes(&place.command(EXECUTOR, &[])));
    client.begin();
    while place.got("audit-log.jsonl").len() < 8192 {
        client.done("list_plans", json!({}));
    }
    let lines = place.lines().len();
    let pid = client.server.process().pid();
    limit(pid, Resource::Fsize, Some(8192));
    let failed = client.failed("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    assert_eq!(
        (failed.code(), failed.effect()),
        ("AUDIT_LOG_FAILED", "none")
    );
    assert!(failed.line.is_none());
    assert!(!place.at("src/b.txt").exists());
    let failed = client.failed("read_file", json!({ "path": "src/none" }));
    assert_eq!(failed.code(), "AUDIT_LOG_FAILED");
    assert!(
        failed.text.contains("FILE_NOT_FOUND"),
        "the first failure is told: {}",
        failed.text
    );
    limit(pid, Resource::Fsize, None);
    client.done("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    place.verify();
    assert_eq!(place.lines().len(), lines + 1);
}

#[test]
fn audit_lock_failed() {
    let place = Place::allowed();
    let mut client = place.executor(&[]);
    let lock = File::options()
        .write(true)
        .open(place.at("audit-log.jsonl.lock"))
        .unwrap();
    lock.lock().unwrap();
    let failed = client.failed("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    assert_eq!(
        (failed.code(), failed.effect()),
        ("AUDIT_LOCK_FAILED", "none")
    );
    assert!(!place.at("src/b.txt").exists());
    drop(lock);
    client.done("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    place.verify();
}
