//! Why something failed, normalised to plain JSON and bounded in depth and size.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::io;

/// How many levels of containers a cause may have.
pub const CAUSE_MAX_DEPTH: usize = 8;

/// How many bytes of JSON a cause may have.
pub const CAUSE_MAX_BYTES: usize = 16 * 1024;

/// What stands where something was cut off.
pub const CUT: &str = "…[cut]";

/// How many errors of a chain are joined into one message.
const CHAIN_MAX: usize = 8;

/// The original failure. A Rust value of this type cannot contain itself, so a cyclic cause does
/// not exist.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// A bare text.
    Text(String),
    /// An error with its message, its code (`ENOENT` and friends) and its kind.
    Error {
        /// What it says, the errors below it included.
        message: String,
        /// Its code, where it has one.
        code: Option<String>,
        /// Its kind.
        name: String,
    },
    /// Any other data.
    Data(Value),
}

impl Cause {
    /// An error, the ones below it joined into its message.
    pub fn error(name: &str, error: &(dyn Error + 'static)) -> Self {
        let mut message = error.to_string();
        let mut code = os_code(error);
        let mut below = error.source();
        for _ in 0..CHAIN_MAX {
            let Some(error) = below else { break };
            message.push_str(": ");
            message.push_str(&error.to_string());
            code = code.or_else(|| os_code(error));
            below = error.source();
        }
        Cause::Error {
            message,
            code,
            name: name.to_owned(),
        }
    }

    /// Plain JSON within the bounds: a text stays a text, an error becomes
    /// `{message, code, name}`, and what does not fit is cut with [`CUT`].
    pub fn normalised(&self) -> Value {
        let whole = match self {
            Cause::Text(text) => Value::String(text.clone()),
            Cause::Error {
                message,
                code,
                name,
            } => json!({ "message": message, "code": code, "name": name }),
            Cause::Data(value) => value.clone(),
        };
        let mut room = CAUSE_MAX_BYTES;
        bounded(&whole, 1, &mut room)
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

/// The symbolic name of an OS error.
fn os_code(error: &(dyn Error + 'static)) -> Option<String> {
    let number = error.downcast_ref::<io::Error>()?.raw_os_error()?;
    Some(format!("{:?}", nix::errno::Errno::from_raw(number)))
}

fn size(value: &Value) -> usize {
    crate::to_json(value).len()
}

fn marker() -> Value {
    Value::String(CUT.to_owned())
}

/// Bytes kept free for a closing bracket, a comma and a marker.
const RESERVE: usize = 2 * CUT.len() + 8;

/// A copy of `value` that takes at most `room` bytes and the allowed levels; takes them off `room`.
fn bounded(value: &Value, depth: usize, room: &mut usize) -> Value {
    let kept = match value {
        Value::Array(_) | Value::Object(_) if depth > CAUSE_MAX_DEPTH => marker(),
        Value::Array(items) => return bounded_items(items, depth, room),
        Value::Object(members) => return bounded_members(members, depth, room),
        Value::String(text) => cut_text(text, *room),
        scalar => scalar.clone(),
    };
    *room = room.saturating_sub(size(&kept));
    kept
}

fn bounded_items(items: &[Value], depth: usize, room: &mut usize) -> Value {
    *room = room.saturating_sub(2);
    let mut kept = Vec::new();
    for item in items {
        if *room < RESERVE {
            kept.push(marker());
            *room = 0;
            break;
        }
        *room -= 1;
        kept.push(bounded(item, depth + 1, room));
    }
    Value::Array(kept)
}

fn bounded_members(members: &Map<String, Value>, depth: usize, room: &mut usize) -> Value {
    *room = room.saturating_sub(2);
    let mut kept = Map::new();
    for (name, member) in members {
        let name_size = crate::to_json(name).len() + 2;
        if *room < RESERVE + name_size {
            kept.insert(CUT.to_owned(), marker());
            *room = 0;
            break;
        }
        *room -= name_size;
        kept.insert(name.clone(), bounded(member, depth + 1, room));
    }
    Value::Object(kept)
}

/// The text, or as much of it as fits with the marker behind it.
fn cut_text(text: &str, room: usize) -> Value {
    if text.len() < room && crate::to_json(text).len() <= room.saturating_sub(RESERVE) {
        return Value::String(text.to_owned());
    }
    let mut left = room.saturating_sub(2 * RESERVE);
    let mut kept = String::new();
    for c in text.chars() {
        let mut utf8 = [0; 4];
        let cost = crate::to_json(c.encode_utf8(&mut utf8)).len() - 2;
        if cost > left {
            break;
        }
        left -= cost;
        kept.push(c);
    }
    kept.push_str(CUT);
    Value::String(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_os_error_has_its_symbolic_code() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(
            Cause::from(error).normalised(),
            json!({ "message": "No such file or directory (os error 2)", "code": "ENOENT", "name": "IoError" })
        );
    }

    #[test]
    fn a_chain_is_one_message() {
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
    fn what_is_too_deep_is_cut_with_a_marker() {
        let mut deep = json!("core");
        for _ in 0..CAUSE_MAX_DEPTH + 1 {
            deep = json!([deep]);
        }
        let text = crate::to_json(&Cause::Data(deep));
        assert_eq!(text, format!("{}\"{CUT}\"{}", "[".repeat(8), "]".repeat(8)));
    }

    #[test]
    fn a_short_text_stays_itself_and_a_long_one_is_cut() {
        assert_eq!(Cause::from("why").normalised(), json!("why"));
        let long = Cause::Text("\n".repeat(CAUSE_MAX_BYTES)).normalised();
        assert!(size(&long) <= CAUSE_MAX_BYTES);
        assert!(long.as_str().is_some_and(|text| text.ends_with(CUT)));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(|n| json!(n)),
            proptest::collection::vec(any::<char>(), 0..3000)
                .prop_map(|text| json!(text.into_iter().collect::<String>())),
        ];
        leaf.prop_recursive(12, 64, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                proptest::collection::vec(("[a-z\"\\n]{0,40}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    proptest! {
        #[test]
        fn every_cause_fits_its_bounds(value in any_json()) {
            let kept = Cause::Data(value.clone()).normalised();
            prop_assert!(size(&kept) <= CAUSE_MAX_BYTES);
            prop_assert!(depth(&kept) <= CAUSE_MAX_DEPTH);
            if size(&value) < CAUSE_MAX_BYTES / 2 && depth(&value) <= CAUSE_MAX_DEPTH {
                prop_assert_eq!(kept, value);
            }
        }
    }
}
