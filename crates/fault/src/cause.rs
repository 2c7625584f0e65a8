//! The cause of a failure, normalised to a text or a plain object, with bounded depth and size.

use crate::truncate_json;
use serde::Serialize;
use serde_json::{Value, json};
use std::error::Error;
use std::io;

/// The most levels of containers in a cause.
pub const MAX_CAUSE_DEPTH: usize = 8;

/// The most bytes of JSON in a cause.
pub const MAX_CAUSE_BYTES: usize = 16 * 1024;

/// The most errors of a chain that are joined into one message.
const MAX_CHAIN: usize = 8;

/// The original failure. A Rust value of this type cannot contain itself, so a cyclic cause does
/// not exist.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// A message without an error code or a type.
    Text(String),
    /// An error with its message, its code (`ENOENT` and friends) and its kind.
    Error {
        /// The message, with those of its sources.
        message: String,
        /// The symbolic name of its OS error, if it has one.
        code: Option<String>,
        name: String,
    },
    /// Any other data.
    Data(Value),
}

impl Cause {
    /// Makes a cause of an error; the messages of its sources are appended.
    pub fn error(name: &str, error: &(dyn Error + 'static)) -> Self {
        let mut message = error.to_string();
        let mut code = os_code(error);
        let mut source = error.source();
        for _ in 0..MAX_CHAIN {
            let Some(error) = source else { break };
            message.push_str(": ");
            message.push_str(&error.to_string());
            code = code.or_else(|| os_code(error));
            source = error.source();
        }
        Cause::Error {
            message,
            code,
            name: name.to_owned(),
        }
    }

    pub(crate) fn redact(&mut self, redact: &dyn Fn(&str) -> Option<String>) {
        match self {
            Cause::Text(text) | Cause::Error { message: text, .. } => hide(text, redact),
            Cause::Data(value) => hide_texts(value, MAX_CAUSE_DEPTH, redact),
        }
    }

    /// Returns a text, a plain object or null, within the bounds. A text stays a text, an error
    /// becomes `{message, code, name}`, a list becomes `{items}`, a number or a boolean becomes its
    /// text; anything larger is cut with [`CUT`](crate::CUT).
    pub fn normalised(&self) -> Value {
        let whole = match self {
            Cause::Text(text) => Value::String(text.clone()),
            Cause::Error {
                message,
                code,
                name,
            } => json!({ "message": message, "code": code, "name": name }),
            Cause::Data(Value::Array(items)) => json!({ "items": items }),
            Cause::Data(scalar @ (Value::Bool(_) | Value::Number(_))) => {
                Value::String(scalar.to_string())
            }
            Cause::Data(value) => value.clone(),
        };
        truncate_json(&whole, MAX_CAUSE_DEPTH, MAX_CAUSE_BYTES)
    }
}

fn hide(text: &mut String, redact: &dyn Fn(&str) -> Option<String>) {
    if let Some(hidden) = redact(text) {
        *text = hidden;
    }
}

/// Redacts every text of a value. Levels deeper than a cause may have are cut off anyway.
fn hide_texts(value: &mut Value, levels: usize, redact: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => hide(text, redact),
        Value::Array(items) if levels > 0 => {
            items
                .iter_mut()
                .for_each(|item| hide_texts(item, levels - 1, redact));
        }
        Value::Object(members) if levels > 0 => {
            members
                .values_mut()
                .for_each(|member| hide_texts(member, levels - 1, redact));
        }
        _ => {}
    }
}

impl Serialize for Cause {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.normalised().serialize(serializer)
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        Cause::error("IoError", &error)
    }
}

impl From<Value> for Cause {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Cause::Text(text),
            data => Cause::Data(data),
        }
    }
}

impl From<&str> for Cause {
    fn from(text: &str) -> Self {
        Cause::Text(text.to_owned())
    }
}

/// Returns the symbolic name of an OS error.
fn os_code(error: &(dyn Error + 'static)) -> Option<String> {
    let number = error.downcast_ref::<io::Error>()?.raw_os_error()?;
    Some(format!("{:?}", nix::errno::Errno::from_raw(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CUT;

    #[test]
    fn os_error_has_its_symbolic_code() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(
            Cause::from(error).normalised(),
            json!({ "message": "No such file or directory (os error 2)", "code": "ENOENT", "name": "IoError" })
        );
    }

    #[test]
    fn error_chain_becomes_one_message() {
        #[derive(Debug)]
        struct Outer(io::Error);
        impl std::fmt::Display for Outer {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("outer")
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let cause = Cause::error("Outer", &Outer(io::Error::from_raw_os_error(13)));
        assert_eq!(
            cause.normalised(),
            json!({ "message": "outer: Permission denied (os error 13)", "code": "EACCES", "name": "Outer" })
        );
    }

    #[test]
    fn short_text_is_kept_and_long_text_is_cut() {
        assert_eq!(Cause::from("why").normalised(), json!("why"));
        let long = Cause::Text("\n".repeat(MAX_CAUSE_BYTES)).normalised();
        assert!(crate::to_json(&long).len() <= MAX_CAUSE_BYTES);
        assert!(long.as_str().is_some_and(|text| text.ends_with(CUT)));
    }

    #[test]
    fn normalised_cause_is_a_text_an_object_or_null() {
        let normalised = |data: Value| Cause::from(data).normalised();
        assert_eq!(normalised(json!({ "a": [1] })), json!({ "a": [1] }));
        assert_eq!(normalised(json!([1, 2])), json!({ "items": [1, 2] }));
        assert_eq!(normalised(json!(42)), json!("42"));
        assert_eq!(normalised(json!(true)), json!("true"));
        assert_eq!(normalised(json!(null)), json!(null));
    }
}
