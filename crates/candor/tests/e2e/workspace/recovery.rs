//! The next session completes or undoes the write of a killed process, and records it.

use crate::workspace::fixture::{WorkspaceFixture, sha256};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const HEAD: &str = "candor-journal/1 ";

/// Returns a workspace whose last change was one write of a process that has ended, and the journal of it.
fn interrupted_write() -> (WorkspaceFixture, PathBuf) {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    client.call_ok(
        "write_file",
        json!({ "path": "src/a.txt", "content": "new" }),
    );
    client.end();
    let state = fixture.state();
    let files = ["journal.0", "journal.1"].map(|name| state.join(name));
    let journal = files.into_iter().find(|file| file.exists()).unwrap();
    (fixture, journal)
}

/// Changes the entry of a journal back to the state before the call was on record, after `change`.
fn reopen_journal(journal: &PathBuf, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(journal).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    let mut body: Value = serde_json::from_str(body).unwrap();
    change(&mut body);
    let body = body.to_string();
    let hash = sha256(body.as_bytes());
    fs::write(journal, format!("{HEAD}o {hash} {}\n{body}", body.len())).unwrap();
}

/// Starts a session. Returns the message and line of its recovery.
fn recovery_message(fixture: &WorkspaceFixture) -> (String, Value) {
    let mut client = fixture.executor(&[]);
    client.call_ok("verify_audit_log", json!({}));
    client.end();
    fixture.verify();
    let lines = fixture.log_lines();
    let mut recoveries = lines.iter().filter(|line| line["tool_name"] == "recovery");
    let line = recoveries.next().unwrap().clone();
    assert!(recoveries.next().is_none(), "it is recorded once");
    assert_eq!(line["subject"]["path"], "src/a.txt");
    let message = line["cause"]["message"].as_str().unwrap().to_owned();
    (message, line)
}

#[test]
fn recorded_write_is_completed() {
    let (fixture, journal) = interrupted_write();
    reopen_journal(&journal, |_| {});
    let (message, line) = recovery_message(&fixture);
    assert!(message.ends_with("was finished"), "{message}");
    assert_eq!(line["effect"], "done");
    assert_eq!(fixture.read("src/a.txt"), "new");
    let mut client = fixture.executor(&[]);
    client.end();
    assert_eq!(
        fixture
            .log_lines()
            .iter()
            .filter(|line| line["tool_name"] == "recovery")
            .count(),
        1
    );
}

#[test]
fn unrecorded_write_is_undone() {
    let (fixture, journal) = interrupted_write();
    // The state after a process died between the exchange of the files and the line.
    let aside = std::cell::RefCell::new(String::new());
    reopen_journal(&journal, |entry| {
        entry["about"]["request_id"] = json!("of nobody");
        *aside.borrow_mut() = entry["steps"][0]["aside"].as_str().unwrap().to_owned();
    });
    fixture.write(&aside.borrow(), "one\ntwo\nthree\n");
    let (message, line) = recovery_message(&fixture);
    assert!(message.ends_with("was undone"), "{message}");
    assert_eq!(line["effect"], "none");
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
    assert!(!fixture.path(&aside.borrow()).exists());
}

/// A file that was changed since is not touched.
#[test]
fn file_changed_since_is_not_recovered() {
    let (fixture, journal) = interrupted_write();
    let aside = std::cell::RefCell::new(String::new());
    reopen_journal(&journal, |entry| {
        entry["about"]["request_id"] = json!("of nobody");
        *aside.borrow_mut() = entry["steps"][0]["aside"].as_str().unwrap().to_owned();
    });
    fixture.write(&aside.borrow(), "one\ntwo\nthree\n");
    fixture.write("src/a.txt", "by a person");
    let (message, _) = recovery_message(&fixture);
    assert!(message.contains("somebody has changed since"), "{message}");
    assert_eq!(fixture.read("src/a.txt"), "by a person");
}

#[test]
fn torn_line_is_moved_aside_and_recorded() {
    let (fixture, _) = interrupted_write();
    let log = fixture.read("audit-log.jsonl");
    fixture.write("audit-log.jsonl", format!("{log}{{\"torn\":"));
    let mut client = fixture.executor(&[]);
    client.call_ok("verify_audit_log", json!({}));
    client.end();
    fixture.verify();
    let lines = fixture.log_lines();
    let torn = lines.iter().find(|line| line["cause"]["name"] == "TornLog");
    assert!(torn.is_some(), "{lines:?}");
}
