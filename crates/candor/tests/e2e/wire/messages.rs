//! Messages as clients of both eras write them, and what differs from run to run taken out of answers.

use serde_json::Value;

/// The revision in which every request says everything.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The `_meta` of a complete request of the stateless era.
pub(crate) const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A request of the handshake era.
pub(crate) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A call of the handshake era.
pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    request(
        id,
        "tools/call",
        &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#),
    )
}

/// A call of the stateless era.
pub(crate) fn stateless_call(id: &str, tool: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"_meta":{META}}}"#);
    request(id, "tools/call", &params)
}

/// The headers that go with a request of the stateless era.
pub(crate) fn stateless_headers<'a>(
    method: &'a str,
    name: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![("MCP-Protocol-Version", STATELESS), ("Mcp-Method", method)];
    headers.extend(name.map(|name| ("Mcp-Name", name)));
    headers
}

/// A failing answer.
pub(crate) fn error(id: &str, code: i32, message: &str) -> String {
    let message = serde_json::to_string(message).unwrap();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

/// A successful answer.
pub(crate) fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// An answer as a value.
pub(crate) fn parsed(answer: &str) -> Value {
    serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// An answer with every `timestamp` replaced, also where it stands in a text within the answer.
pub(crate) fn normal(answer: &str) -> String {
    const WHEN: &str = "2026-01-02T03:04:05.678Z";
    let mut rest = answer;
    let mut normal = String::new();
    while let Some(found) = rest.find("timestamp") {
        let (before, after) = rest.split_at(found + "timestamp".len());
        normal.push_str(before);
        // The quotes may be escaped: the value begins at its first digit.
        let start = after.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        let value = after.get(start..start + WHEN.len()).unwrap_or_default();
        let same = |(one, other): (char, char)| match other.is_ascii_digit() {
            true => one.is_ascii_digit(),
            false => one == other,
        };
        normal.push_str(&after[..start]);
        rest = &after[start..];
        if value.len() == WHEN.len() && value.chars().zip(WHEN.chars()).all(same) {
            normal.push_str("<when>");
            rest = &rest[WHEN.len()..];
        }
    }
    normal + rest
}

#[test]
fn only_times_are_normalised() {
    assert_eq!(
        normal(
            r#"{"timestamp":"2026-11-15T10:19:42.001Z","a":"{\"timestamp\":\"2026-11-15T10:19:42.001Z\"}"}"#
        ),
        r#"{"timestamp":"<when>","a":"{\"timestamp\":\"<when>\"}"}"#
    );
    assert_eq!(normal(r#"{"timestamp":12}"#), r#"{"timestamp":12}"#);
    assert_eq!(normal("timestamp"), "timestamp");
}
