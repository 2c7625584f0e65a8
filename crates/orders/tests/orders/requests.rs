//! Answers to tool calls, each checked for what every answer promises.

use candor_call_fixtures::answer_line;
use candor_fault::Answer;
use candor_orders::dialect::schemas;
use serde_json::{Value, json};
use std::sync::LazyLock;

static FAILING: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&schemas::result()).unwrap());

/// The answer to one tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolResponse {
    /// The JSON-RPC line that a transport would send.
    pub(crate) line: String,
    /// The result, or the JSON-RPC error.
    pub(crate) whole: String,
    /// The text of `structuredContent`, or the JSON-RPC error.
    pub(crate) text: String,
    value: Value,
}

impl ToolResponse {
    pub(crate) fn new(answer: &Answer) -> ToolResponse {
        let line = answer_line(answer);
        let whole = match answer {
            Answer::Error(error) => {
                let text = error.json();
                let value = serde_json::from_str(&text).unwrap();
                return ToolResponse {
                    line,
                    whole: text.clone(),
                    text,
                    value,
                };
            }
            Answer::Result(text) => text.to_string(),
        };
        let result: Value = serde_json::from_str(&whole).unwrap();
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        let value: Value = serde_json::from_str(&text).unwrap();
        let quoted = json!(text);
        // Exactly these bytes: the text, the same as an object, and the error of a failure.
        let expected = if result["isError"] == true {
            let errors: Vec<_> = FAILING
                .iter_errors(&result)
                .map(|error| error.to_string())
                .collect();
            assert_eq!(errors, [] as [String; 0], "{whole}");
            let error = text
                .strip_prefix("{\"error\":")
                .and_then(|rest| rest.strip_suffix('}'));
            let error = error.unwrap();
            format!(
                "{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}],\"structuredContent\":{text},\"isError\":true,\"error\":{error}}}"
            )
        } else {
            format!(
                "{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}],\"structuredContent\":{text}}}"
            )
        };
        assert_eq!(whole, expected);
        ToolResponse {
            line,
            whole,
            text,
            value,
        }
    }

    /// Returns the JSON-RPC line as JSON.
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.line).unwrap()
    }

    /// Returns a member of the answer by its pointer, or null.
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.value.pointer(pointer).unwrap_or(&Value::Null)
    }

    pub(crate) fn order(&self) -> &str {
        let id = self.at("/order/id").as_str();
        id.unwrap_or_else(|| panic!("no order: {}", self.whole))
    }

    pub(crate) fn status(&self) -> &str {
        self.at("/order/status")
            .as_str()
            .unwrap_or_else(|| panic!("no order: {}", self.whole))
    }

    pub(crate) fn is_failure(&self) -> bool {
        self.at("/error").is_object() || self.at("/code").is_number()
    }

    /// Returns the error of a failing result.
    pub(crate) fn error(&self) -> &Value {
        let error = self.at("/error");
        assert!(error.is_object(), "{}", self.line);
        error
    }

    /// Returns the code and the identifier of a failure; `(0, "")` for a success.
    pub(crate) fn failure(&self) -> (i64, &str) {
        let code = self.at("/error/code").as_i64();
        let code = code.or(self.at("/code").as_i64()).unwrap_or_default();
        (
            code,
            self.at("/error/details/originalError")
                .as_str()
                .unwrap_or_default(),
        )
    }

    pub(crate) fn context(&self, name: &str) -> &Value {
        self.at(&format!("/error/details/context/{name}"))
    }

    /// Returns what a client acts on: code, identifier, whether to retry, effect and wait; `ok` for a
    /// success.
    pub(crate) fn summary(&self) -> String {
        if !self.is_failure() {
            return String::from("ok");
        }
        let error = self.error();
        let mut words = vec![error["code"].to_string()];
        words.extend(
            error["details"]["originalError"]
                .as_str()
                .map(str::to_owned),
        );
        if error["retryable"] == true {
            words.push(String::from("retryable"));
        }
        words.extend(self.context("effect").as_str().map(str::to_owned));
        let wait = self.context("retryAfterMs").as_u64();
        words.extend(wait.map(|wait| format!("{wait}ms")));
        words.join(" ")
    }
}
