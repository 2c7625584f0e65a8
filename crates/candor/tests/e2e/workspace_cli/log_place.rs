//! `candor workspace log` and `init --log-place`: the log in the state directory.

use crate::fixture::{self, LIMIT};
use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use candor_testkit::{Exit, Process};
use candor_workspace::path::Root;
use candor_workspace::state;
use serde_json::{Value, json};
use std::path::PathBuf;

fn log_in_state(fixture: &OwnerFixture) -> PathBuf {
    let root = Root::open(fixture.workspace()).unwrap();
    state::of_root(&fixture.path("state"), root.id()).join("audit-log.jsonl")
}

/// Returns the tools or kinds of all lines of the log in the state directory.
fn recorded(fixture: &OwnerFixture) -> Vec<Value> {
    let text = std::fs::read_to_string(log_in_state(fixture)).unwrap();
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["kind"].is_null() {
            true => line["tool_name"].clone(),
            false => line["kind"].clone(),
        }
    });
    lines.collect()
}

fn assert_whole(fixture: &OwnerFixture) {
    let mut command = fixture::candor(&["audit", "verify"]);
    command
        .arg(log_in_state(fixture))
        .arg("--state-dir")
        .arg(fixture.path("state"));
    let ended = Process::run(command, LIMIT);
    assert_eq!(ended.exit, Exit::Code(0), "{}", ended.stderr);
}

#[tokio::test]
async fn new_log_is_written_to_the_state_directory() {
    let fixture = OwnerFixture::new();
    let shown = fixture.run_ok(&["init", "--log-place", "state"]);
    let path = "the log of the workspace is BASE/state/ROOT/audit-log.jsonl\n";
    assert!(shown.contains(path), "{shown}");
    fixture.run_signed(&["allow", "src/**"]);
    let agent = Agent::executor(&fixture).await;
    agent.call_ok("verify_audit_log", json!({})).await;
    agent.end().await;
    assert!(!fixture.path("ws/audit-log.jsonl").exists());
    assert_eq!(
        recorded(&fixture),
        ["approve", "begin_session", "verify_audit_log"]
    );
    assert_whole(&fixture);
    assert!(
        fixture
            .run_ok(&["status"])
            .contains("log  lines: 3, all valid\n")
    );
    let refused = fixture.run_err(&["init", "--log-place", "root"]);
    assert!(
        refused.contains("the workspace has a log already"),
        "{refused}"
    );
}

#[tokio::test]
async fn existing_log_is_moved_and_goes_on() {
    let fixture = OwnerFixture::new();
    fixture.run_signed(&["allow", "src/**"]);
    assert_eq!(fixture.run_ok(&["log"]), "BASE/ws/audit-log.jsonl\n");
    let running = Agent::executor(&fixture).await;
    let moved = "the log is BASE/state/ROOT/audit-log.jsonl\n";
    assert_eq!(fixture.run_ok(&["log", "--move", "state"]), moved);
    assert!(!fixture.path("ws/audit-log.jsonl").exists());
    // A server that still runs cannot record its calls, so it does nothing.
    let edit = json!({ "path": "src/a.rs", "content": "pub fn b() {}\n" });
    let refused = running.call_err("write_file", edit.clone()).await;
    assert_eq!(refused["error_code"], "AUDIT_LOG_FAILED");
    assert_eq!(fixture.read("ws/src/a.rs"), "pub fn a() {}\n");
    running.end().await;
    assert!(!fixture.path("ws/audit-log.jsonl").exists());
    let agent = Agent::executor(&fixture).await;
    agent.call_ok("write_file", edit).await;
    let page = agent.call_ok("read_audit_log", json!({})).await;
    assert_eq!(page["lines"].as_array().unwrap().len(), 5, "{page}");
    agent.end().await;
    let expected = [
        "approve",
        "begin_session",
        "move",
        "begin_session",
        "write_file",
        "read_audit_log",
    ];
    assert_eq!(recorded(&fixture), expected);
    assert_whole(&fixture);
    assert_eq!(fixture.run_ok(&["log", "--move", "state"]), moved);
    assert_eq!(recorded(&fixture), expected);
}
