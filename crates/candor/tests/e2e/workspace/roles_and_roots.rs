//! The instructions for a new client, the root that it may leave out, and its claim of a role.

use super::fixture::{EXECUTOR, PLANNER, WorkspaceFixture};
use crate::requests::parse;
use serde_json::{Value, json};

fn initialize(fixture: &WorkspaceFixture, role: &str, flags: &[&str]) -> Value {
    let mut client = fixture.serve(role, flags);
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } });
    let mut answer = parse(&client.server.ask(request.to_string()));
    answer["result"].take()
}

#[test]
fn p19_instructions_name_role_root_and_first_call() {
    let fixture = WorkspaceFixture::new();
    for (role, label) in [
        (EXECUTOR, "executor (WINDSURF)"),
        (PLANNER, "planner (ANTIGRAVITY)"),
    ] {
        let answer = initialize(&fixture, role, &[]);
        let text = answer["instructions"].as_str().unwrap();
        assert!(text.chars().count() <= 1500, "{text}");
        for part in [
            label,
            &fixture.root_text(),
            "begin_session first; it needs no argument",
            "candor workspace",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let more: Vec<_> = (0..40)
        .map(|n| fixture.path_beside(&format!("{n}{}", "x".repeat(200))))
        .collect();
    let mut flags = Vec::new();
    for root in &more {
        std::fs::create_dir(root).unwrap();
        flags.extend(["--root", root.to_str().unwrap()]);
    }
    let answer = initialize(&fixture, EXECUTOR, &flags);
    let text = answer["instructions"].as_str().unwrap();
    assert!(text.chars().count() <= 1500, "{text}");
    assert!(
        text.contains("with one of the roots as workspace_root"),
        "{text}"
    );
}

#[test]
fn p19_only_root_need_not_be_named() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.serve(EXECUTOR, &[]);
    let session = client.call_ok("begin_session", json!({}));
    assert_eq!(session["workspace_root"], fixture.root_text());
    let again = client.call_ok(
        "begin_session",
        json!({ "workspace_root": fixture.root_text() }),
    );
    assert_eq!(again["session_id"], session["session_id"]);
    assert_eq!(
        client.call_ok("begin_session", json!({}))["session_id"],
        session["session_id"]
    );
    client.call_ok("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    let other = fixture.path_beside("other");
    std::fs::create_dir(&other).unwrap();
    let mut client = fixture.serve(EXECUTOR, &["--root", other.to_str().unwrap()]);
    let failed = client.call_err("begin_session", json!({}));
    assert_eq!(failed.code(), "MISSING_REQUIRED_FIELD");
    let expected = failed.cause()["violations"][0]["expected"]
        .as_str()
        .unwrap();
    assert!(expected.contains(&fixture.root_text()) && expected.contains(other.to_str().unwrap()));
    let failed = client.call_err("begin_session", json!({ "workspace_root": " " }));
    assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED");
}

#[test]
fn p15_unknown_role_is_a_wrong_value_and_no_strike() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&["--lock-after", "1"]);
    for role in ["assistant", "developer", "coder", "Windsurf", ""] {
        let failed = client.call_err("read_file", json!({ "path": "src/a.txt", "role": role }));
        assert_eq!(failed.code(), "INVALID_INPUT_VALUE", "{role}");
    }
    let failed = client.call_err(
        "read_file",
        json!({ "path": "src/a.txt", "role": "planner" }),
    );
    assert_eq!(failed.code(), "ROLE_MISMATCH");
    assert!(
        failed.message().contains("executor (WINDSURF)"),
        "{}",
        failed.message()
    );
    assert_eq!(failed.envelope["role"], EXECUTOR);
    for role in ["executor", EXECUTOR] {
        client.call_ok("read_file", json!({ "path": "src/a.txt", "role": role }));
    }
    let status = client.call_ok("session_status", json!({}));
    assert_eq!(
        (&status["locked"], &status["strikes"]),
        (&json!(false), &json!(0))
    );
}

#[test]
fn p15_tool_of_the_other_role_is_refused_before_the_lock() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.serve(EXECUTOR, &[]);
    assert_eq!(
        client.call_code("save_plan", json!({})),
        "SESSION_NOT_INITIALIZED"
    );
    client.begin_session();
    assert_eq!(
        client.call_code("save_plan", json!({})),
        "UNAUTHORIZED_ACTION"
    );
    client.call_err("write_file", json!({ "path": ".git/HEAD", "content": "x" }));
    let before = client.call_ok("session_status", json!({}));
    assert_eq!(before["locked"], true);
    assert_eq!(
        client.call_code("save_plan", json!({})),
        "UNAUTHORIZED_ACTION"
    );
    assert_eq!(
        client.call_code("write_file", json!({ "path": "src/b", "content": "x" })),
        "SESSION_LOCKED"
    );
    let after = client.call_ok("session_status", json!({}));
    assert_eq!(
        after["strikes"], before["strikes"],
        "no strike while locked"
    );
}
