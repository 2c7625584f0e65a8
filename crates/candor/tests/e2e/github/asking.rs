//! Calls of tools on either wire, and their answers taken apart.

use candor_testkit::{Http, Stdio};
use serde_json::Value;

/// A call of the handshake era.
pub(crate) fn call(id: u32, tool: &str, arguments: &Value) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// The `_meta` of a complete request of the stateless era.
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A call of the stateless era.
pub(crate) fn stateless(id: u32, tool: &str, arguments: &Value) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{META}}}}}"#
    )
}

/// An answer as a value.
pub(crate) fn parsed(answer: &str) -> Value {
    serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// A server on either wire.
pub(crate) trait Asked {
    /// The whole answer to a message.
    fn answer(&mut self, message: &str) -> String;

    /// What a call that succeeds answers.
    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.answer(&call(1, tool, &arguments));
        let mut answer = parsed(&answer);
        assert!(
            answer.get("error").is_none(),
            "{tool} {arguments}: {answer}"
        );
        answer["result"]["structuredContent"].take()
    }

    /// The error of a call that fails.
    fn failed(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.answer(&call(1, tool, &arguments));
        let mut answer = parsed(&answer);
        assert!(
            answer.get("error").is_some(),
            "{tool} {arguments}: {answer}"
        );
        answer["error"].take()
    }
}

impl Asked for Stdio {
    fn answer(&mut self, message: &str) -> String {
        self.ask(message)
    }
}

impl Asked for Http {
    fn answer(&mut self, message: &str) -> String {
        (&*self).answer(message)
    }
}

impl Asked for &Http {
    fn answer(&mut self, message: &str) -> String {
        let response = self.post(message, &[]);
        assert_eq!(response.status, 200, "{}", response.text());
        response.text()
    }
}

/// An answer with the times in it replaced, also where they stand in a text within the answer.
pub(crate) fn timeless(answer: &str) -> String {
    const WHEN: &str = "2026-01-02T03:04:05.678Z";
    let is_time = |text: &str| {
        text.len() == WHEN.len()
            && text.bytes().zip(WHEN.bytes()).all(|(one, other)| {
                (other.is_ascii_digit() && one.is_ascii_digit()) || one == other
            })
    };
    let mut timeless = String::new();
    let mut rest = answer;
    while let Some(first) = rest.chars().next() {
        match rest.get(..WHEN.len()).filter(|text| is_time(text)) {
            Some(_) => {
                timeless.push_str("<when>");
                rest = &rest[WHEN.len()..];
            }
            None => {
                timeless.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    timeless
}
