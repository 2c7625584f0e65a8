//! The context dialect, byte for byte.

use super::{Context, REGISTRY, codes, schemas};
use candor_dialect_fixtures::{
    AT, DrawnCall, assert_causes_are_kept, assert_codes_are_found, assert_fits, body, call,
    describe_refusals, drawn_call, encode_drawn, failure_response, fault_draw, missing, published,
    receipt, schema_errors, text_block, unknown, wrong_type,
};
use candor_fault::dialects::Wire;
use candor_fault::{
    Answer, CallFacts, Cause, ClientText, Code, Dialect, Effect, Fault, Form, Refusal, Retry,
    ToolOutput, Violation, Violations, to_json,
};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

#[test]
fn error_objects_are_the_ones_of_the_specification() {
    let objects: String = codes::Code::all()
        .iter()
        .map(|code| Fault::<Context>::replay(*code, Retry::Never, Effect::None))
        .map(|fault| Context::error_object(&fault))
        .collect();
    assert_eq!(
        objects,
        r#"{"error":{"code":"cache_missing","message":"Cache does not exist"}}
{"error":{"code":"cache_invalid","message":"Cache exists but is invalid"}}
{"error":{"code":"invalid_query","message":"Query is invalid"}}
{"error":{"code":"invalid_budget","message":"Budget is invalid"}}
{"error":{"code":"io_error","message":"I/O error occurred"}}
{"error":{"code":"internal_error","message":"Internal error"}}
"#
    );
}

#[test]
fn failing_result_contains_only_the_error_object() {
    let fault = codes::CacheInvalid.fault();
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":\"cache_invalid\",\"message\":\"Cache exists but is invalid\"}}\n"}],"isError":true}}"#;
    assert_eq!(
        failure_response(&fault, "context.resolve", Form::Result),
        expected
    );
    assert_eq!(
        failure_response(&fault, "context.resolve", Form::Protocol),
        expected
    );
}

#[test]
fn diagnostics_are_not_in_the_error_object() {
    let plain = codes::IoError.fault();
    let with_diagnostics = codes::IoError
        .fault()
        .with_message(ClientText::from("cannot read ").quoting("/srv/caches/a"))
        .with_remedy("Look at sha256:0123.")
        .with_cause(Cause::from(std::io::Error::from_raw_os_error(13)))
        .with_violations(Violations::from_iter([missing("", "query")]))
        .after(Duration::from_secs(1));
    let receipt = receipt();
    let recorded = CallFacts {
        receipt: Some(&receipt),
        ..call("context.resolve", Form::Result)
    };
    assert_eq!(
        Context::encode_failure(&with_diagnostics, &recorded, AT),
        Context::encode_failure(&plain, &call("context.resolve", Form::Result), AT)
    );
}

fn argument_code(violations: impl IntoIterator<Item = Violation>) -> Option<codes::Code> {
    Context::adopt(Refusal::Arguments(violations.into_iter().collect())).code()
}

#[test]
fn arguments_have_precedence_cache_query_budget() {
    use codes::Code::{CacheMissing, InvalidBudget, InvalidQuery};
    let unknown_member = unknown("", "limit");
    let budget = wrong_type("/budget", "integer", &json!("many"));
    let query = wrong_type("/query", "string", &json!(7));
    let cache = missing("", "cache");
    assert_eq!(
        argument_code([wrong_type("", "object", &json!([]))]),
        Some(InvalidQuery)
    );
    assert_eq!(argument_code([unknown_member.clone()]), Some(InvalidQuery));
    assert_eq!(
        argument_code([unknown_member.clone(), budget.clone()]),
        Some(InvalidBudget)
    );
    assert_eq!(
        argument_code([budget.clone(), query.clone()]),
        Some(InvalidQuery)
    );
    assert_eq!(
        argument_code([unknown_member, budget, query, cache]),
        Some(CacheMissing)
    );
    assert_eq!(argument_code([missing("", "budget")]), Some(InvalidBudget));
}

#[test]
fn wrong_cache_is_found_after_many_unknown_members() {
    let unknown_members = (0..80).map(|n| unknown("", &format!("m{n}")));
    let cache = wrong_type("/cache", "string", &json!(1));
    let budget = wrong_type("/budget", "integer", &json!(""));
    let all = unknown_members.chain([cache, budget]);
    assert_eq!(argument_code(all), Some(codes::Code::CacheMissing));
}

#[test]
fn success_ends_with_one_newline() {
    let facts = call("context.resolve", Form::Result);
    let raw = RawValue::from_string(r#"{"documents":[]}"#.to_owned()).unwrap();
    let json = Context::encode_success(&ToolOutput::Json(raw), &facts);
    let text =
        Context::encode_success(&ToolOutput::Text("{\"documents\":[]}\n".to_owned()), &facts);
    assert_eq!(json, text);
    assert_eq!(text_block(&json), "{\"documents\":[]}\n");
}

#[test]
fn every_refusal_has_its_code_and_keeps_its_cause() {
    insta::assert_snapshot!(describe_refusals::<Context>(), @r#"
    arguments: invalid_query after_change none "Query is invalid"
    arguments, none: invalid_query after_change none "Query is invalid"
    limited: internal_error never none "Internal error"
    deadline, none: internal_error never none "Internal error"
    cancelled, none: internal_error never none "Internal error"
    panicked, none: internal_error never none "Internal error"
    unrecorded, none: internal_error never none "Internal error"
    deadline, done: internal_error never none "Internal error"
    cancelled, done: internal_error never none "Internal error"
    panicked, done: internal_error never none "Internal error"
    unrecorded, done: internal_error never none "Internal error"
    deadline, unknown: internal_error never none "Internal error"
    cancelled, unknown: internal_error never none "Internal error"
    panicked, unknown: internal_error never none "Internal error"
    unrecorded, unknown: internal_error never none "Internal error"
    "#);
    assert_causes_are_kept::<Context>();
}

#[test]
fn codes_are_found_in_failures() {
    assert_codes_are_found::<Context>();
}

#[test]
fn wire_refusals_stay_plain_json_rpc_errors() {
    let facts = call("", Form::Result);
    let batch = Wire::invalid_request("batches are not supported");
    assert_eq!(
        Context::encode_protocol_fault(&batch, &facts, AT),
        Wire::encode_failure(&batch, &facts, AT)
    );
}

#[test]
fn unknown_tool_has_no_data() {
    let facts = call("", Form::Result);
    let near = Wire::unknown_tool("context.resolv", Some("context.resolve"));
    let Answer::Error(error) = Context::encode_protocol_fault(&near, &facts, AT) else {
        panic!("an unknown tool is an error")
    };
    insta::assert_snapshot!(error.json(), @r#"{"code":-32602,"message":"Unknown tool: context.resolv"}"#);
}

/// The schema as the specification of the context dialect prints it.
const SPECIFIED: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "https://context.dev/schemas/mcp/error-v0.json",
  "title": "MCP Error Response v0",
  "type": "object",
  "required": ["error"],
  "additionalProperties": false,

  "properties": {
    "error": {
      "type": "object",
      "required": ["code", "message"],
      "additionalProperties": false,

      "properties": {
        "code": {
          "type": "string",
          "enum": [
            "cache_missing",
            "cache_invalid",
            "invalid_query",
            "invalid_budget",
            "io_error",
            "internal_error"
          ]
        },
        "message": {
          "type": "string",
          "minLength": 1
        }
      }
    }
  }
}"#;

#[test]
fn error_schema_is_the_one_of_the_specification() {
    let specified: Value = serde_json::from_str(SPECIFIED).unwrap();
    // As texts, so that the order of members counts.
    assert_eq!(to_json(&schemas::error()), to_json(&specified));
}

#[test]
fn forbidden_error_objects_do_not_fit_the_schema() {
    let schema = published(&REGISTRY, "context.error");
    let forbidden = [
        r#"{"error":{"code":"cache_invalid","message":"Cache exists but is invalid","details":{}}}"#,
        r#"{"documents":[],"error":{"code":"internal_error","message":"Internal error"}}"#,
        r#"{"error":{"code":"cache.invalid","message":"Cache exists but is invalid"}}"#,
        r#"{"error":{"code":"cache_invalid","message":""}}"#,
        r#"{"error":{"code":"cache_invalid"}}"#,
    ];
    for text in forbidden {
        assert!(!schema_errors(&schema, text).is_empty(), "{text}");
    }
}

fn check_failure(fault: &Fault<Context>, call: DrawnCall) -> Result<(), TestCaseError> {
    static SCHEMAS: LazyLock<[Validator; 2]> = LazyLock::new(|| {
        ["context.result", "context.error"].map(|name| published(&REGISTRY, name))
    });
    let answer = encode_drawn(fault, call)?;
    assert_fits(&SCHEMAS[0], &body(&answer))?;
    assert_fits(&SCHEMAS[1], &text_block(&answer))?;
    let row = fault.row();
    let canonical = format!(
        "{{\"error\":{{\"code\":\"{}\",\"message\":\"{}\"}}}}\n",
        row.code, row.message
    );
    prop_assert_eq!(text_block(&answer), canonical);
    Ok(())
}

proptest! {
    #[test]
    fn every_failure_is_canonical_and_fits_its_schema(draw in fault_draw(), call in drawn_call()) {
        check_failure(&draw.fault(), call)?;
        check_failure(&draw.adopted(), call)?;
    }
}
