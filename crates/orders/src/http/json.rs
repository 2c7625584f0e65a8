//! Validates JSON of an order system without building values: grammar, depth, count and repeated
//! names.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

/// The most JSON values of an answer. A page of the largest orders has fewer.
pub const MAX_VALUES: usize = 600_000;

/// The reason why a text is rejected. The parser bounds the depth at 128 levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonRejection {
    Utf8,
    /// Invalid JSON, too deep, an unpaired surrogate, or a number out of range.
    Grammar {
        line: usize,
        column: usize,
    },
    Early,
    /// An object has a member twice.
    Repeated,
    TooMany,
}

impl fmt::Display for JsonRejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonRejection::Utf8 => out.write_str("it is not UTF-8"),
            JsonRejection::Grammar { line, column } => {
                write!(
                    out,
                    "it is no JSON that is taken, at line {line} column {column}"
                )
            }
            JsonRejection::Early => out.write_str("it ends early"),
            JsonRejection::Repeated => out.write_str("an object names a member twice"),
            JsonRejection::TooMany => write!(out, "it has more than {MAX_VALUES} values"),
        }
    }
}

/// Returns the text if it is valid.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, JsonRejection> {
    let text = std::str::from_utf8(bytes).map_err(|_| JsonRejection::Utf8)?;
    let found = ScanState::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = JsonScan(&found).deserialize(&mut reader);
    let read = read.and_then(|()| reader.end());
    read.map_err(|error| match (found.0.get(), error.classify()) {
        (Some(rejection), _) => rejection,
        (None, Category::Eof) => JsonRejection::Early,
        (None, _) => JsonRejection::Grammar {
            line: error.line(),
            column: error.column(),
        },
    })?;
    Ok(text)
}

/// The rejection that is not about the grammar, and the number of values so far.
#[derive(Default)]
struct ScanState(Cell<Option<JsonRejection>>, Cell<usize>);

/// Validates one value and those in it.
#[derive(Clone, Copy)]
struct JsonScan<'a>(&'a ScanState);

impl JsonScan<'_> {
    fn stop<E: Error>(self, rejection: JsonRejection) -> E {
        self.0.0.set(Some(rejection));
        E::custom("")
    }
}

impl<'de> DeserializeSeed<'de> for JsonScan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let count = self.0.1.get() + 1;
        self.0.1.set(count);
        if count > MAX_VALUES {
            return Err(self.stop(JsonRejection::TooMany));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonScan<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !names.insert(name) {
                return Err(self.stop(JsonRejection::Repeated));
            }
            members.next_value_seed(self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn valid_json_is_accepted_and_bad_json_is_not() {
        for fine in ["0", " {} ", r#"{"a":[1,-2.5e3,"\ud83d\ude00",null,true]}"#] {
            assert_eq!(text(fine.as_bytes()), Ok(fine));
        }
        let at = |line, column| Err(JsonRejection::Grammar { line, column });
        assert_eq!(text(b"<html>"), at(1, 1));
        assert_eq!(text(b"{} {}"), at(1, 4));
        assert_eq!(text(br#""\ud800""#), at(1, 8));
        assert_eq!(text(b"1e999"), at(1, 5));
        assert_eq!(text(b""), Err(JsonRejection::Early));
        assert_eq!(text(b"[1,"), Err(JsonRejection::Early));
        assert_eq!(text(b"\"\xff\""), Err(JsonRejection::Utf8));
        let twice = Err(JsonRejection::Repeated);
        assert_eq!(text(br#"{"a":1,"a":1}"#), twice);
        assert_eq!(text(br#"[{"a":{"b":1,"\u0062":2}}]"#), twice);
        let deep = "[".repeat(1_000_000);
        assert_eq!(text(deep.as_bytes()), at(1, 128));
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert_eq!(text(many.as_bytes()), Err(JsonRejection::TooMany));
    }

    proptest! {
        #[test]
        fn scan_never_panics_and_accepts_only_json(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if text(&bytes).is_ok() {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
            }
        }
    }
}
