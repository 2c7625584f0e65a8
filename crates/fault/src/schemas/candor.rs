//! The neutral dialect `candor/1`, for the codes of any server.

use super::parts::{
    codes, count, failing_result, five, meta, object, pointer, sentence_and_object, text,
    violations,
};
use crate::CodeRow;
use serde_json::{Value, json};

/// `structuredContent` of a failing result of a server with these rows: what a tool's
/// `outputSchema` must admit.
pub fn candor_failure(rows: &[&CodeRow]) -> Value {
    object(&["error"], json!({ "error": error(rows) }))
}

/// A failing result of a server with these rows.
pub fn candor_result(rows: &[&CodeRow]) -> Value {
    failing_result(
        sentence_and_object(),
        &["structuredContent", "_meta"],
        json!({
            "structuredContent": candor_failure(rows),
            "_meta": meta(&[("dev.candor/error", error(rows))]),
        }),
    )
}

fn error(rows: &[&CodeRow]) -> Value {
    object(
        &["code", "message", "fault", "violations"],
        json!({
            "code": codes(rows.iter().copied()),
            "message": text(),
            "fault": five(),
            "violations": violations(violation()),
            "violations_omitted": count(),
        }),
    )
}

fn violation() -> Value {
    object(
        &["path", "field", "keyword", "message", "expected", "value"],
        json!({
            "path": pointer(),
            "field": { "type": "string" },
            "keyword": text(),
            "message": text(),
            "expected": { "type": "string" },
            "value": {},
            "hint": text(),
        }),
    )
}
