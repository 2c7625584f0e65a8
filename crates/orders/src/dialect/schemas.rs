//! Schemas of the orders dialect: ErrorResponse, the result around it, and the JSON-RPC errors.

use super::KeyState;
use super::codes::{self, ROWS};
use candor_fault::codes::wire;
use candor_fault::schemas::parts::{
    class_enum, code_enum, effect_enum, error_object, failing_result, five_answers, json_in_text,
    meta, non_empty_text, nullable_wait, object, positive_integer, violation_list,
};
use candor_fault::{CodeRow, Retry, RowValue};
use serde_json::{Value, json};

/// Returns the schema of the ErrorResponse, with the retryability that a code's row fixes.
pub fn response() -> Value {
    let mut schema = any_response();
    schema["allOf"] = json!([retryability(false), retryability(true)]);
    schema
}

/// Returns the schema of `structuredContent` of a failing result.
pub fn failure() -> Value {
    object(&["error"], json!({ "error": any_response() }))
}

/// Returns the part of [`failure`] that a tool's `outputSchema` states.
pub fn failure_envelope() -> Value {
    let error = json!({
        "type": "object",
        "required": ["code", "message", "retryable"],
        "properties": {
            "code": { "type": "integer" },
            "message": { "type": "string" },
            "retryable": { "type": "boolean" },
        },
    });
    json!({ "required": ["error"], "properties": { "error": error } })
}

/// Returns the schema of a failing result: the ErrorResponse in the text block, in `structuredContent` and as `error`.
pub fn result() -> Value {
    failing_result(
        json_in_text(failure()),
        &["structuredContent", "error"],
        json!({
            "structuredContent": object(&["error"], json!({ "error": response() })),
            "error": response(),
            "_meta": result_meta(),
        }),
    )
}

/// Returns the schema of `_meta`, which contains the key that the server gave a change without one.
fn result_meta() -> Value {
    let mut schema = meta(&[]);
    schema["properties"]["dev.candor/key"] = non_empty_text();
    schema
}

/// Returns the schema of the `error` member: −32602 for violations of the schema, −32603 for a bug.
pub fn error() -> Value {
    let invalid = wire::InvalidParams.row().code;
    let bug = wire::InternalError.row().code;
    let fault = object(&["fault"], json!({ "fault": five_answers() }));
    json!({
        "oneOf": [
            error_object(json!({ "const": invalid }), invalid_data()),
            error_object(json!({ "const": bug }), fault),
        ]
    })
}

/// An ErrorResponse of any code, `retryable` or not.
fn any_response() -> Value {
    object(
        &["code", "message", "retryable", "details"],
        json!({
            "code": code_enum(ROWS),
            "message": non_empty_text(),
            "retryable": { "type": "boolean" },
            "details": object(&["suggestion", "context"], details()),
        }),
    )
}

fn details() -> Value {
    let properties = json!({
        "class": class_enum(),
        "effect": effect_enum(),
        "retryAfterMs": nullable_wait(),
        "key": { "enum": KeyState::ALL },
        "violations": violation_list(violation()),
        "violationsOmitted": positive_integer(),
    });
    json!({
        "field": { "type": "string" },
        "reason": non_empty_text(),
        "suggestion": non_empty_text(),
        "context": {
            "type": "object",
            "required": ["class", "effect", "retryAfterMs"],
            "properties": properties,
        },
        "originalError": non_empty_text(),
    })
}

fn violation() -> Value {
    object(
        &["field", "code", "reason", "expected"],
        json!({
            "field": { "type": "string" },
            "code": argument_codes(),
            "reason": non_empty_text(),
            "expected": { "type": "string" },
        }),
    )
}

/// The codes of wrong arguments.
fn argument_codes() -> Value {
    code_enum([
        codes::Validation.row(),
        codes::MissingField.row(),
        codes::InvalidFormat.row(),
    ])
}

fn invalid_data() -> Value {
    object(
        &["field", "code", "reason", "violations"],
        json!({
            "field": { "type": "string" },
            "code": argument_codes(),
            "reason": non_empty_text(),
            "violations": violation_list(violation()),
        }),
    )
}

/// The rule that codes whose row fixes `retryable` have exactly that value.
fn retryability(retryable: bool) -> Value {
    let fixed = |row: &&CodeRow| match row.retry {
        RowValue::Fixed(Retry::SameCall | Retry::AfterDelay) => retryable,
        RowValue::Fixed(Retry::Never | Retry::AfterChange) => !retryable,
        RowValue::PerFault => false,
    };
    json!({
        "if": { "properties": { "code": code_enum(ROWS.iter().filter(fixed)) } },
        "then": { "properties": { "retryable": { "const": retryable } } },
    })
}
