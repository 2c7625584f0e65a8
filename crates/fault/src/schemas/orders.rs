//! The orders dialect: ErrorResponse, the result around it, and the JSON-RPC errors beside it.

use super::parts::{
    class, codes, count, effect, error, failing_result, five, json_text, meta, object, text,
    violations, wait,
};
use crate::codes::orders::{self, ROWS};
use crate::codes::wire;
use crate::{CodeRow, Retry, RowValue};
use serde_json::{Value, json};

/// The ErrorResponse, with the retryability that a code's row fixes.
pub fn orders_response() -> Value {
    let mut schema = response();
    schema["allOf"] = json!([retryability(false), retryability(true)]);
    schema
}

/// `structuredContent` of a failing result: what a tool's `outputSchema` must admit.
pub fn orders_failure() -> Value {
    object(&["error"], json!({ "error": response() }))
}

/// A failing result: the ErrorResponse in the text block, in `structuredContent` and as `error`.
pub fn orders_result() -> Value {
    failing_result(
        json_text(orders_failure()),
        &["structuredContent", "error"],
        json!({
            "structuredContent": object(&["error"], json!({ "error": orders_response() })),
            "error": orders_response(),
            "_meta": meta(&[]),
        }),
    )
}

/// The `error` member: −32602 for what the published schema shows, −32603 for a bug.
pub fn orders_error() -> Value {
    let invalid = wire::InvalidParams.row().code;
    let bug = wire::InternalError.row().code;
    let fault = object(&["fault"], json!({ "fault": five() }));
    json!({
        "oneOf": [
            error(json!({ "const": invalid }), invalid_data()),
            error(json!({ "const": bug }), fault),
        ]
    })
}

fn response() -> Value {
    object(
        &["code", "message", "retryable", "details"],
        json!({
            "code": codes(ROWS),
            "message": text(),
            "retryable": { "type": "boolean" },
            "details": object(&["suggestion", "context"], details()),
        }),
    )
}

fn details() -> Value {
    let properties = json!({
        "class": class(),
        "effect": effect(),
        "retryAfterMs": wait(),
        "violations": violations(violation()),
        "violationsOmitted": count(),
    });
    json!({
        "field": { "type": "string" },
        "reason": text(),
        "suggestion": text(),
        "context": {
            "type": "object",
            "required": ["class", "effect", "retryAfterMs"],
            "properties": properties,
        },
        "originalError": text(),
    })
}

fn violation() -> Value {
    object(
        &["field", "code", "reason", "expected"],
        json!({
            "field": { "type": "string" },
            "code": argument_codes(),
            "reason": text(),
            "expected": { "type": "string" },
        }),
    )
}

/// The codes of arguments that do not fit.
fn argument_codes() -> Value {
    codes([
        orders::Validation.row(),
        orders::MissingField.row(),
        orders::InvalidFormat.row(),
    ])
}

fn invalid_data() -> Value {
    object(
        &["field", "code", "reason", "violations"],
        json!({
            "field": { "type": "string" },
            "code": argument_codes(),
            "reason": text(),
            "violations": violations(violation()),
        }),
    )
}

/// The codes whose row fixes `retryable` say exactly that.
fn retryability(retryable: bool) -> Value {
    let fixed = |row: &&CodeRow| match row.retry {
        RowValue::Fixed(Retry::SameCall | Retry::AfterDelay) => retryable,
        RowValue::Fixed(Retry::Never | Retry::AfterChange) => !retryable,
        RowValue::PerFault => false,
    };
    json!({
        "if": { "properties": { "code": codes(ROWS.iter().filter(fixed)) } },
        "then": { "properties": { "retryable": { "const": retryable } } },
    })
}
