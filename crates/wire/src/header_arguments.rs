//! Compares arguments with the headers that repeat them (`Mcp-Param-…`), in the stateless era over HTTP.

use crate::mirrored_header::decode_header;
use crate::revision::header_mismatch;
use candor_fault::dialects::Wire;
use candor_fault::{ClientText, Fault};
use candor_json::{JsonKind, JsonRef};
use candor_street::HeaderArgument;
use std::borrow::Cow;

/// A header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderLookup<'a> {
    Absent,
    /// The bytes of its value.
    Once(&'a [u8]),
    Repeated,
}

/// Checks that each marked argument is repeated in its header. `lookup` finds a header by its name in lower
/// case.
///
/// Arguments that are not an object are left to the schema.
pub fn check_header_arguments<'h>(
    marked: &[HeaderArgument],
    arguments: JsonRef<'_>,
    lookup: impl Fn(&str) -> HeaderLookup<'h>,
) -> Result<(), Fault<Wire>> {
    if !arguments.is_object() {
        return Ok(());
    }
    for one in marked {
        let mismatch = |reason| {
            let header = ClientText::from("Mcp-Param-").quoting(one.name());
            Err(header_mismatch(header.then(reason)))
        };
        let argument = find_argument(arguments, one.path());
        match (argument, lookup(one.header())) {
            (None, HeaderLookup::Absent) => {}
            (_, HeaderLookup::Repeated) => return mismatch(" occurs twice"),
            (None, HeaderLookup::Once(_)) => return mismatch(" has no argument in the body"),
            (Some(_), HeaderLookup::Absent) => return mismatch(" is missing"),
            (Some(argument), HeaderLookup::Once(header)) if !repeats(header, argument) => {
                return mismatch(" is not the body's");
            }
            (Some(_), HeaderLookup::Once(_)) => {}
        }
    }
    Ok(())
}

/// Returns the argument at `path`; `None` if it is absent or null.
fn find_argument<'a>(arguments: JsonRef<'a>, path: &[String]) -> Option<JsonRef<'a>> {
    let mut value = arguments;
    for name in path {
        value = value.get(name)?;
    }
    Some(value).filter(|value| !value.is_null())
}

/// Returns true if a header's value states the same as an argument. No header states an object or an
/// array.
fn repeats(header: &[u8], argument: JsonRef<'_>) -> bool {
    let Some(header) = header_text(header) else {
        return false;
    };
    match argument.kind() {
        JsonKind::String => argument.as_str().is_some_and(|argument| argument == header),
        JsonKind::Boolean => argument.text() == header,
        JsonKind::Number => {
            let number = Decimal::parse(argument.text());
            number.is_some() && number == Decimal::parse(&header)
        }
        JsonKind::Null | JsonKind::Array | JsonKind::Object => false,
    }
}

/// Decodes a header's value. Returns `None` for bytes that a value cannot contain, and for broken Base64.
fn header_text(value: &[u8]) -> Option<Cow<'_, str>> {
    let is_text = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    if !value.iter().all(is_text) {
        return None;
    }
    decode_header(std::str::from_utf8(value).ok()?)
}

/// The exact value of a JSON number: its digits without zeros at either end, and a power of ten.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Parses a JSON number. Returns `None` if the text is not one, or if its exponent has more than 64
    /// bits.
    fn parse(text: &str) -> Option<Decimal> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            None => (unsigned, 0),
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            None => (mantissa, ""),
            Some((_, "")) => return None,
            Some(parts) => parts,
        };
        let is_canonical = whole == "0" || !whole.starts_with('0');
        let digits = [whole, fraction].concat();
        if whole.is_empty() || !is_canonical || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_end_matches('0');
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        let fraction = i64::try_from(fraction.len()).ok()?;
        let exponent = exponent.checked_add(zeros)?.checked_sub(fraction)?;
        Some(match significant.trim_start_matches('0') {
            "" => Decimal {
                negative: false,
                digits: String::new(),
                exponent: 0,
            },
            significant => Decimal {
                negative: text.starts_with('-'),
                digits: significant.to_owned(),
                exponent,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use candor_json::IndexedText;
    use candor_street::Tool;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Returns the outcome for a tool with one marked property `v`, or `outer.v`.
    fn outcome(arguments: &str, headers: &[&[u8]]) -> Result<(), String> {
        let kind = json!({ "type": "string", "x-mcp-header": "V" });
        let schema = json!({ "type": "object", "properties": { "v": kind } });
        outcome_of(schema, arguments, headers)
    }

    fn outcome_of(schema: Value, arguments: &str, headers: &[&[u8]]) -> Result<(), String> {
        let run = |_, _: Value, _| async { candor_street::reply(&json!({})) };
        let tool = Tool::<crate::test_server::NoServer>::read_only("t", "A tool.", schema, run);
        let lookup = |name: &str| match (name, headers) {
            ("mcp-param-v", []) => HeaderLookup::Absent,
            ("mcp-param-v", [one]) => HeaderLookup::Once(one),
            ("mcp-param-v", _) => HeaderLookup::Repeated,
            _ => panic!("{name} is not marked"),
        };
        let arguments = IndexedText::new(arguments).unwrap();
        let checked = check_header_arguments(tool.header_arguments(), arguments.root(), lookup);
        checked.map_err(|fault| {
            assert_eq!(fault.row().code.number(), -32020);
            fault.message().to_owned()
        })
    }

    const OTHER: &str = "Header mismatch: Mcp-Param-V is not the body's";

    fn is_same(argument: &str, header: &str) -> bool {
        let arguments = format!(r#"{{"a":1,"v":{argument},"b":[]}}"#);
        match outcome(&arguments, &[header.as_bytes()]) {
            Ok(()) => true,
            Err(message) => {
                assert_eq!(message, OTHER);
                false
            }
        }
    }

    #[test]
    fn absent_arguments_have_no_header() {
        for arguments in ["{}", r#"{"v":null}"#, r#"{"V":1,"outer":{"v":1}}"#] {
            assert_eq!(outcome(arguments, &[]), Ok(()), "{arguments}");
            assert_eq!(
                outcome(arguments, &[b""]).unwrap_err(),
                "Header mismatch: Mcp-Param-V has no argument in the body",
                "{arguments}"
            );
        }
        assert_eq!(
            outcome(r#"{"v":"x"}"#, &[]).unwrap_err(),
            "Header mismatch: Mcp-Param-V is missing"
        );
        assert_eq!(outcome(r#"{"v":""}"#, &[b""]), Ok(()));
    }

    #[test]
    fn repeated_header_matches_nothing() {
        for arguments in [r#"{"v":"x"}"#, "{}", r#"{"v":null}"#, r#"{"v":"x, x"}"#] {
            assert_eq!(
                outcome(arguments, &[b"x", b"x"]).unwrap_err(),
                "Header mismatch: Mcp-Param-V occurs twice"
            );
        }
    }

    #[test]
    fn arguments_that_are_not_an_object_are_left_to_the_schema() {
        for arguments in ["[]", "\"v\"", "7", "true"] {
            assert_eq!(outcome(arguments, &[]), Ok(()));
            assert_eq!(outcome(arguments, &[b"x"]), Ok(()));
        }
    }

    #[test]
    fn nested_argument_is_found() {
        let schema = json!({ "properties": { "outer": { "properties": {
            "v": { "type": "boolean", "x-mcp-header": "V" } } } } });
        let check = |arguments: &str, headers: &[&[u8]]| {
            outcome_of(schema.clone(), arguments, headers).is_ok()
        };
        assert!(check(r#"{"v":false,"outer":{"v":true}}"#, &[b"true"]));
        assert!(check(r#"{"\u006futer":{"\u0076":true}}"#, &[b"true"]));
        assert!(!check(r#"{"outer":{"v":true}}"#, &[b"True"]));
        assert!(!check(r#"{"outer":{"v":true}}"#, &[b"1"]));
        assert!(!check(r#"{"outer":{"v":false}}"#, &[b"true"]));
        for absent in [
            r#"{"outer":[{"v":true}]}"#,
            r#"{"outer":null}"#,
            r#"{"outer":"v"}"#,
        ] {
            assert!(check(absent, &[]), "{absent}");
            assert!(!check(absent, &[b"true"]), "{absent}");
        }
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for same in [
            "42", "42.0", "42.000", "4.2e1", "4.2E+1", "420e-1", "0.42e2",
        ] {
            assert!(is_same("42", same), "{same}");
            assert!(is_same(same, "42"), "{same}");
            assert!(!is_same("-42", same), "{same}");
        }
        for other in [
            "",
            "+42",
            "042",
            " 42",
            "42 ",
            "4 2",
            "42.",
            ".42e2",
            "42e",
            "0x2a",
            "42,0",
            "\"42\"",
            "NaN",
            "42e99999999999999999999",
        ] {
            assert!(!is_same("42", other), "{other}");
        }
        assert!(is_same("0", "-0") && is_same("-0", "0.00") && is_same("0e7", "0"));
        // No double can tell these apart.
        assert!(!is_same("9007199254740993", "9007199254740992"));
        assert!(is_same("9007199254740993", "9007199254740993.0"));
        assert!(is_same(
            "123456789012345678901234567890",
            "123456789012345678901234567890"
        ));
    }

    #[test]
    fn other_types_are_not_in_a_header() {
        for argument in ["[]", "{}", "[1]", r#"{"a":1}"#] {
            assert!(!is_same(argument, argument));
        }
        assert!(!is_same("\"true\"", "\"true\""));
        assert!(is_same("\"true\"", "true"), "the schema refuses the type");
    }

    #[test]
    fn bytes_outside_of_visible_ascii_match_nothing() {
        assert!(is_same(r#""a b\tc""#, "a b\tc"));
        assert!(!is_same("\"é\"", "é"));
        assert!(is_same("\"é\"", "=?base64?w6k=?="));
        let replaced = outcome("{\"v\":\"\u{fffd}\"}", &[b"\xff"]);
        assert_eq!(replaced.unwrap_err(), OTHER);
        assert!(!is_same(r#""\u0000""#, "\0"));
    }

    proptest! {
        #[test]
        fn integers_match_their_own_value_alone(one: i64, other: i64, zeros in 0usize..4) {
            let written = format!("{one}.{}", "0".repeat(zeros + 1));
            let scaled = format!("{one}{}e-{zeros}", "0".repeat(zeros));
            for header in [one.to_string(), written, scaled] {
                prop_assert!(is_same(&one.to_string(), &header));
                prop_assert_eq!(is_same(&other.to_string(), &header), one == other);
            }
        }

        #[test]
        fn decimals_are_equal_if_their_doubles_are(one in -9999i32..9999, other in -9999i32..9999, a in -6i32..6, b in -6i32..6) {
            // Both are exact: a decimal of four digits is one double, and no other decimal of four is.
            let (one, other) = (format!("{one}e{a}"), format!("{other}e{b}"));
            let same = one.parse::<f64>().unwrap() == other.parse::<f64>().unwrap();
            prop_assert_eq!(is_same(&one, &other), same, "{} {}", one, other);
        }

        #[test]
        fn strings_match_their_base64_alone(text in ".{0,12}", other in ".{0,12}") {
            let argument = Value::from(text.as_str()).to_string();
            let encoded = |text: &str| format!("=?base64?{}?=", STANDARD.encode(text));
            prop_assert!(is_same(&argument, &encoded(&text)));
            prop_assert_eq!(is_same(&argument, &encoded(&other)), text == other);
        }

        #[test]
        fn plain_strings_match_themselves_alone(text in "[ -~]{0,12}", other in "[ -~]{0,12}") {
            let argument = Value::from(text.as_str()).to_string();
            prop_assume!(!other.starts_with("=?base64?"));
            prop_assert_eq!(is_same(&argument, &other), text == other);
        }

        #[test]
        fn any_header_is_judged_without_a_panic(header: Vec<u8>, argument in prop_oneof!["[0-9eE.+-]{0,9}".prop_map(|text| text), Just(String::from("\"x\""))]) {
            if serde_json::from_str::<Value>(&argument).is_ok() {
                let arguments = format!(r#"{{"v":{argument}}}"#);
                let _ = outcome(&arguments, &[&header]);
            }
        }
    }
}
