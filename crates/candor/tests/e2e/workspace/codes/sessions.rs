//! Session errors.

use crate::workspace::place::{EXECUTOR, Place};
use serde_json::json;
use std::fs;

#[test]
fn session_not_initialized() {
    let place = Place::allowed();
    let mut client = place.serve(EXECUTOR, &[]);
    for (tool, arguments) in [
        ("session_status", json!({})),
        ("read_file", json!({ "path": "src/a.txt" })),
        ("write_file", json!({ "path": "src/b", "content": "" })),
        ("write_failure_report", json!({ "title": "t", "body": "b" })),
        // Before the arguments and before the role.
        ("write_file", json!({ "nonsense": 1 })),
        ("save_plan", json!({})),
    ] {
        let failed = client.failed(tool, arguments);
        assert_eq!(failed.code(), "SESSION_NOT_INITIALIZED", "{tool}");
        assert_eq!(failed.cause()["name"], "NoSession");
        assert_eq!(failed.envelope["role"], EXECUTOR);
    }
    assert!(place.lines().is_empty(), "it is on record elsewhere");
    assert_eq!(place.refusals().len(), 6);
    client.begin();
    client.done("session_status", json!({}));
}

#[test]
fn session_initialization_failed() {
    let place = Place::new();
    place.put("file", "");
    fs::create_dir(place.beside("other")).unwrap();
    fs::create_dir(place.beside("second")).unwrap();
    let second = place.beside("second");
    let second = second.to_str().unwrap();
    let mut client = place.serve(EXECUTOR, &["--root", second]);
    for root in [
        String::new(),
        String::from(" "),
        String::from("."),
        String::from("ws"),
        place.at("missing").display().to_string(),
        place.at("file").display().to_string(),
        place.at("src").display().to_string(),
        place.beside("other").display().to_string(),
        String::from("/"),
        String::from("/dev/null"),
    ] {
        let failed = client.failed("begin_session", json!({ "workspace_root": root }));
        assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED", "{root:?}");
    }
    let begun = client.begin();
    assert_eq!(client.begin(), begun, "agents forget");
    for root in [second, "/"] {
        let failed = client.failed("begin_session", json!({ "workspace_root": root }));
        assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED");
    }
    assert_eq!(client.done("session_status", json!({})), begun);
}

/// A log that somebody has edited is not written any further.
#[test]
fn session_initialization_failed_by_a_broken_log() {
    let place = Place::new();
    let mut client = place.executor(&[]);
    for _ in 0..3 {
        client.done("session_status", json!({}));
    }
    client.end();
    fs::remove_dir_all(place.beside("state")).unwrap();
    let log = place.got("audit-log.jsonl");
    place.put(
        "audit-log.jsonl",
        log.replacen("session_status", "session_stotus", 1),
    );
    let mut client = place.serve(EXECUTOR, &[]);
    let root = json!({ "workspace_root": place.root_text() });
    let failed = client.failed("begin_session", root);
    assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED");
    assert_eq!(failed.cause()["first_bad_seq"], 2);
}

#[test]
fn session_locked() {
    let place = Place::allowed();
    place.put(".git/HEAD", "");
    let mut client = place.executor(&[]);
    let first = client.failed("write_file", json!({ "path": ".git/x", "content": "" }));
    assert_eq!(first.code(), "UNAUTHORIZED_ACTION");
    let locked = client.failed("write_file", json!({ "path": "src/b", "content": "" }));
    assert_eq!(locked.code(), "SESSION_LOCKED");
    assert_eq!(
        *locked.cause(),
        json!({
            "error_code": "UNAUTHORIZED_ACTION",
            "human_message": first.message(),
            "seq": first.line.unwrap()["seq"],
        })
    );
    assert!(!place.at("src/b").exists());
}
