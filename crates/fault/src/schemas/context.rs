//! The context dialect: the error object that its specification prints, and the result around it.

use super::parts::{DRAFT, failing_result, json_text};
use crate::codes::context::ROWS;
use serde_json::{Value, json};

/// The error object, exactly as the specification gives its schema.
pub fn context_error() -> Value {
    let codes: Vec<_> = ROWS.iter().map(|row| row.code).collect();
    json!({
        "$schema": DRAFT,
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
                    "code": { "type": "string", "enum": codes },
                    "message": { "type": "string", "minLength": 1 }
                }
            }
        }
    })
}

/// A failing result: the error object as its one text block.
pub fn context_result() -> Value {
    failing_result(json_text(context_error()), &[], json!({}))
}
