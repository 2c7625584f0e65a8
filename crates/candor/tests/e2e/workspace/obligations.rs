//! The eight tests that section 8 of the specification demands.

use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use candor_workspace::REGISTRY;
use serde_json::{Value, json};
use std::fs;

#[test]
fn obligation_1_a_raw_error_becomes_a_system_error() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let failed = client.call_err("read_file", json!({ "path": "src/none" }));
    let cause = failed.cause().as_object().unwrap();
    let keys: Vec<_> = cause.keys().collect();
    assert_eq!(keys, ["message", "code", "name"]);
    assert_eq!(cause["code"], "ENOENT");
}

#[test]
fn obligation_2_a_thrown_string_becomes_a_system_error() {
    let fixture = WorkspaceFixture::new();
    let envelope = fixture.failed_start(&["--approvers", "none"]);
    assert_eq!(
        envelope["cause"],
        "none cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(envelope["error_code"], "BOOTSTRAP_FAILURE");
    let cause = envelope["cause"].as_str().unwrap();
    assert!(cause.contains("none"), "{cause}");
}

#[test]
fn obligation_3_a_thrown_object_becomes_a_system_error() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let wrong = "0".repeat(64);
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/a.txt", "content": "", "previous_hash": wrong }),
    );
    assert_eq!(
        *failed.cause(),
        json!({ "expected": wrong, "actual": fixture.hash("src/a.txt") })
    );
}

#[test]
fn obligation_4_an_invariant_violation_has_its_id() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    fs::write(fixture.state().join("lock.WINDSURF.json"), "{}").unwrap();
    let failed = client.call_err("run_preflight", json!({}));
    assert_eq!(failed.code(), "INVARIANT_VIOLATION");
    assert_eq!(failed.envelope["invariant_id"], "STATE_INTACT");
    assert_eq!(failed.line.unwrap()["invariant_id"], "STATE_INTACT");
}

#[test]
fn obligation_5_a_pre_session_error_has_no_session() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.serve(EXECUTOR, &[]);
    let failed = client.call_err("read_file", json!({ "path": "src/a.txt" }));
    assert_eq!(failed.envelope["session_id"], Value::Null);
    assert_eq!(failed.envelope["workspace_root"], Value::Null);
    assert_eq!(failed.envelope["role"], EXECUTOR);
}

#[test]
fn obligation_6_phase_and_plan_are_preserved() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let unknown = "ab".repeat(32);
    // Whatever fails: before the plan is looked for, and by the plan.
    for path in ["src/none/x", "src/b.txt"] {
        let failed = client.call_err(
            "write_file",
            json!({ "path": path, "content": "", "plan_hash": unknown, "phase_id": "PHASE_5A" }),
        );
        assert_eq!(failed.envelope["plan_hash"], json!(unknown), "{failed:?}");
        assert_eq!(failed.envelope["phase_id"], "PHASE_5A");
    }
}

#[test]
fn obligation_7_an_envelope_is_plain_json_of_the_published_form() {
    let fixture = WorkspaceFixture::new();
    let files = (REGISTRY.schemas)();
    let validator = |name: &str| {
        let file = files.iter().find(|file| file.name == name).unwrap();
        jsonschema::validator_for(&file.schema).unwrap()
    };
    let envelope = validator("workspace.envelope");
    let result = validator("workspace.result");
    let mut client = fixture.serve(EXECUTOR, &[]);
    let check =
        |client: &mut crate::workspace::requests::AgentClient, tool: &str, arguments: Value| {
            let answer = client.call(tool, &arguments);
            assert!(result.is_valid(&answer["result"]), "{answer}");
            let failed = client.parse_failure(&answer);
            assert!(envelope.is_valid(&failed.envelope), "{}", failed.text);
        };
    check(&mut client, "session_status", json!({}));
    client.begin_session();
    check(&mut client, "read_file", json!({ "path": "none" }));
    check(
        &mut client,
        "read_file",
        json!({ "path": 1, "x": [[[[[[[[[[[1]]]]]]]]]]] }),
    );
    check(
        &mut client,
        "write_file",
        json!({ "path": "a", "content": "" }),
    );
}

#[test]
fn obligation_8_the_entry_is_written_before_the_answer() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    for _ in 0..20 {
        let before = fixture.log_lines().len();
        let failed = client.call_err("read_file", json!({ "path": "none" }));
        // The line is in the log as soon as the answer arrives.
        let lines = fixture.log_lines();
        assert_eq!(lines.len(), before + 1);
        assert_eq!(lines.last(), failed.line.as_ref());
    }
}
