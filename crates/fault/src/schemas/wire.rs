//! The schema of plain JSON-RPC errors.

use super::parts::{code_enum, non_empty_text, object};
use crate::codes::wire::ROWS;
use serde_json::{Value, json};

/// Returns the schema of the `error` member of an answer to a request that is not a call of a tool.
pub fn wire_error() -> Value {
    object(
        &["code", "message"],
        json!({ "code": code_enum(ROWS), "message": non_empty_text(), "data": {} }),
    )
}
