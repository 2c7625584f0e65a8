//! The schemas themselves: valid, self-contained, and the specification's own where it has one.

use crate::support::{misfits, published};
use crate::weather;
use candor_fault::dialects::Candor;
use candor_fault::{Dialect, schemas, to_json};
use serde_json::Value;

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
fn the_context_error_is_the_specification_s_own_schema() {
    let specified: Value = serde_json::from_str(SPECIFIED).unwrap();
    // As texts, so that the order of members counts.
    assert_eq!(to_json(&schemas::context_error()), to_json(&specified));
}

#[test]
fn every_schema_is_one() {
    for (file, schema) in schemas::all() {
        assert!(jsonschema::meta::is_valid(&schema), "{file}");
        assert!(jsonschema::validator_for(&schema).is_ok(), "{file}");
        assert!(!to_json(&schema).contains("$ref"), "{file}");
    }
}

#[test]
fn what_the_context_specification_forbids_does_not_fit() {
    let schema = published("context.error");
    let forbidden = [
        r#"{"error":{"code":"cache_invalid","message":"Cache exists but is invalid","details":{}}}"#,
        r#"{"documents":[],"error":{"code":"internal_error","message":"Internal error"}}"#,
        r#"{"error":{"code":"cache.invalid","message":"Cache exists but is invalid"}}"#,
        r#"{"error":{"code":"cache_invalid","message":""}}"#,
        r#"{"error":{"code":"cache_invalid"}}"#,
    ];
    for text in forbidden {
        assert!(!misfits(&schema, text).is_empty(), "{text}");
    }
}

#[test]
fn an_envelope_with_a_member_too_few_or_too_many_does_not_fit() {
    let schema = published("workspace.envelope");
    let whole = r#"{"error_code":"INVALID_PATH","human_message":"m","role":null,"session_id":null,"workspace_root":null,"tool_name":"read_file","invariant_id":null,"phase_id":null,"plan_hash":null,"cause":null,"timestamp":"2026-01-19T15:32:10.123Z"}"#;
    assert_eq!(misfits(&schema, whole), [""; 0]);
    let fewer = whole.replace(r#""cause":null,"#, "");
    let more = whole.replace(r#""cause":null,"#, r#""cause":null,"retry":"never","#);
    let list = whole.replace(r#""cause":null"#, r#""cause":[]"#);
    let other = whole.replace("INVALID_PATH", "INVALID_PATHS");
    for text in [fewer, more, list, other] {
        assert!(!misfits(&schema, &text).is_empty(), "{text}");
    }
}

#[test]
fn the_retryability_of_an_order_code_cannot_be_turned_round() {
    let schema = published("orders.response");
    let response = |code: u16, retryable: bool| {
        format!(
            r#"{{"code":{code},"message":"m","retryable":{retryable},"details":{{"suggestion":"s","context":{{"class":"caller","effect":"none","retryAfterMs":null}}}}}}"#
        )
    };
    let fits = |code, retryable| misfits(&schema, &response(code, retryable)).is_empty();
    for code in [2001, 2002, 2003, 5001] {
        assert!(fits(code, false) && !fits(code, true), "{code}");
    }
    for code in [3001, 3002, 4002] {
        assert!(fits(code, true) && !fits(code, false), "{code}");
    }
    assert!(fits(4001, true) && fits(4001, false));
}

#[test]
fn a_server_of_its_own_has_its_own_codes_in_the_schema() {
    let schema = schemas::candor_failure(&Candor::<weather::Code>::rows());
    let codes = &schema["properties"]["error"]["properties"]["code"]["enum"];
    assert_eq!(
        to_json(codes),
        r#"["invalid_arguments","limited","deadline","cancelled","unrecorded","internal","unknown_city",42]"#
    );
}

#[test]
fn the_failure_forms_are_small_enough_for_every_tool() {
    // Seven to twelve tools of a server list it within its bound of 48 KB.
    assert!(to_json(&schemas::orders_failure()).len() < 1500);
    let rows = Candor::<weather::Code>::rows();
    assert!(to_json(&schemas::candor_failure(&rows)).len() < 1500);
}
