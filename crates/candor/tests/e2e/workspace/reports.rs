//! Failure reports: only about a lock, bounded, without secrets, and never a way around a person.

use super::fixture::{EXECUTOR, WorkspaceFixture};
use super::requests::AgentClient;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

fn lock(client: &mut AgentClient) {
    let hook = json!({ "path": ".git/hooks/x", "content": "x" });
    assert_eq!(client.call_code("write_file", hook), "UNAUTHORIZED_ACTION");
}

fn report(title: &str) -> Value {
    json!({ "title": title, "body": "So it was." })
}

fn reports(fixture: &WorkspaceFixture) -> usize {
    fs::read_dir(fixture.path("docs/reports")).map_or(0, Iterator::count)
}

#[test]
fn p7_report_without_a_lock_is_refused() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&["--lock-after", "1"]);
    for _ in 0..2 {
        let failed = client.call_err("write_failure_report", report("t"));
        assert_eq!(failed.code(), "INSUFFICIENT_PERMISSIONS");
        assert_eq!(failed.effect(), "none");
    }
    assert!(!fixture.path("docs/reports").exists());
    assert_eq!(client.call_ok("session_status", json!({}))["strikes"], 0);
}

#[test]
fn p7_body_is_bounded_and_has_no_secret() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    lock(&mut client);
    let long = json!({ "title": "t", "body": "x".repeat(16_385) });
    assert_eq!(
        client.call_code("write_failure_report", long),
        "INVALID_INPUT_VALUE"
    );
    let token = format!("ghp_{}", "a1B2".repeat(9));
    for (title, body) in [
        ("t", format!("it was\n{token}")),
        (token.as_str(), String::from("b")),
    ] {
        let failed = client.call_err(
            "write_failure_report",
            json!({ "title": title, "body": body }),
        );
        assert_eq!(failed.code(), "POLICY_VIOLATION");
        assert!(!failed.text.contains(&token));
    }
    assert_eq!(reports(&fixture), 0);
    let markers = json!({ "title": "t", "body": "<<<<<<< a\n=======\n>>>>>>> b\n" });
    assert_eq!(
        client.call_ok("write_failure_report", markers)["unlocked"],
        true
    );
    lock(&mut client);
    let whole = json!({ "title": "t", "body": "x".repeat(16_384) });
    client.call_ok("write_failure_report", whole);
}

#[test]
fn p7_second_self_unlock_needs_a_person() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    lock(&mut client);
    let first = client.call_ok("write_failure_report", report("first"));
    assert_eq!(first["unlocked"], true);
    assert!(first.get("needs_person").is_none(), "{first}");
    lock(&mut client);
    let second = client.call_ok("write_failure_report", report("second"));
    assert_eq!(
        (&second["unlocked"], &second["needs_person"]),
        (&json!(false), &json!(true))
    );
    let status = client.call_ok("session_status", json!({}));
    assert_eq!(
        status["lock"]["unlock"],
        "a person has to run candor workspace unlock"
    );
    // Two more about this lock, and no other server unlocks it either.
    client.call_ok("write_failure_report", report("third"));
    client.end();
    let mut client = fixture.executor(&[]);
    let third = client.call_ok("write_failure_report", report("fourth"));
    assert_eq!(third["unlocked"], false);
    let failed = client.call_err("write_failure_report", report("fifth"));
    assert_eq!(failed.code(), "INSUFFICIENT_PERMISSIONS");
    assert_eq!(failed.effect(), "none");
    assert_eq!(reports(&fixture), 4);
}

#[test]
fn p7_reports_of_a_day_are_bounded() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let mut written = 0;
    let code = loop {
        lock(&mut client);
        let code = client.call_code("write_failure_report", report("again"));
        if code != "ok" {
            break code;
        }
        written += 1;
        assert!(written <= 20);
        // The person unlocks it, and the agent goes on.
        if client.call_ok("session_status", json!({}))["locked"] == true {
            fixture.unlock();
        }
    };
    assert_eq!((code.as_str(), written), ("INSUFFICIENT_PERMISSIONS", 20));
    assert_eq!(reports(&fixture), 20);
}

#[test]
fn p14_reports_behind_a_link_or_a_file_are_refused() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.serve(EXECUTOR, &[]);
    client.begin_session();
    lock(&mut client);
    let outside = fixture.path_beside("outside");
    fs::create_dir_all(fixture.path("docs")).unwrap();
    fs::create_dir(&outside).unwrap();
    symlink(&outside, fixture.path("docs/reports")).unwrap();
    let failed = client.call_err("write_failure_report", report("t"));
    assert_eq!(failed.code(), "OUTSIDE_WORKSPACE");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(fixture.path("docs/reports")).unwrap();
    fixture.write("docs/reports", "a file");
    assert_eq!(
        client.call_code("write_failure_report", report("t")),
        "INVALID_PATH"
    );
    fs::remove_file(fixture.path("docs/reports")).unwrap();
    fs::create_dir(fixture.path("notes")).unwrap();
    symlink("../notes", fixture.path("docs/reports")).unwrap();
    let done = client.call_ok("write_failure_report", report("t"));
    assert!(
        done["path"].as_str().unwrap().starts_with("notes/"),
        "{done}"
    );
    assert_eq!(done["unlocked"], true);
}
