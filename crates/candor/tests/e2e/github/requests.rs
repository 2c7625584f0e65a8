//! Calls of the GitHub tools, which fail with JSON-RPC errors.

use crate::requests::{Transport, call, parse};
use serde_json::Value;

pub(crate) trait GithubCalls: Transport {
    /// Makes a call that must succeed and returns its structured content.
    fn call_ok(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = parse(&self.send_message(&call(1, tool, &arguments)));
        assert!(
            answer.get("error").is_none(),
            "{tool} {arguments}: {answer}"
        );
        answer["result"]["structuredContent"].take()
    }

    /// Makes a call that must fail and returns its error.
    fn call_err(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = parse(&self.send_message(&call(1, tool, &arguments)));
        assert!(
            answer.get("error").is_some(),
            "{tool} {arguments}: {answer}"
        );
        answer["error"].take()
    }
}

impl<T: Transport> GithubCalls for T {}
