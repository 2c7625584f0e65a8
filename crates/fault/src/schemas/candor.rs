//! Schemas of the neutral dialect `candor/1`, for the codes of any server.

use super::parts::{
    code_enum, failing_result, five_answers, json_pointer, meta, non_empty_text, object,
    positive_integer, sentence_and_object, violation_list,
};
use crate::CodeRow;
use serde_json::{Value, json};

/// Returns the schema of `structuredContent` of a failing result of a server with these rows. A
/// tool's `outputSchema` must admit it.
pub fn candor_failure(rows: &[&CodeRow]) -> Value {
    object(&["error"], json!({ "error": error(rows) }))
}

/// Returns the schema of a failing result of a server with these rows.
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
            "code": code_enum(rows.iter().copied()),
            "message": non_empty_text(),
            "fault": five_answers(),
            "violations": violation_list(violation()),
            "violations_omitted": positive_integer(),
        }),
    )
}

fn violation() -> Value {
    object(
        &["path", "field", "keyword", "message", "expected", "value"],
        json!({
            "path": json_pointer(),
            "field": { "type": "string" },
            "keyword": non_empty_text(),
            "message": non_empty_text(),
            "expected": { "type": "string" },
            "value": {},
            "hint": non_empty_text(),
        }),
    )
}
