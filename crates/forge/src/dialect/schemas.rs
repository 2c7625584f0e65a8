//! Schemas of the GitHub dialect: the `error` member of a JSON-RPC answer, and the same as a result.

use super::codes::{InvalidParams, ROWS};
use candor_fault::schemas::parts::{
    code_enum, error_object, failing_result, five_answers, json_pointer, non_empty_text, object,
    positive_integer, sentence_and_object, timestamp, violation_list,
};
use serde_json::{Value, json};

/// Returns the schema of the `error` member: −32602 in the form of the specification, every other code with its facts.
pub fn error() -> Value {
    let invalid = InvalidParams.row();
    let others = ROWS.iter().filter(|row| row.code != invalid.code);
    json!({
        "oneOf": [
            error_object(json!({ "const": invalid.code }), invalid_data()),
            error_object(code_enum(others), fault_data()),
        ]
    })
}

/// Returns the schema of a failing result: a sentence, and the same `error` member after it.
pub fn result() -> Value {
    failing_result(sentence_and_object(), &[], json!({}))
}

fn invalid_data() -> Value {
    let entry = object(
        &["message", "path", "keyword", "params", "value"],
        json!({
            "message": non_empty_text(),
            "path": json_pointer(),
            "keyword": non_empty_text(),
            "params": { "type": "object" },
            "value": {},
        }),
    );
    let hint = object(
        &["path", "hint"],
        json!({ "path": json_pointer(), "hint": non_empty_text() }),
    );
    object(
        &["tool", "validation_errors", "timestamp"],
        json!({
            "tool": { "type": "string" },
            "validation_errors": violation_list(entry),
            "timestamp": timestamp(),
            "hints": { "type": "array", "minItems": 1, "items": hint },
            "omitted": positive_integer(),
        }),
    )
}

fn fault_data() -> Value {
    object(
        &["tool", "timestamp", "fault"],
        json!({
            "tool": { "type": "string" },
            "timestamp": timestamp(),
            "status": { "type": "integer", "minimum": 100, "maximum": 599 },
            "errors": { "type": "array" },
            "mergeable_state": { "type": "string" },
            "failing_checks": { "type": "array", "items": { "type": "string" } },
            "expected": { "type": "string" },
            "actual": { "type": "string" },
            "number": positive_integer(),
            "conflicts": { "type": "array", "items": object(
                &["path", "kind"],
                json!({
                    "path": { "type": "string" },
                    "kind": { "enum": ["content", "add_add", "delete_modify", "rename", "mode"] },
                }),
            ) },
            "conflicts_omitted": positive_integer(),
            "changed_on_both": { "type": "array", "items": { "type": "string" } },
            "similar": { "type": "array", "items": { "type": "string" } },
            "occurrences": { "type": "integer", "minimum": 0 },
            "total_lines": { "type": "integer", "minimum": 0 },
            "sso_url": { "type": "string" },
            "fault": five_answers(),
        }),
    )
}
