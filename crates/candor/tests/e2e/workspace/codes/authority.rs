//! Authorization errors.

use crate::workspace::fixture::{EXECUTOR, PLANNER, WorkspaceFixture};
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
    let fixture = WorkspaceFixture::with_plan();
    fixture.write(".env", "secret");
    fixture.write(".git/HEAD", "");
    fixture.write(".candor/deny_read", "");
    for path in [
        "audit-log.jsonl",
        "audit-log.jsonl.lock",
        ".candor/deny_read",
        "docs/plans/x.toml",
        ".git/config",
    ] {
        let mut client = fixture.executor(&[]);
        let failed = client.call_err("write_file", json!({ "path": path, "content": "x" }));
        assert_eq!(failed.code(), "UNAUTHORIZED_ACTION", "{path}");
        fixture.unlock();
        client.end();
    }
    let mut executor = fixture.executor(&[]);
    let failed = executor.call_err("save_plan", json!({}));
    assert_eq!(failed.code(), "UNAUTHORIZED_ACTION");
    let failed = executor.call_err("read_file", json!({ "path": ".env" }));
    assert_eq!(failed.code(), "UNAUTHORIZED_ACTION");
    let mut planner = fixture.planner(&[]);
    for tool in ["write_file", "apply_changes"] {
        let failed = planner.call_err(tool, json!({ "path": 1 }));
        assert_eq!(failed.code(), "UNAUTHORIZED_ACTION");
        assert_eq!(failed.envelope["role"], PLANNER);
    }
    assert_eq!(fixture.read(".env"), "secret");
}

#[test]
fn insufficient_permissions_on_a_server_that_changes_nothing() {
    let fixture = WorkspaceFixture::with_plan();
    let before = fixture.hash("src/a.txt");
    let mut client = fixture.executor(&["--read-only"]);
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
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "INSUFFICIENT_PERMISSIONS", "{tool}");
        assert_eq!(failed.cause()["name"], "ReadOnlyServer");
    }
    client.call_ok("read_file", json!({ "path": "src/a.txt" }));
    assert_eq!(fixture.hash("src/a.txt"), before);
    assert!(!fixture.path("src/b").exists());
}

fn give(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
}

/// Returns the command of the server as another user, for whom permissions are enforced.
pub(crate) fn command_as_other_user(fixture: &WorkspaceFixture) -> Command {
    let command = fixture.command(EXECUTOR, &[]);
    if fs::metadata(fixture.root()).unwrap().uid() != 0 {
        return command;
    }
    let program = fixture.path_beside("candor");
    // By another process: a file that this one has open for writing cannot be executed.
    let mut copy = Command::new("cp");
    copy.arg(command.get_program()).arg(&program);
    Process::run(copy, crate::fixture::LIMIT);
    let mut other = Command::new(&program);
    other
        .args(command.get_args())
        .current_dir(fixture.path_beside(""));
    other.uid(NOBODY).gid(NOBODY);
    give(&fixture.path_beside(""));
    other
}

#[test]
fn insufficient_permissions_of_the_operating_system() {
    let fixture = WorkspaceFixture::with_plan();
    fixture.write("src/closed/a", "kept");
    fixture.write("src/shut/a", "");
    fixture.write("src/secret", "hidden");
    fs::set_permissions(fixture.path_beside(""), Permissions::from_mode(0o755)).unwrap();
    let command = command_as_other_user(&fixture);
    let set = |path, mode| {
        fs::set_permissions(fixture.path(path), Permissions::from_mode(mode)).unwrap();
    };
    set("src/closed", 0o555);
    set("src/shut", 0o000);
    set("src/secret", 0o000);
    let mut client = fixture.client(command);
    client.begin_session();
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
        ("read_file", json!({ "path": "src/shut/a" })),
        ("list_files", json!({ "path": "src/shut" })),
    ] {
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "INSUFFICIENT_PERMISSIONS", "{failed:?}");
        assert_eq!(failed.cause()["code"], "EACCES");
        assert_eq!(failed.effect(), "none");
    }
    let listed = client.call_ok("list_files", json!({ "path": "src" }));
    let entries = listed["entries"].as_array().unwrap().iter();
    let paths: Vec<_> = entries
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            "src/a.txt",
            "src/closed",
            "src/closed/a",
            "src/secret",
            "src/shut"
        ]
    );
    assert_eq!(listed["unreadable"], 1);
    client.end();
    set("src/closed", 0o755);
    set("src/shut", 0o755);
    assert_eq!(fixture.read("src/closed/a"), "kept");
    assert_eq!(fs::read_dir(fixture.path("src/closed")).unwrap().count(), 1);
}

#[test]
fn role_mismatch() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    for (tool, arguments) in [
        ("read_file", json!({ "path": "src/a.txt", "role": PLANNER })),
        ("session_status", json!({ "role": "planner" })),
    ] {
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "ROLE_MISMATCH", "{failed:?}");
    }
    for role in [EXECUTOR, "executor"] {
        client.call_ok("session_status", json!({ "role": role }));
    }
}
