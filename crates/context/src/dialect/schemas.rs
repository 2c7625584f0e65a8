//! Schemas of the context dialect: the error object of its specification, and the result around it.

use super::codes::ROWS;
use candor_fault::schemas::parts::{DRAFT, failing_result, json_in_text};
use serde_json::{Value, json};

/// Returns the schema of the error object, exactly as the specification gives its schema.
pub fn error() -> Value {
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

/// Returns the schema of a failing result: the error object as its one text block.
pub fn result() -> Value {
    failing_result(json_in_text(error()), &[], json!({}))
}
