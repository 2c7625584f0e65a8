//! Describes the expectation of each keyword, in words that continue "must be".

use crate::hint::{alternatives, excluded};
use crate::violation_collector::cut;
use crate::wording::{text, type_names};
use serde_json::Value;

/// The most values of an `enum` that are named.
const VALUES_NAMED: usize = 10;

/// The most characters of a value or a pattern that are quoted.
const MAX_QUOTED_CHARS: usize = 256;

/// Describes the expectation of `keyword: rule`.
pub(crate) fn expected(keyword: &str, rule: &Value) -> String {
    match keyword {
        "type" => one_of_types(rule),
        "maximum" => format!("at most {rule}"),
        "minimum" => format!("at least {rule}"),
        "exclusiveMaximum" => format!("less than {rule}"),
        "exclusiveMinimum" => format!("greater than {rule}"),
        "multipleOf" => format!("a multiple of {rule}"),
        "maxLength" => format!("at most {} long", counted(rule, "character")),
        "minLength" => format!("at least {} long", counted(rule, "character")),
        "pattern" => format!("text that matches {}", cut(text(rule), MAX_QUOTED_CHARS)),
        "format" => formatted(text(rule)),
        "const" => quoted(rule),
        "enum" => one_of_values(rule),
        "not" => not(rule),
        "anyOf" => alternative("at least one", rule),
        "oneOf" => alternative("exactly one", rule),
        "maxItems" => format!("an array of at most {}", counted(rule, "item")),
        "minItems" => format!("an array of at least {}", counted(rule, "item")),
        "uniqueItems" => String::from("an array in which no item comes twice"),
        "maxProperties" => format!("an object with at most {}", counted(rule, "member")),
        "minProperties" => format!("an object with at least {}", counted(rule, "member")),
        "additionalProperties" => String::from("absent"),
        _ => String::from("what its schema allows"),
    }
}

fn counted(number: &Value, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

fn quoted(value: &Value) -> String {
    cut(&value.to_string(), MAX_QUOTED_CHARS)
}

fn one_of_types(rule: &Value) -> String {
    let names = type_names(rule).into_iter().map(|name| match name {
        "null" => String::from("null"),
        "array" | "integer" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    });
    names.collect::<Vec<_>>().join(" or ")
}

fn one_of_values(rule: &Value) -> String {
    let values = rule.as_array().map(Vec::as_slice).unwrap_or_default();
    let named: Vec<_> = values.iter().take(VALUES_NAMED).map(quoted).collect();
    let more = match values.len().saturating_sub(VALUES_NAMED) {
        0 => String::new(),
        more => format!(" or {more} more"),
    };
    match named.as_slice() {
        [only] => only.clone(),
        _ => format!("one of {}{more}", named.join(", ")),
    }
}

fn formatted(format: &str) -> String {
    let words = match format {
        "date-time" => "a date and time like 2025-10-12T15:49:21Z",
        "date" => "a date like 2025-10-12",
        "time" => "a time like 15:49:21Z",
        "email" => "an email address",
        "uri" => "a URI",
        "uuid" => "a UUID",
        other => return format!("text in the format {}", cut(other, MAX_QUOTED_CHARS)),
    };
    String::from(words)
}

fn not(rule: &Value) -> String {
    match excluded(rule).as_deref() {
        Some([name]) => format!("an object without `{name}`"),
        Some([one, other]) => format!("an object with at most one of `{one}` and `{other}`"),
        _ => String::from("other than what its schema excludes"),
    }
}

fn alternative(how_many: &str, rule: &Value) -> String {
    match alternatives(rule) {
        Some(names) => format!("an object with {how_many} of {}", names.join(", ")),
        None => format!("valid in {how_many} of the ways that its schema allows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_keyword_has_its_expectation() {
        for (keyword, rule, words) in [
            ("type", json!("integer"), "an integer"),
            ("type", json!(["string", "null"]), "a string or null"),
            ("maxLength", json!(256), "at most 256 characters long"),
            ("minLength", json!(1), "at least 1 character long"),
            ("minItems", json!(1), "an array of at least 1 item"),
            ("maxItems", json!(20), "an array of at most 20 items"),
            (
                "minProperties",
                json!(3),
                "an object with at least 3 members",
            ),
            ("minimum", json!(1), "at least 1"),
            ("exclusiveMinimum", json!(0), "greater than 0"),
            ("exclusiveMaximum", json!(0.5), "less than 0.5"),
            ("multipleOf", json!(5), "a multiple of 5"),
            (
                "pattern",
                json!("^[a-f0-9]{7,40}$"),
                "text that matches ^[a-f0-9]{7,40}$",
            ),
            ("format", json!("email"), "an email address"),
            ("format", json!("ipv4"), "text in the format ipv4"),
            ("const", json!({"a": 1}), r#"{"a":1}"#),
            (
                "enum",
                json!(["open", "closed", "all"]),
                r#"one of "open", "closed", "all""#,
            ),
            ("enum", json!(["open"]), r#""open""#),
            (
                "enum",
                json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, null]),
                "one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 or 2 more",
            ),
            (
                "not",
                json!({"type": "string"}),
                "other than what its schema excludes",
            ),
            (
                "oneOf",
                json!([{}]),
                "valid in exactly one of the ways that its schema allows",
            ),
        ] {
            assert_eq!(expected(keyword, &rule), words);
        }
    }
}
