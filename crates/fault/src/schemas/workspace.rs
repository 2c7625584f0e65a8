//! The workspace dialect: the SystemError envelope, and the result around it.

use super::parts::{
    codes, failing_result, five, json_text, meta, object, text, text_or_null, timestamp,
};
use crate::codes::workspace::{INVARIANTS, ROWS};
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

/// The envelope: eleven members, and a stack only where debugging was asked for.
pub fn workspace_envelope() -> Value {
    let invariants = INVARIANTS.iter().map(|known| json!(known.name));
    let invariants: Vec<Value> = invariants.chain([Value::Null]).collect();
    object(
        &KEYS,
        json!({
            "error_code": codes(ROWS),
            "human_message": text(),
            "role": { "enum": ["ANTIGRAVITY", "WINDSURF", null] },
            "session_id": text_or_null(),
            "workspace_root": text_or_null(),
            "tool_name": text(),
            "invariant_id": { "enum": invariants },
            "phase_id": text_or_null(),
            "plan_hash": text_or_null(),
            "cause": { "type": ["string", "object", "null"] },
            "timestamp": timestamp(),
            "stack_trace": { "type": "string" },
        }),
    )
}

/// A failing result: the envelope as its one text block, the five answers beside it.
pub fn workspace_result() -> Value {
    let meta = meta(&[("dev.candor/fault", five())]);
    let block = json_text(workspace_envelope());
    failing_result(block, &["_meta"], json!({ "_meta": meta }))
}
