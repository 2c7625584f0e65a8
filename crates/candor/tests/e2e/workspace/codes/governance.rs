//! Governance errors: invariants, and starts that fail.

use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture, failed_start, sha256};
use crate::workspace::kernel::{lacks_sandbox, without_namespaces, without_sandbox};
use crate::workspace::requests::{AgentClient, CallFailure};
use candor_testkit::Exit;
use serde_json::{Value, json};
use std::fs;

/// Checks that a failure is an invariant violation, that it locks, and that no report unlocks it.
fn check_invariant_violation(client: &mut AgentClient, failed: &CallFailure, id: &str) {
    assert_eq!(failed.code(), "INVARIANT_VIOLATION", "{failed:?}");
    assert_eq!(failed.envelope["invariant_id"], id);
    let locked = client.call_code("write_file", json!({ "path": "src/b", "content": "x" }));
    assert!(
        ["SESSION_LOCKED", "INVARIANT_VIOLATION"].contains(&locked.as_str()),
        "{locked}"
    );
}

#[test]
fn invariant_violation_of_the_root() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    fs::rename(fixture.root(), fixture.path_beside("moved")).unwrap();
    fs::create_dir(fixture.root()).unwrap();
    let answer = client.call("session_status", &json!({}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let envelope: Value = serde_json::from_str(text).unwrap();
    assert_eq!(envelope["error_code"], "INVARIANT_VIOLATION");
    assert_eq!(envelope["invariant_id"], "ROOT_UNCHANGED");
    let locked = client.call("write_file", &json!({ "path": "src/b", "content": "x" }));
    let locked = locked["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        locked.contains("\"error_code\":\"SESSION_LOCKED\""),
        "{locked}"
    );
    assert_eq!(fs::read_dir(fixture.root()).unwrap().count(), 0);
    let log = fs::read_to_string(fixture.path_beside("moved/audit-log.jsonl")).unwrap();
    assert!(log.contains("ROOT_UNCHANGED"), "the log went with its root");
}

#[test]
fn invariant_violation_of_the_chain() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    for _ in 0..3 {
        client.call_ok("list_plans", json!({}));
    }
    let log = fixture.read("audit-log.jsonl");
    let forged = log.replacen("list_plans", "read_plans", 1);
    assert_eq!(log.len(), forged.len());
    fixture.write("audit-log.jsonl", forged);
    let failed = client.call_err("verify_audit_log", json!({}));
    assert_eq!(failed.cause()["first_bad_seq"], 2, "{failed:?}");
    check_invariant_violation(&mut client, &failed, "AUDIT_CHAIN_INTACT");
    client.call_ok("write_failure_report", json!({ "title": "t", "body": "b" }));
    let locked = client.call_code("write_file", json!({ "path": "src/b", "content": "x" }));
    assert_eq!(locked, "SESSION_LOCKED", "only a person unlocks");
}

#[test]
fn invariant_violation_of_the_state() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    fs::write(fixture.state().join("lock.WINDSURF.json"), "garbage").unwrap();
    let failed = client.call_err("write_file", json!({ "path": "src/b", "content": "x" }));
    check_invariant_violation(&mut client, &failed, "STATE_INTACT");
    assert!(!fixture.path("src/b").exists());
}

#[test]
fn invariant_violation_of_the_journal() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    client.end();
    let body = "{\"garbage\":1}";
    let hash = sha256(body.as_bytes());
    let entry = format!("candor-journal/1 o {hash} {}\n{body}", body.len());
    fs::write(fixture.state().join("journal.0"), entry).unwrap();
    let mut client = fixture.serve(EXECUTOR, &[]);
    let session = client.begin_session();
    assert_eq!(session["locked"], true);
    assert_eq!(session["lock"]["error_code"], "INVARIANT_VIOLATION");
    assert_eq!(session["lock"]["invariant_id"], "JOURNAL_CONSISTENT");
    let line = fixture.log_lines().pop().unwrap();
    let recovery = fixture.log_lines();
    let recovery = &recovery[recovery.len() - 2];
    assert_eq!(
        (&line["tool_name"], &recovery["tool_name"]),
        (&json!("begin_session"), &json!("recovery"))
    );
    assert_eq!(recovery["error_code"], "INVARIANT_VIOLATION");
    assert_eq!(recovery["invariant_id"], "JOURNAL_CONSISTENT");
    assert_eq!(session["lock"]["seq"], recovery["seq"]);
}

#[test]
fn invariant_violation_of_protected_paths() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    fixture.write(".git/hooks/pre-commit", "hook");
    let plan = fixture.allow_phase(json!({
        "allow": ["src/**"],
        "verify": [["chmod", "777", ".git/hooks/pre-commit"]],
    }));
    // Landlock does not protect modes.
    without_namespaces(|| {
        let mut client = fixture.executor(&["--sandbox", "landlock"]);
        let failed = client.call_err("run_preflight", json!({ "plan_hash": plan }));
        check_invariant_violation(&mut client, &failed, "PROTECTED_PATHS_UNCHANGED");
        assert!(failed.cause()["paths"].is_array(), "{failed:?}");
    });
}

/// Revocations that clones share lie beside the state of the workspace.
#[test]
fn invariant_violation_of_shared_revocations() {
    let fixture = WorkspaceFixture::new();
    let shared = fixture.path_beside("state/revocations");
    std::fs::create_dir_all(&shared).unwrap();
    let forged = shared.join("forged");
    let plan = fixture.allow_phase(json!({
        "allow": ["src/**"],
        "verify": [["touch", forged.to_str().unwrap()]],
    }));
    without_sandbox(|| {
        let mut client = fixture.executor(&["--sandbox", "none"]);
        let failed = client.call_err("run_preflight", json!({ "plan_hash": plan }));
        check_invariant_violation(&mut client, &failed, "PROTECTED_PATHS_UNCHANGED");
        let paths = failed.cause()["paths"].to_string();
        assert!(paths.contains("state/revocations"), "{paths}");
    });
}

/// A failed start prints an envelope too.
fn check_startup_failure(envelope: &Value, code: &str) {
    let keys: Vec<_> = envelope.as_object().unwrap().keys().collect();
    assert_eq!(keys, crate::workspace::requests::KEYS);
    assert_eq!(envelope["error_code"], code, "{envelope}");
    assert_eq!(envelope["tool_name"], "startup");
    for name in ["role", "session_id", "workspace_root"] {
        assert_eq!(envelope[name], json!(null), "{name}");
    }
    assert!(envelope["cause"].is_string(), "{envelope}");
}

#[test]
fn bootstrap_failure() {
    let fixture = WorkspaceFixture::new();
    let inside = fixture.path("inside");
    for flags in [
        vec!["--approvers", "missing"],
        vec!["--checkpoint-key", "config/approvers"],
        vec!["--checkpoint-key", "missing"],
        vec!["--root", "missing"],
    ] {
        check_startup_failure(&fixture.failed_start(&flags), "BOOTSTRAP_FAILURE");
    }
    for name in ["CANDOR_STATE_DIR", "CANDOR_CONFIG_DIR"] {
        let mut command = std::process::Command::new(crate::fixture::CANDOR);
        command
            .args(["workspace", "serve", "--role", "executor", "--root"])
            .arg(fixture.root())
            .env("CANDOR_STATE_DIR", fixture.path_beside("state"))
            .env("CANDOR_CONFIG_DIR", fixture.path_beside("config"))
            .env(name, &inside);
        check_startup_failure(&failed_start(command), "BOOTSTRAP_FAILURE");
    }
    fs::write(fixture.path_beside("config/approvers"), "anna not-a-key\n").unwrap();
    check_startup_failure(&fixture.failed_start(&[]), "BOOTSTRAP_FAILURE");
    assert!(!inside.exists());
}

#[test]
fn self_audit_failure() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.serve(EXECUTOR, &[]);
    for _ in 0..3 {
        client.call_code("session_status", json!({}));
    }
    assert_eq!(client.server.end().1, Exit::Code(0));
    let file = fixture.path_beside("state/refusals.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("session_status", "session_stotus", 1)).unwrap();
    check_startup_failure(&fixture.failed_start(&[]), "SELF_AUDIT_FAILURE");
}
