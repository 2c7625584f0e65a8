//! JSON-RPC requests of both protocol eras, the transports that send them, and answers without their times.

use candor_testkit::{Http, Stdio};
use serde_json::Value;
use std::fmt::Display;

/// The protocol revision whose requests carry everything in `_meta`.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The `_meta` of a complete request of the stateless era.
pub(crate) const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

pub(crate) fn request(id: impl Display, method: &str, params: impl Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// Returns a tool call of the handshake era.
pub(crate) fn call(id: impl Display, tool: &str, arguments: impl Display) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    request(id, "tools/call", params)
}

/// Returns a tool call of the stateless era.
pub(crate) fn stateless_call(id: impl Display, tool: &str, arguments: impl Display) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"_meta":{META}}}"#);
    request(id, "tools/call", params)
}

/// Returns the HTTP headers that a request of the stateless era needs.
pub(crate) fn stateless_headers<'a>(
    method: &'a str,
    name: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![("MCP-Protocol-Version", STATELESS), ("Mcp-Method", method)];
    headers.extend(name.map(|name| ("Mcp-Name", name)));
    headers
}

pub(crate) fn parse(answer: &str) -> Value {
    serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// A connection to a server under test, over stdio or HTTP.
pub(crate) trait Transport {
    /// Sends a message and returns the whole answer.
    fn send_message(&mut self, message: &str) -> String;

    /// Sends a tool call of the stateless era and returns the whole answer.
    fn send_stateless(&mut self, tool: &str, arguments: &Value) -> String;
}

impl Transport for Stdio {
    fn send_message(&mut self, message: &str) -> String {
        self.ask(message)
    }

    fn send_stateless(&mut self, tool: &str, arguments: &Value) -> String {
        self.ask(stateless_call(1, tool, arguments))
    }
}

impl Transport for &Http {
    fn send_message(&mut self, message: &str) -> String {
        let response = self.post(message, &[]);
        assert_eq!(response.status, 200, "{}", response.text());
        response.text()
    }

    fn send_stateless(&mut self, tool: &str, arguments: &Value) -> String {
        let headers = stateless_headers("tools/call", Some(tool));
        let response = self.post(stateless_call(1, tool, arguments), &headers);
        assert_eq!(response.status, 200, "{}", response.text());
        response.text()
    }
}

impl Transport for Http {
    fn send_message(&mut self, message: &str) -> String {
        (&*self).send_message(message)
    }

    fn send_stateless(&mut self, tool: &str, arguments: &Value) -> String {
        (&*self).send_stateless(tool, arguments)
    }
}

/// Replaces every time by `<when>`, also inside a JSON text within the answer.
pub(crate) fn mask_times(answer: &str) -> String {
    const FORM: &str = "0000-00-00T00:00:00.000Z";
    let is_time = |text: &&str| {
        let fits = |(byte, form): (u8, u8)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        };
        text.bytes().zip(FORM.bytes()).all(fits)
    };
    let mut masked = String::new();
    let mut rest = answer;
    while let Some(first) = rest.chars().next() {
        match rest.get(..FORM.len()).filter(is_time) {
            Some(_) => {
                masked.push_str("<when>");
                rest = &rest[FORM.len()..];
            }
            None => {
                masked.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    masked
}

#[test]
fn times_are_masked_and_other_values_are_not() {
    assert_eq!(
        mask_times(
            r#"{"timestamp":"2026-11-15T10:19:42.001Z","a":"{\"timestamp\":\"2026-11-15T10:19:42.001Z\"}"}"#
        ),
        r#"{"timestamp":"<when>","a":"{\"timestamp\":\"<when>\"}"}"#
    );
    assert_eq!(mask_times(r#"{"timestamp":12}"#), r#"{"timestamp":12}"#);
    assert_eq!(mask_times("timestamp"), "timestamp");
}
