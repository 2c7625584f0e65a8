//! Whole answers of the wire, as the tests expect them.

/// Returns a JSON-RPC error.
pub(crate) fn error(id: &str, code: i32, message: &str) -> String {
    let message = serde_json::to_string(message).unwrap();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

/// Returns a JSON-RPC result.
pub(crate) fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}
