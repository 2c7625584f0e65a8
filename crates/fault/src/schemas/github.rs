//! The GitHub dialect: the `error` member of a JSON-RPC answer, and the same failure as a result.

use super::parts::{
    codes, count, error, failing_result, five, object, pointer, sentence_and_object, text,
    timestamp, violations,
};
use crate::codes::github::{InvalidParams, ROWS};
use serde_json::{Value, json};

/// The `error` member: −32602 in the form of the specification, every other code with its facts.
pub fn github_error() -> Value {
    let invalid = InvalidParams.row();
    let others = ROWS.iter().filter(|row| row.code != invalid.code);
    json!({
        "oneOf": [
            error(json!({ "const": invalid.code }), invalid_data()),
            error(codes(others), fault_data()),
        ]
    })
}

/// A failing result: a sentence, and the same `error` member behind it.
pub fn github_result() -> Value {
    failing_result(sentence_and_object(), &[], json!({}))
}

fn invalid_data() -> Value {
    let entry = object(
        &["message", "path", "keyword", "params", "value"],
        json!({
            "message": text(),
            "path": pointer(),
            "keyword": text(),
            "params": { "type": "object" },
            "value": {},
        }),
    );
    let hint = object(
        &["path", "hint"],
        json!({ "path": pointer(), "hint": text() }),
    );
    object(
        &["tool", "validation_errors", "timestamp"],
        json!({
            "tool": { "type": "string" },
            "validation_errors": violations(entry),
            "timestamp": timestamp(),
            "hints": { "type": "array", "minItems": 1, "items": hint },
            "omitted": count(),
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
            "number": count(),
            "fault": five(),
        }),
    )
}
