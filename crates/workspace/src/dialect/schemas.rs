//! Schemas of the workspace dialect: the SystemError envelope, and the result around it.

use super::codes::{INVARIANTS, ROWS};
use candor_fault::schemas::parts::{
    code_enum, failing_result, five_answers, json_in_text, meta, non_empty_text, nullable_text,
    object, timestamp,
};
use serde_json::{Value, json};

/// The members that every envelope has, in their order.
const KEYS: [&str; 11] = [
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

/// Returns the schema of the envelope: eleven members, and a stack only if debugging was requested.
pub fn envelope() -> Value {
    let invariants = INVARIANTS.iter().map(|known| json!(known.name));
    let invariants: Vec<Value> = invariants.chain([Value::Null]).collect();
    object(
        &KEYS,
        json!({
            "error_code": code_enum(ROWS),
            "human_message": non_empty_text(),
            "role": { "enum": ["ANTIGRAVITY", "WINDSURF", null] },
            "session_id": nullable_text(),
            "workspace_root": nullable_text(),
            "tool_name": non_empty_text(),
            "invariant_id": { "enum": invariants },
            "phase_id": nullable_text(),
            "plan_hash": nullable_text(),
            "cause": { "type": ["string", "object", "null"] },
            "timestamp": timestamp(),
            "stack_trace": { "type": "string" },
        }),
    )
}

/// Returns the schema of a failing result: the envelope as its text block, the five answers beside it.
pub fn result() -> Value {
    let meta = meta(&[("dev.candor/fault", five_answers())]);
    let block = json_in_text(envelope());
    failing_result(block, &["_meta"], json!({ "_meta": meta }))
}
