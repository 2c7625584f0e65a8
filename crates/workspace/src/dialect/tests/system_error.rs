//! The workspace specification's own list of tests (its section 8, 1 to 7), and its four factories.

use super::{KEYS, keys, session};
use crate::dialect::system_error::{
    STARTUP, Thrown, from_unknown, invariant_violation, startup_failure, tool_failure, unmapped,
};
use crate::dialect::{REGISTRY, Workspace, WorkspaceFacts, codes};
use candor_dialect_fixtures::{AT, published, schema_errors};
use candor_fault::{ClientText, Effect, Fault};
use serde_json::{Value, json};
use std::io;

fn envelope(fault: &Fault<Workspace>) -> Value {
    let text = Workspace::envelope(fault, Some("read_file"), AT);
    assert_eq!(
        schema_errors(&published(&REGISTRY, "workspace.envelope"), &text),
        [""; 0]
    );
    serde_json::from_str(&text).unwrap()
}

fn thrown(thrown: Thrown) -> Value {
    let otherwise = || codes::FileReadFailed.fault();
    envelope(&from_unknown(thrown, otherwise, session()))
}

#[test]
fn obligation_1_a_raw_error_becomes_a_system_error() {
    let error = io::Error::from_raw_os_error(13);
    let members = thrown(Thrown::Error(Box::new(error)));
    assert_eq!(members["error_code"], "FILE_READ_FAILED");
    assert_eq!(
        members["cause"],
        json!({ "message": "Permission denied (os error 13)", "code": "EACCES", "name": "Error" })
    );
}

#[test]
fn obligation_1_an_error_without_a_code_has_a_null_code() {
    let error: Box<dyn std::error::Error + Send + Sync> = "plain words".into();
    let members = thrown(Thrown::Error(error));
    assert_eq!(
        members["cause"],
        json!({ "message": "plain words", "code": null, "name": "Error" })
    );
}

#[test]
fn obligation_2_a_thrown_string_becomes_a_system_error() {
    let members = thrown(Thrown::Text(String::from("it broke")));
    assert_eq!(members["error_code"], "FILE_READ_FAILED");
    assert_eq!(members["cause"], "it broke");
}

#[test]
fn obligation_3_a_thrown_object_becomes_a_system_error() {
    let members = thrown(Thrown::Data(
        json!({ "why": ["a", 1], "deep": { "er": null } }),
    ));
    assert_eq!(members["error_code"], "FILE_READ_FAILED");
    assert_eq!(
        members["cause"],
        json!({ "why": ["a", 1], "deep": { "er": null } })
    );
}

#[test]
fn obligation_3_anything_else_becomes_a_text_an_object_or_null() {
    assert_eq!(thrown(Thrown::Data(json!(42)))["cause"], "42");
    assert_eq!(
        thrown(Thrown::Data(json!([1])))["cause"],
        json!({ "items": [1] })
    );
    assert_eq!(thrown(Thrown::Data(Value::Null))["cause"], Value::Null);
    assert_eq!(thrown(Thrown::Nothing)["cause"], Value::Null);
}

#[test]
fn obligation_4_an_invariant_violation_includes_its_id() {
    for invariant in codes::INVARIANTS {
        let fault = invariant_violation(invariant, Effect::Unknown, None, session());
        let members = envelope(&fault);
        assert_eq!(members["error_code"], "INVARIANT_VIOLATION");
        assert_eq!(members["invariant_id"], invariant.name);
    }
    assert_eq!(
        envelope(&codes::InvalidPath.fault())["invariant_id"],
        Value::Null
    );
}

#[test]
fn obligation_5_before_a_session_id_and_root_are_null() {
    let members = envelope(&codes::SessionNotInitialized.fault());
    assert_eq!(members["session_id"], Value::Null);
    assert_eq!(members["workspace_root"], Value::Null);
}

#[test]
fn obligation_6_phase_and_plan_are_preserved() {
    let context = WorkspaceFacts {
        phase_id: Some(String::from("PHASE_5A")),
        plan_hash: Some("ab".repeat(32)),
        ..session()
    };
    let members = envelope(&tool_failure(
        codes::PlanScopeViolation.fault(),
        Thrown::Nothing,
        context,
    ));
    assert_eq!(members["phase_id"], "PHASE_5A");
    assert_eq!(members["plan_hash"], "ab".repeat(32));
}

#[test]
fn obligation_7_what_is_serialised_is_plain_json() {
    // A Rust value cannot contain itself or be undefined; the rest of the proof is that nothing is lost
    // and that depth and size are bounded.
    let mut deep = json!("core");
    for _ in 0..100 {
        deep = json!({ "in": deep });
    }
    for thrown in [
        Thrown::Data(deep),
        Thrown::Text("\u{0}\u{1f}\u{2028}\"\\".repeat(10_000)),
        Thrown::Data(json!(1e300)),
    ] {
        let fault = tool_failure(codes::InternalError.fault(Effect::None), thrown, session());
        let text = Workspace::envelope(&fault, Some("write_file"), AT);
        assert_eq!(text, Workspace::envelope(&fault, Some("write_file"), AT));
        assert_eq!(keys(&text), KEYS);
        assert!(text.bytes().all(|byte| byte >= 0x20));
        let again: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(candor_fault::to_json(&again), text);
    }
}

#[test]
fn from_unknown_keeps_a_complete_failure() {
    let complete_fault = codes::HashMismatch
        .fault()
        .with_cause("own")
        .with_facts(|facts| facts.tool_name = Some(String::from("apply_changes")));
    let fault = from_unknown(
        Thrown::Fault(complete_fault),
        || unmapped(Effect::Unknown),
        session(),
    );
    let members = envelope(&fault);
    assert_eq!(members["error_code"], "HASH_MISMATCH");
    assert_eq!(members["cause"], "own");
    assert_eq!(members["tool_name"], "apply_changes");
    assert_eq!(members["role"], "WINDSURF");
}

#[test]
fn unmapped_error_is_an_unknown_tool_failure() {
    let full = Thrown::Error(Box::new(io::Error::from_raw_os_error(24)));
    let members = envelope(&from_unknown(full, || unmapped(Effect::None), session()));
    assert_eq!(members["error_code"], "UNKNOWN_TOOL_FAILURE");
    assert_eq!(members["cause"]["code"], "EMFILE");
}

#[test]
fn invariant_violation_can_replace_the_message() {
    let message = Some(ClientText::from("The journal names a file that is gone"));
    let fault = invariant_violation(&codes::INVARIANTS[1], Effect::Done, message, session());
    assert_eq!(
        envelope(&fault)["human_message"],
        "The journal names a file that is gone"
    );
    assert_eq!(fault.effect(), Effect::Done);
}

#[test]
fn tool_failure_takes_the_cause_of_the_error() {
    let inner = codes::FileNotFound.fault().with_cause("inner");
    let fault = tool_failure(codes::InvalidPath.fault(), Thrown::Fault(inner), session());
    let members = envelope(&fault);
    assert_eq!(members["error_code"], "INVALID_PATH");
    assert_eq!(members["cause"], "inner");
}

#[test]
fn startup_failure_has_no_role_and_the_tool_startup() {
    let message = Some(ClientText::from("The key cannot be read"));
    let error = Thrown::Error(Box::new(io::Error::from_raw_os_error(2)));
    let fault = startup_failure(codes::BootstrapFailure, message, error);
    assert_eq!(
        Workspace::envelope(&fault, None, AT),
        r#"{"error_code":"BOOTSTRAP_FAILURE","human_message":"The key cannot be read","role":null,"session_id":null,"workspace_root":null,"tool_name":"startup","invariant_id":null,"phase_id":null,"plan_hash":null,"cause":{"message":"No such file or directory (os error 2)","code":"ENOENT","name":"Error"},"timestamp":"2025-10-12T15:49:21.049Z"}"#
    );
    let audit = startup_failure(codes::SelfAuditFailure, None, Thrown::Nothing);
    assert_eq!(envelope(&audit)["tool_name"], STARTUP);
    let log = startup_failure(codes::AuditLogFailed, None, Thrown::Nothing);
    assert_eq!(log.effect(), Effect::None);
}
