//! A server of caches on stdio, whose every result is checked to be a text and nothing else.

use candor_testkit::{Exit, Stdio};
use serde_json::Value;
use std::process::Command;

/// The `_meta` of a complete request of the stateless era.
pub(crate) const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A server.
pub(crate) struct Server {
    stdio: Stdio,
    calls: u64,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Text(String),
    Failed(String),
}

impl Outcome {
    pub(crate) fn text(&self) -> &str {
        match self {
            Outcome::Text(text) | Outcome::Failed(text) => text,
        }
    }

    /// The text of a success.
    pub(crate) fn good(self) -> String {
        match self {
            Outcome::Text(text) => text,
            Outcome::Failed(text) => panic!("{text}"),
        }
    }
}

impl Server {
    pub(crate) fn start(command: Command) -> Server {
        let stdio = Stdio::start(command);
        Server { stdio, calls: 0 }
    }

    pub(crate) fn stdio(&mut self) -> &mut Stdio {
        &mut self.stdio
    }

    /// Sends one line and reads one.
    pub(crate) fn ask(&mut self, line: impl Into<Vec<u8>>) -> String {
        self.stdio.ask(line)
    }

    /// A call with arguments as they are.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> Outcome {
        self.calls += 1;
        let id = self.calls.to_string();
        let answer = self.ask(call(&id, tool, arguments));
        outcome(&id, &answer)
    }

    pub(crate) fn resolve(&mut self, cache: &str, query: &str, budget: &str) -> Outcome {
        self.call("context.resolve", &arguments(cache, query, budget))
    }

    /// Ends stdin; the server must end well.
    pub(crate) fn end(mut self) {
        assert_eq!(self.stdio.end(), (vec![], Exit::Code(0)));
    }
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// The arguments of `context.resolve`.
pub(crate) fn arguments(cache: &str, query: &str, budget: &str) -> String {
    let (cache, query) = (quoted(cache), quoted(query));
    format!(r#"{{"cache":{cache},"query":{query},"budget":{budget}}}"#)
}

/// A call of the handshake era.
pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// A call of the stateless era.
pub(crate) fn stateless_call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{META}}}}}"#
    )
}

/// A result of the handshake era, whole.
pub(crate) fn result(id: &str, outcome: &Outcome) -> String {
    let is_error = match outcome {
        Outcome::Text(_) => "",
        Outcome::Failed(_) => r#","isError":true"#,
    };
    let text = quoted(outcome.text());
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}]{is_error}}}}}"#
    )
}

/// What a line says; it must have been exactly such a result.
pub(crate) fn outcome(id: &str, line: &str) -> Outcome {
    let answer: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let answered = &answer["result"];
    let Some(text) = answered["content"][0]["text"].as_str() else {
        panic!("no result: {line}");
    };
    let outcome = match answered["isError"] == true {
        true => Outcome::Failed(text.to_owned()),
        false => Outcome::Text(text.to_owned()),
    };
    assert_eq!(line, result(id, &outcome));
    outcome
}
