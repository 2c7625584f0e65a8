//! Session errors.

use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use serde_json::{Value, json};
use std::fs;

#[test]
fn session_not_initialized() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.serve(EXECUTOR, &[]);
    for (tool, arguments) in [
        ("session_status", json!({})),
        ("read_file", json!({ "path": "src/a.txt" })),
        ("write_file", json!({ "path": "src/b", "content": "" })),
        ("write_failure_report", json!({ "title": "t", "body": "b" })),
        // Before the arguments and before the role.
        ("write_file", json!({ "nonsense": 1 })),
        ("save_plan", json!({})),
    ] {
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "SESSION_NOT_INITIALIZED", "{tool}");
        assert_eq!(failed.cause()["name"], "NoSession");
        assert_eq!(failed.envelope["role"], EXECUTOR);
    }
    assert!(fixture.log_lines().is_empty(), "it is on record elsewhere");
    assert_eq!(fixture.refusals().len(), 6);
    client.begin_session();
    client.call_ok("session_status", json!({}));
}

#[test]
fn session_initialization_failed() {
    let fixture = WorkspaceFixture::new();
    fixture.write("file", "");
    fs::create_dir(fixture.path_beside("other")).unwrap();
    fs::create_dir(fixture.path_beside("second")).unwrap();
    let second = fixture.path_beside("second");
    let second = second.to_str().unwrap();
    let mut client = fixture.serve(EXECUTOR, &["--root", second]);
    for root in [
        String::new(),
        String::from(" "),
        String::from("."),
        String::from("ws"),
        fixture.path("missing").display().to_string(),
        fixture.path("file").display().to_string(),
        fixture.path("src").display().to_string(),
        fixture.path_beside("other").display().to_string(),
        String::from("/"),
        String::from("/dev/null"),
    ] {
        let failed = client.call_err("begin_session", json!({ "workspace_root": root }));
        assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED", "{root:?}");
    }
    // The log grows with every call.
    let without_log = |mut session: Value| {
        session.as_object_mut().unwrap().shift_remove("log");
        session
    };
    let session = without_log(client.begin_session());
    assert_eq!(
        without_log(client.begin_session()),
        session,
        "agents forget"
    );
    for root in [second, "/"] {
        let failed = client.call_err("begin_session", json!({ "workspace_root": root }));
        assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED");
    }
    let status = client.call_ok("session_status", json!({}));
    assert_eq!(status["log"]["lines"], 4);
    assert_eq!(without_log(status), session);
}

/// An edited log is not continued.
#[test]
fn session_initialization_failed_by_a_broken_log() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    for _ in 0..3 {
        client.call_ok("session_status", json!({}));
    }
    client.end();
    fs::remove_dir_all(fixture.path_beside("state")).unwrap();
    let log = fixture.read("audit-log.jsonl");
    fixture.write(
        "audit-log.jsonl",
        log.replacen("session_status", "session_stotus", 1),
    );
    let mut client = fixture.serve(EXECUTOR, &[]);
    let root = json!({ "workspace_root": fixture.root_text() });
    let failed = client.call_err("begin_session", root);
    assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED");
    assert_eq!(failed.cause()["first_bad_seq"], 2);
}

#[test]
fn session_locked() {
    let fixture = WorkspaceFixture::with_plan();
    fixture.write(".git/HEAD", "");
    let mut client = fixture.executor(&[]);
    let first = client.call_err("write_file", json!({ "path": ".git/x", "content": "" }));
    assert_eq!(first.code(), "UNAUTHORIZED_ACTION");
    let locked = client.call_err("write_file", json!({ "path": "src/b", "content": "" }));
    assert_eq!(locked.code(), "SESSION_LOCKED");
    assert_eq!(
        *locked.cause(),
        json!({
            "error_code": "UNAUTHORIZED_ACTION",
            "human_message": first.message(),
            "seq": first.line.unwrap()["seq"],
        })
    );
    assert!(!fixture.path("src/b").exists());
}
