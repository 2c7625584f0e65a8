//! Answers as they are on the wire, each held against what every answer promises.

use candor_fault::Answer;
use candor_orders::dialect::schemas;
use serde_json::{Value, json};
use std::sync::LazyLock;

static FAILING: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&schemas::result()).unwrap());

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    /// The whole text.
    pub(crate) whole: String,
    /// What it is about: `structuredContent`, or the JSON-RPC error.
    pub(crate) text: String,
    value: Value,
}

impl Said {
    pub(crate) fn of(answer: &Answer) -> Said {
        let whole = match answer {
            Answer::Error(error) => {
                let text = error.json();
                let value = serde_json::from_str(&text).unwrap();
                return Said {
                    whole: text.clone(),
                    text,
                    value,
                };
            }
            Answer::Result(text) => text.to_string(),
        };
        let read: Value = serde_json::from_str(&whole).unwrap();
        let text = read["content"][0]["text"].as_str().unwrap().to_owned();
        let value: Value = serde_json::from_str(&text).unwrap();
        let said = json!(text);
        // Exactly these bytes: the text, the same as an object, and for a failure what tells it.
        let expected = if read["isError"] == true {
            let errors: Vec<_> = FAILING
                .iter_errors(&read)
                .map(|error| error.to_string())
                .collect();
            assert_eq!(errors, [] as [String; 0], "{whole}");
            let error = text
                .strip_prefix("{\"error\":")
                .and_then(|rest| rest.strip_suffix('}'));
            let error = error.unwrap();
            format!(
                "{{\"content\":[{{\"type\":\"text\",\"text\":{said}}}],\"structuredContent\":{text},\"isError\":true,\"error\":{error}}}"
            )
        } else {
            format!(
                "{{\"content\":[{{\"type\":\"text\",\"text\":{said}}}],\"structuredContent\":{text}}}"
            )
        };
        assert_eq!(whole, expected);
        Said { whole, text, value }
    }

    /// A member of what was answered, by its pointer.
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

    /// The code, and the identifier where there is one; `(0, "")` for a success.
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
}
