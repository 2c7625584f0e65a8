//! Canonical JSON (RFC 8785), restricted to what a log contains: members sorted by UTF-16 code
//! units, the shortest escapes, no whitespace, and integers that every JSON parser represents
//! exactly.

use serde_json::{Map, Number, Value};
use std::fmt;
use std::io::Write as _;

/// The largest integer that every JSON parser represents exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// The most levels of nested containers in a line.
pub(crate) const MAX_DEPTH: usize = 64;

/// The reason why an object has no canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCanonical {
    /// A number has a fraction, or is too large to be exact in every JSON parser.
    Number,
    /// It is nested too deeply.
    Depth,
}

impl fmt::Display for NotCanonical {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            NotCanonical::Number => "a number is not whole, or too large to be exact everywhere",
            NotCanonical::Depth => "the object is nested too deeply",
        })
    }
}

impl std::error::Error for NotCanonical {}

/// Returns the canonical text of an object.
pub fn canonical(object: &Map<String, Value>) -> Result<Vec<u8>, NotCanonical> {
    let mut out = Vec::with_capacity(512);
    write_object(object, &mut out, 0)?;
    Ok(out)
}

fn write_value(value: &Value, out: &mut Vec<u8>, depth: usize) -> Result<(), NotCanonical> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out)?,
        Value::String(text) => write_string(text, out),
        Value::Object(object) => write_object(object, out, depth)?,
        Value::Array(items) => {
            deeper(depth)?;
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(item, out, depth + 1)?;
            }
            out.push(b']');
        }
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<(), NotCanonical> {
    if depth < MAX_DEPTH {
        Ok(())
    } else {
        Err(NotCanonical::Depth)
    }
}

fn write_object(
    object: &Map<String, Value>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), NotCanonical> {
    deeper(depth)?;
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
    out.push(b'{');
    for (index, (name, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        write_value(value, out, depth + 1)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_number(number: &Number, out: &mut Vec<u8>) -> Result<(), NotCanonical> {
    let whole = match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(whole), _, _) => whole,
        (None, Some(_), _) => return Err(NotCanonical::Number),
        (None, None, Some(float)) if float.fract() == 0.0 && float.abs() <= MAX_EXACT as f64 => {
            float as i64
        }
        _ => return Err(NotCanonical::Number),
    };
    if whole.unsigned_abs() > MAX_EXACT {
        return Err(NotCanonical::Number);
    }
    // Writing to a vector cannot fail.
    let _ = write!(out, "{whole}");
    Ok(())
}

pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            0x0c => b"\\f",
            b'\r' => b"\\r",
            0..0x20 => b"",
            _ => continue,
        };
        out.extend_from_slice(&text.as_bytes()[plain..index]);
        plain = index + 1;
        match escape {
            b"" => _ = write!(out, "\\u{byte:04x}"),
            escape => out.extend_from_slice(escape),
        }
    }
    out.extend_from_slice(&text.as_bytes()[plain..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-(MAX_EXACT as i64)..=MAX_EXACT as i64).prop_map(Value::from),
            (-1e15..1e15f64).prop_map(|float| json!(float.trunc())),
            "\\PC{0,8}|[\\x00-\\x1f\"\\\\é\u{10000}\u{e000}]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let name = "[a-c\u{e000}\u{10000}\\n\"]{0,3}";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(name, inner, 0..6)
                    .prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn output_matches_rfc_8785(value in value()) {
            let mut object = Map::new();
            object.insert(String::from("member"), value);
            let text = String::from_utf8(canonical(&object).unwrap()).unwrap();
            let standard = serde_json_canonicalizer::to_string(&Value::Object(object)).unwrap();
            prop_assert_eq!(text, standard);
        }
    }

    #[test]
    fn inexact_numbers_and_deep_nesting_are_refused() {
        let of = |value: Value| canonical(json!({ "a": value }).as_object().unwrap());
        assert_eq!(of(json!(0.5)), Err(NotCanonical::Number));
        assert_eq!(of(json!(MAX_EXACT + 1)), Err(NotCanonical::Number));
        assert_eq!(of(json!(u64::MAX)), Err(NotCanonical::Number));
        assert_eq!(of(json!(1e300)), Err(NotCanonical::Number));
        assert_eq!(of(json!(-0.0)).unwrap(), br#"{"a":0}"#);
        let deep = (0..MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(of(deep), Err(NotCanonical::Depth));
    }
}
