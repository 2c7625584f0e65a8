//! A context server on stdio; every result is checked to be one text and nothing else.

use crate::requests::call;
use candor_testkit::{Exit, Stdio};
use serde_json::Value;
use std::process::Command;

pub(crate) struct ContextServer {
    stdio: Stdio,
    calls: u64,
}

/// The text of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolText {
    Text(String),
    Failed(String),
}

impl ToolText {
    pub(crate) fn text(&self) -> &str {
        match self {
            ToolText::Text(text) | ToolText::Failed(text) => text,
        }
    }

    /// Returns the text of a success, and panics at a failure.
    pub(crate) fn unwrap(self) -> String {
        match self {
            ToolText::Text(text) => text,
            ToolText::Failed(text) => panic!("{text}"),
        }
    }
}

impl ContextServer {
    pub(crate) fn start(command: Command) -> ContextServer {
        let stdio = Stdio::start(command);
        ContextServer { stdio, calls: 0 }
    }

    pub(crate) fn stdio(&mut self) -> &mut Stdio {
        &mut self.stdio
    }

    /// Sends one line and reads one.
    pub(crate) fn ask(&mut self, line: impl Into<Vec<u8>>) -> String {
        self.stdio.ask(line)
    }

    /// Makes a call with these arguments, which need not be JSON.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> ToolText {
        self.calls += 1;
        let id = self.calls.to_string();
        let answer = self.ask(call(&id, tool, arguments));
        outcome(&id, &answer)
    }

    pub(crate) fn resolve(&mut self, cache: &str, query: &str, budget: &str) -> ToolText {
        self.call("context.resolve", &arguments(cache, query, budget))
    }

    /// Closes stdin; the server must then exit with 0.
    pub(crate) fn end(mut self) {
        assert_eq!(self.stdio.end(), (vec![], Exit::Code(0)));
    }
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Returns the arguments of `context.resolve`.
pub(crate) fn arguments(cache: &str, query: &str, budget: &str) -> String {
    let (cache, query) = (quoted(cache), quoted(query));
    format!(r#"{{"cache":{cache},"query":{query},"budget":{budget}}}"#)
}

/// Returns the whole answer of the handshake era.
pub(crate) fn result(id: &str, outcome: &ToolText) -> String {
    let is_error = match outcome {
        ToolText::Text(_) => "",
        ToolText::Failed(_) => r#","isError":true"#,
    };
    let text = quoted(outcome.text());
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}]{is_error}}}}}"#
    )
}

/// Returns the text of an answer, which must be exactly a result of the handshake era.
pub(crate) fn outcome(id: &str, line: &str) -> ToolText {
    let answer: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let answered = &answer["result"];
    let Some(text) = answered["content"][0]["text"].as_str() else {
        panic!("no result: {line}");
    };
    let outcome = match answered["isError"] == true {
        true => ToolText::Failed(text.to_owned()),
        false => ToolText::Text(text.to_owned()),
    };
    assert_eq!(line, result(id, &outcome));
    outcome
}
