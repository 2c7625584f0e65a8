//! A change that was interrupted, in a tree that was changed meanwhile: the session begins locked, and a
//! person settles it.

use super::fixture::{EXECUTOR, PLANNER, WorkspaceFixture, sha256};
use crate::fixture::{self, LIMIT};
use candor_testkit::{Exit, Process};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

/// Returns a workspace in which a server was killed between its write and its answer, and whose directory
/// was then replaced by a link that leads out.
fn interrupted() -> Option<WorkspaceFixture> {
    if super::kernel::lacks_sandbox() {
        return None;
    }
    let fixture = WorkspaceFixture::new();
    fixture.write("d/g", "old g");
    fixture.allow_phase(json!({
        "allow": ["d/**"], "verify": [["sleep", "300"]], "preflight": "each_write",
    }));
    let mut client = fixture.executor(&[]);
    let changes = json!({ "changes": [
        { "path": "d/sub/f", "content": "new f" },
        { "path": "d/g", "content": "new g" },
    ] });
    client
        .server
        .send_line(crate::requests::call(99, "apply_changes", &changes));
    while fixture.read("d/g") != "new g" {
        std::thread::yield_now();
    }
    client.server.process().signal("KILL");
    client.server.exit();
    fs::rename(fixture.path("d"), fixture.path("moved")).unwrap();
    fs::create_dir(fixture.path_beside("outside")).unwrap();
    symlink(fixture.path_beside("outside"), fixture.path("d")).unwrap();
    Some(fixture)
}

fn settle(fixture: &WorkspaceFixture, flags: &[&str]) -> (Exit, String, String) {
    let mut command = fixture::candor(&["workspace"]);
    command.args(flags).arg("--root").arg(fixture.root());
    command
        .arg("--config-dir")
        .arg(fixture.path_beside("config"));
    command.arg("--state-dir").arg(fixture.path_beside("state"));
    let ended = Process::run(command, LIMIT);
    (
        ended.exit,
        String::from_utf8(ended.stdout).unwrap(),
        ended.stderr,
    )
}

#[test]
fn p8_session_begins_locked_and_reading_works() {
    let Some(fixture) = interrupted() else { return };
    for role in [EXECUTOR, PLANNER] {
        let mut client = fixture.serve(role, &[]);
        let session = client.begin_session();
        assert_eq!(session["locked"], true);
        let lock = &session["lock"];
        assert_eq!(lock["error_code"], "INVARIANT_VIOLATION");
        assert_eq!(lock["invariant_id"], "JOURNAL_CONSISTENT");
        assert_eq!(lock["paths"], json!(["d/sub/f", "d/g"]));
        let command = lock["command"].as_str().unwrap();
        assert!(command.starts_with("candor workspace settle "), "{command}");
        client.call_ok("read_file", json!({ "path": "src/a.txt" }));
        let write = match role {
            EXECUTOR => ("write_file", json!({ "path": "d/x", "content": "x" })),
            _ => (
                "save_plan",
                json!({ "plan": super::fixture::plan(json!({ "allow": ["x"] })) }),
            ),
        };
        let failed = client.call_err(write.0, write.1);
        assert_eq!(failed.code(), "SESSION_LOCKED");
        assert_eq!(failed.cause()["seq"], lock["seq"]);
        client.end();
    }
    let recoveries = fixture.log_lines().into_iter();
    let recoveries: Vec<_> = recoveries
        .filter(|line| line["tool_name"] == "recovery")
        // The server may have died after its command had started, which is another recovery.
        .filter(|line| line["error_code"] == "INVARIANT_VIOLATION")
        .collect();
    assert_eq!(recoveries.len(), 2, "one for each session");
    fixture.verify();
    assert_eq!(
        fs::read_dir(fixture.path_beside("outside"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn p8_leave_keeps_the_bytes_and_unlocks() {
    let Some(fixture) = interrupted() else { return };
    let mut client = fixture.serve(EXECUTOR, &[]);
    client.begin_session();
    let (exit, shown, _) = settle(&fixture, &["unlock"]);
    assert_eq!(exit, Exit::Code(0));
    assert!(shown.contains("candor workspace settle"), "{shown}");
    let (exit, shown, stderr) = settle(&fixture, &["settle"]);
    assert_eq!(exit, Exit::Code(1), "{stderr}");
    assert!(stderr.contains("settle --leave --yes"), "{stderr}");
    for part in [
        "d/sub/f",
        "d/g",
        &sha256(b"old g"),
        &sha256(b"new g"),
        "behind a link",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (exit, _, stderr) = settle(&fixture, &["settle", "--retry", "--yes"]);
    assert_eq!(exit, Exit::Code(1));
    assert!(stderr.contains("neither finished nor undone"), "{stderr}");
    let (exit, shown, stderr) = settle(&fixture, &["settle", "--leave", "--yes"]);
    assert_eq!(exit, Exit::Code(0), "{stderr}");
    assert!(shown.contains("was left as it is"), "{shown}");
    let line = fixture.log_lines().pop().unwrap();
    assert_eq!(
        (&line["tool_name"], &line["role"]),
        (&json!("settle"), &json!(null))
    );
    assert_eq!(
        fs::read_dir(fixture.state().join("settled"))
            .unwrap()
            .count(),
        1
    );
    // The session that is still running goes on, and so does a new one.
    let status = client.call_ok("session_status", json!({}));
    assert_eq!(status["locked"], false);
    fixture.allow(&["src/**"]);
    let plan = fixture.allow(&["src/*"]);
    client.call_ok(
        "write_file",
        json!({ "path": "src/b", "content": "x", "plan_hash": plan }),
    );
    client.end();
    let mut client = fixture.serve(EXECUTOR, &[]);
    assert_eq!(client.begin_session()["locked"], false);
    let (_, shown, _) = settle(&fixture, &["settle"]);
    assert_eq!(shown, "nothing is pending\n");
    assert_eq!(
        fs::read_dir(fixture.path_beside("outside"))
            .unwrap()
            .count(),
        0
    );
    fixture.verify();
}

#[test]
fn p8_retry_undoes_the_change_once_the_tree_is_back() {
    let Some(fixture) = interrupted() else { return };
    let mut client = fixture.serve(EXECUTOR, &[]);
    assert_eq!(client.begin_session()["locked"], true);
    fs::remove_file(fixture.path("d")).unwrap();
    fs::rename(fixture.path("moved"), fixture.path("d")).unwrap();
    let (exit, shown, stderr) = settle(&fixture, &["settle", "--retry", "--yes"]);
    assert_eq!(exit, Exit::Code(0), "{stderr}");
    assert!(shown.contains("was undone"), "{shown}");
    assert_eq!(fixture.read("d/g"), "old g");
    assert!(!fixture.path("d/sub").exists());
    assert_eq!(client.call_ok("session_status", json!({}))["locked"], false);
    let line = fixture.log_lines();
    let line = line
        .iter()
        .rev()
        .find(|line| line["tool_name"] == "settle")
        .unwrap();
    assert!(
        line["cause"]["message"]
            .as_str()
            .unwrap()
            .contains("was undone")
    );
}

#[test]
fn directory_that_was_replaced_after_a_finished_change_does_not_matter() {
    let fixture = WorkspaceFixture::new();
    fixture.write("d/g", "old g");
    fixture.allow(&["d/**"]);
    let mut client = fixture.executor(&[]);
    client.call_ok("write_file", json!({ "path": "d/g", "content": "new g" }));
    client.server.process().signal("KILL");
    client.server.exit();
    fs::rename(fixture.path("d"), fixture.path("moved")).unwrap();
    symlink("moved", fixture.path("d")).unwrap();
    let mut client = fixture.serve(EXECUTOR, &[]);
    assert_eq!(client.begin_session()["locked"], false);
}
