//! Plain JSON-RPC errors.

use super::parts::{codes, object, text};
use crate::codes::wire::ROWS;
use serde_json::{Value, json};

/// The `error` member of an answer to what is no call of a tool.
pub fn wire_error() -> Value {
    object(
        &["code", "message"],
        json!({ "code": codes(ROWS), "message": text(), "data": {} }),
    )
}
