//! Authorization errors.

use crate::workspace::place::{EXECUTOR, PLANNER, Place};
use candor_testkit::Process;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const NOBODY: u32 = 65_534;

#[test]
fn unauthorized_action() {
    let place = Place::allowed();
    place.put(".env", "secret");
    place.put(".git/HEAD", "");
    place.put(".candor/deny_read", "");
    for path in [
        "audit-log.jsonl",
        "audit-log.jsonl.lock",
        ".candor/deny_read",
        "docs/plans/x.toml",
        ".git/config",
    ] {
        let mut client = place.executor(&[]);
        let failed = client.failed("write_file", json!({ "path": path, "content": "x" }));
        assert_eq!(failed.code(), "UNAUTHORIZED_ACTION", "{path}");
        client.done("write_failure_report", json!({ "title": "t", "body": "b" }));
        client.end();
    }
    let mut executor = place.executor(&[]);
    let failed = executor.failed("save_plan", json!({}));
    assert_eq!(failed.code(), "UNAUTHORIZED_ACTION");
    let failed = executor.failed("read_file", json!({ "path": ".env" }));
    assert_eq!(failed.code(), "UNAUTHORIZED_ACTION");
    let mut planner = place.planner(&[]);
    for tool in ["write_file", "apply_changes"] {
        let failed = planner.failed(tool, json!({ "path": 1 }));
        assert_eq!(failed.code(), "UNAUTHORIZED_ACTION");
        assert_eq!(failed.envelope["role"], PLANNER);
    }
    assert_eq!(place.got(".env"), "secret");
}

#[test]
fn insufficient_permissions_on_a_server_that_changes_nothing() {
    let place = Place::allowed();
    let before = place.hash("src/a.txt");
    let mut client = place.executor(&["--read-only"]);
    for (tool, arguments) in [
        ("write_file", json!({ "path": "src/b", "content": "x" })),
        (
            "delete_file",
            json!({ "path": "src/a.txt", "previous_hash": before }),
        ),
        (
            "apply_changes",
            json!({ "changes": [{ "path": "src/b", "content": "x" }] }),
        ),
    ] {
        let failed = client.failed(tool, arguments);
        assert_eq!(failed.code(), "INSUFFICIENT_PERMISSIONS", "{tool}");
        assert_eq!(failed.cause()["name"], "ReadOnlyServer");
    }
    client.done("read_file", json!({ "path": "src/a.txt" }));
    assert_eq!(place.hash("src/a.txt"), before);
    assert!(!place.at("src/b").exists());
}

fn give(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
}

/// The same server, run by somebody whom permissions hold for.
fn by_somebody(place: &Place) -> Command {
    let command = place.command(EXECUTOR, &[]);
    if fs::metadata(place.root()).unwrap().uid() != 0 {
        return command;
    }
    let program = place.beside("candor");
    // By another process: a file that this one has open for writing cannot be executed.
    let mut copy = Command::new("cp");
    copy.arg(command.get_program()).arg(&program);
    Process::run(copy, crate::workspace::place::LIMIT);
    let mut other = Command::new(&program);
    other.args(command.get_args()).current_dir(place.beside(""));
    other.uid(NOBODY).gid(NOBODY);
    give(&place.beside(""));
    other
}

#[test]
fn insufficient_permissions_of_the_operating_system() {
    let place = Place::allowed();
    place.put("src/closed/a", "kept");
    place.put("src/secret", "hidden");
    fs::set_permissions(place.beside(""), Permissions::from_mode(0o755)).unwrap();
    let command = by_somebody(&place);
    let set = |path, mode| {
        fs::set_permissions(place.at(path), Permissions::from_mode(mode)).unwrap();
    };
    set("src/closed", 0o555);
    set("src/secret", 0o000);
    let mut client = place.client(command);
    client.begin();
    for (tool, arguments) in [
        (
            "write_file",
            json!({ "path": "src/closed/b", "content": "x" }),
        ),
        (
            "write_file",
            json!({ "path": "src/closed/a", "content": "x" }),
        ),
        ("read_file", json!({ "path": "src/secret" })),
    ] {
        let failed = client.failed(tool, arguments);
        assert_eq!(failed.code(), "INSUFFICIENT_PERMISSIONS", "{failed:?}");
        assert_eq!(failed.cause()["code"], "EACCES");
        assert_eq!(failed.effect(), "none");
    }
    client.end();
    set("src/closed", 0o755);
    assert_eq!(place.got("src/closed/a"), "kept");
    assert_eq!(fs::read_dir(place.at("src/closed")).unwrap().count(), 1);
}

#[test]
fn role_mismatch() {
    let place = Place::allowed();
    let mut client = place.executor(&[]);
    for (tool, arguments) in [
        ("read_file", json!({ "path": "src/a.txt", "role": PLANNER })),
        ("session_status", json!({ "role": "nobody" })),
    ] {
        let failed = client.failed(tool, arguments);
        assert_eq!(failed.code(), "ROLE_MISMATCH", "{failed:?}");
    }
    for role in [EXECUTOR, "executor"] {
        client.done("session_status", json!({ "role": role }));
    }
}
