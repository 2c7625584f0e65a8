//! The workspace dialect, byte for byte.

mod system_error;

use super::codes::{self, Code as Codes, INVARIANTS};
use super::{REGISTRY, Workspace, WorkspaceFacts};
use candor_dialect_fixtures::{
    AT, DrawnCall, FaultDraw, assert_causes_are_kept, assert_codes_are_found, assert_fits, body,
    call, describe_refusals, drawn_call, encode_drawn, failure_response, fault_draw, missing,
    published, receipt, response, schema_errors, text_block, unknown, wrong_type,
};
use candor_fault::{
    CallFacts, Cause, Code, Dialect, Effect, Fault, Form, Refusal, Retry, Violation,
};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The members of an envelope, in the specification's order.
pub(super) const KEYS: [&str; 11] = [
    "error_code",
    "human_message",
    "role",
    "session_id",
    "workspace_root",
    "tool_name",
    "invariant_id",
    "phase_id",
    "plan_hash",
    "cause",
    "timestamp",
];

/// Returns the facts of a session.
pub(super) fn session() -> WorkspaceFacts {
    WorkspaceFacts {
        role: Some(String::from("WINDSURF")),
        session_id: Some(String::from("550e8400-e29b-41d4-a716-446655440000")),
        workspace_root: Some(String::from("/home/user/project")),
        ..WorkspaceFacts::default()
    }
}

pub(super) fn keys(envelope: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(envelope).unwrap();
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_envelope_has_eleven_members_in_order() {
    for code in Codes::all() {
        let fault = Fault::<Workspace>::replay(*code, Retry::Never, Effect::Unknown);
        let envelope = Workspace::envelope(&fault, Some("write_file"), AT);
        assert_eq!(keys(&envelope), KEYS);
    }
}

#[test]
fn stack_is_a_twelfth_member_only_if_requested() {
    let fault = codes::InternalError
        .fault(Effect::None)
        .with_facts(|facts| facts.stack_trace = Some(String::from("at main")));
    let envelope = Workspace::envelope(&fault, Some("write_file"), AT);
    assert_eq!(keys(&envelope)[..11], KEYS);
    assert_eq!(keys(&envelope)[11..], ["stack_trace"]);
}

#[test]
fn failing_result_is_the_envelope_and_the_five_answers() {
    let fault = codes::HashMismatch
        .fault()
        .with_cause(Cause::Data(json!({ "expected": "abc", "actual": "def" })))
        .with_facts(|facts| facts.fill(session()));
    let receipt = receipt();
    let facts = CallFacts {
        receipt: Some(&receipt),
        ..call("write_file", Form::Result)
    };
    insta::assert_snapshot!(response(&Workspace::encode_failure(&fault, &facts, AT)), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error_code\":\"HASH_MISMATCH\",\"human_message\":\"The file has changed since it was read\",\"role\":\"WINDSURF\",\"session_id\":\"550e8400-e29b-41d4-a716-446655440000\",\"workspace_root\":\"/home/user/project\",\"tool_name\":\"write_file\",\"invariant_id\":null,\"phase_id\":null,\"plan_hash\":null,\"cause\":{\"expected\":\"abc\",\"actual\":\"def\"},\"timestamp\":\"2025-10-12T15:49:21.049Z\"}"}],"isError":true,"_meta":{"dev.candor/fault":{"class":"caller","retry":"after_change","retry_after_ms":null,"effect":"none","remedy":"Read the file again; `cause` has the expected and the actual hash."},"dev.candor/receipt":{"seq":7,"hash":"abababababababababababababababababababababababababababababababab"}}}}"#);
}

#[test]
fn envelope_without_a_session_has_nulls() {
    let fault: Fault<Workspace> = codes::SessionNotInitialized.fault();
    insta::assert_snapshot!(failure_response(&fault, "read_file", Form::Protocol), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error_code\":\"SESSION_NOT_INITIALIZED\",\"human_message\":\"No session has been started\",\"role\":null,\"session_id\":null,\"workspace_root\":null,\"tool_name\":\"read_file\",\"invariant_id\":null,\"phase_id\":null,\"plan_hash\":null,\"cause\":null,\"timestamp\":\"2025-10-12T15:49:21.049Z\"}"}],"isError":true,"_meta":{"dev.candor/fault":{"class":"caller","retry":"after_change","retry_after_ms":null,"effect":"none","remedy":"Call begin_session first."}}}}"#);
}

fn refused(violations: impl IntoIterator<Item = Violation>) -> Fault<Workspace> {
    Workspace::adopt(Refusal::Arguments(violations.into_iter().collect()))
}

#[test]
fn wrong_arguments_are_all_in_the_cause() {
    let near = Violation {
        hint: Some(String::from("did you mean 'path'?")),
        ..unknown("", "pth")
    };
    let fault = refused([
        missing("", "path"),
        near,
        wrong_type("/limit", "integer", &json!("9")),
    ]);
    let text = text_block(&Workspace::encode_failure(
        &fault,
        &call("read_file", Form::Result),
        AT,
    ));
    insta::assert_snapshot!(text, @r#"{"error_code":"MISSING_REQUIRED_FIELD","human_message":"path is required","role":null,"session_id":null,"workspace_root":null,"tool_name":"read_file","invariant_id":null,"phase_id":null,"plan_hash":null,"cause":{"violations":[{"path":"root","field":"path","keyword":"required","message":"must have required property 'path'","expected":"an object with 'path'"},{"path":"root","field":"pth","keyword":"additionalProperties","message":"must NOT have additional properties","expected":"no other member","hint":"did you mean 'path'?"},{"path":"/limit","field":"limit","keyword":"type","message":"must be integer","expected":"of type integer"}]},"timestamp":"2025-10-12T15:49:21.049Z"}"#);
}

#[test]
fn violations_have_the_precedence_of_the_documentation() {
    use Codes::{InvalidInputFormat, InvalidInputType, InvalidInputValue, MissingRequiredField};
    let violation = |keyword| Violation {
        keyword,
        ..wrong_type("/a", "string", &json!(1))
    };
    let value = violation("minimum");
    let form = violation("pattern");
    let wrong = violation("type");
    let stranger = unknown("", "b");
    let absent = missing("", "c");
    let code = |violations: &[&Violation]| refused(violations.iter().copied().cloned()).code();
    assert_eq!(code(&[&value]), Some(InvalidInputValue));
    assert_eq!(code(&[&value, &form]), Some(InvalidInputFormat));
    assert_eq!(code(&[&value, &form, &wrong]), Some(InvalidInputType));
    assert_eq!(
        code(&[&value, &form, &wrong, &stranger]),
        Some(InvalidInputValue)
    );
    assert_eq!(
        code(&[&value, &form, &wrong, &stranger, &absent]),
        Some(MissingRequiredField)
    );
    let no_object = wrong_type("", "object", &json!(1));
    assert_eq!(code(&[&no_object]), Some(InvalidInputType));
}

#[test]
fn violations_past_the_bound_are_counted_in_the_cause() {
    let fault = refused((0..60).map(|n| unknown("", &format!("m{n}"))));
    let cause = fault.cause().unwrap().normalised();
    assert_eq!(cause["violations"].as_array().map(Vec::len), Some(50));
    assert_eq!(cause["omitted"], 10);
}

#[test]
fn cause_of_any_size_stays_within_its_bound() {
    let fault: Fault<Workspace> =
        codes::PreflightFailed
            .fault(Effect::None)
            .with_cause(Cause::Data(
                json!({ "argv": ["cargo"], "output_tail": "x\n".repeat(100_000) }),
            ));
    let text = Workspace::envelope(&fault, Some("run_preflight"), AT);
    assert!(text.len() < candor_fault::MAX_CAUSE_BYTES + 512);
    assert!(text.contains(candor_fault::CUT));
}

#[test]
fn filling_never_overwrites_facts() {
    let mut facts = WorkspaceFacts {
        role: Some(String::from("ANTIGRAVITY")),
        phase_id: Some(String::from("PHASE_1")),
        ..WorkspaceFacts::default()
    };
    let more = WorkspaceFacts {
        phase_id: Some(String::from("PHASE_2")),
        plan_hash: Some(String::from("abc")),
        ..session()
    };
    facts.fill(more);
    assert_eq!(facts.role.as_deref(), Some("ANTIGRAVITY"));
    assert_eq!(facts.phase_id.as_deref(), Some("PHASE_1"));
    assert_eq!(facts.plan_hash.as_deref(), Some("abc"));
    assert_eq!(facts.session_id, session().session_id);
}

#[test]
fn envelope_with_missing_or_extra_member_does_not_fit() {
    let schema = published(&REGISTRY, "workspace.envelope");
    let whole = r#"{"error_code":"INVALID_PATH","human_message":"m","role":null,"session_id":null,"workspace_root":null,"tool_name":"read_file","invariant_id":null,"phase_id":null,"plan_hash":null,"cause":null,"timestamp":"2026-01-19T15:32:10.123Z"}"#;
    assert_eq!(schema_errors(&schema, whole), [""; 0]);
    let fewer = whole.replace(r#""cause":null,"#, "");
    let more = whole.replace(r#""cause":null,"#, r#""cause":null,"retry":"never","#);
    let list = whole.replace(r#""cause":null"#, r#""cause":[]"#);
    let other = whole.replace("INVALID_PATH", "INVALID_PATHS");
    for text in [fewer, more, list, other] {
        assert!(!schema_errors(&schema, &text).is_empty(), "{text}");
    }
}

#[test]
fn every_refusal_has_its_code_and_keeps_its_cause() {
    insta::assert_snapshot!(describe_refusals::<Workspace>(), @r#"
    arguments: MISSING_REQUIRED_FIELD after_change none "a is required"
    arguments, none: INVALID_INPUT_VALUE after_change none "A value is not allowed"
    limited: INTERNAL_ERROR never none "Something unexpected went wrong in the server"
    deadline, none: INTERNAL_ERROR never none "Something unexpected went wrong in the server"
    cancelled, none: UNKNOWN_TOOL_FAILURE after_change none "The call was cancelled"
    panicked, none: INTERNAL_ERROR never none "Something unexpected went wrong in the server"
    unrecorded, none: AUDIT_LOG_FAILED after_change none "The audit log could not be written"
    deadline, done: INTERNAL_ERROR never done "Something unexpected went wrong in the server"
    cancelled, done: UNKNOWN_TOOL_FAILURE after_change done "The call was cancelled"
    panicked, done: INTERNAL_ERROR never done "Something unexpected went wrong in the server"
    unrecorded, done: AUDIT_LOG_FAILED after_change done "The audit log could not be written"
    deadline, unknown: INTERNAL_ERROR never unknown "Something unexpected went wrong in the server"
    cancelled, unknown: UNKNOWN_TOOL_FAILURE after_change unknown "The call was cancelled"
    panicked, unknown: INTERNAL_ERROR never unknown "Something unexpected went wrong in the server"
    unrecorded, unknown: AUDIT_LOG_FAILED after_change unknown "The audit log could not be written"
    "#);
    assert_causes_are_kept::<Workspace>();
}

#[test]
fn codes_are_found_in_failures() {
    assert_codes_are_found::<Workspace>();
}

/// Makes a failure with random facts.
fn drawn_fault(draw: &FaultDraw) -> Fault<Workspace> {
    let roles = ["ANTIGRAVITY", "WINDSURF"];
    draw.fault::<Workspace>().with_facts(|facts| {
        facts.role = draw.word(0).map(|_| roles[draw.code % 2].to_owned());
        facts.session_id = draw.word(1);
        facts.workspace_root = draw.word(2);
        facts.tool_name = draw.word(3).filter(|name| !name.is_empty());
        facts.invariant_id = draw.word(4).map(|_| INVARIANTS[draw.code % 5].name);
        facts.phase_id = draw.word(5);
        facts.plan_hash = draw.word(6);
        facts.stack_trace = draw.word(7);
    })
}

fn check_failure(fault: &Fault<Workspace>, call: DrawnCall) -> Result<(), TestCaseError> {
    static SCHEMAS: LazyLock<[Validator; 2]> = LazyLock::new(|| {
        ["workspace.result", "workspace.envelope"].map(|name| published(&REGISTRY, name))
    });
    let answer = encode_drawn(fault, call)?;
    assert_fits(&SCHEMAS[0], &body(&answer))?;
    let envelope = text_block(&answer);
    assert_fits(&SCHEMAS[1], &envelope)?;
    let stack = usize::from(fault.facts().stack_trace.is_some());
    prop_assert_eq!(keys(&envelope).len(), 11 + stack);
    Ok(())
}

proptest! {
    #[test]
    fn every_failure_is_an_envelope_that_fits_its_schema(
        draw in fault_draw(), call in drawn_call(),
    ) {
        check_failure(&drawn_fault(&draw), call)?;
        check_failure(&draw.adopted(), call)?;
    }
}
