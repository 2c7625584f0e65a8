//! The frozen words of each keyword: its message, and its parameters by the names AJV gives them.

use crate::expected::expected;
use crate::subschema::RuleText;
use serde_json::{Value, json};

/// The keyword of violations that only the library can find.
pub(crate) const SCHEMA: &str = "schema";

/// Returns the texts for a broken `keyword: rule`.
pub(crate) fn rule_text(keyword: &'static str, rule: &Value) -> RuleText {
    RuleText {
        keyword,
        message: message(keyword, rule).into(),
        params: params(keyword, rule).into(),
        expected: expected(keyword, rule).into(),
    }
}

/// Returns the texts for a required member that is missing.
pub(crate) fn missing(name: &str) -> RuleText {
    RuleText {
        keyword: "required",
        message: format!("must have required property '{name}'").into(),
        params: json!({ "missingProperty": name }).into(),
        expected: "present".into(),
    }
}

/// Returns the texts for a value that does not match, if no keyword explains it.
pub(crate) fn unmatched(expected: String) -> RuleText {
    RuleText {
        keyword: SCHEMA,
        message: "must match the schema".into(),
        params: json!({}).into(),
        expected: expected.into(),
    }
}

fn message(keyword: &str, rule: &Value) -> String {
    match keyword {
        "type" => format!("must be {}", type_names(rule).join(",")),
        "maximum" => format!("must be <= {rule}"),
        "minimum" => format!("must be >= {rule}"),
        "exclusiveMaximum" => format!("must be < {rule}"),
        "exclusiveMinimum" => format!("must be > {rule}"),
        "multipleOf" => format!("must be multiple of {rule}"),
        "maxLength" => format!("must NOT be longer than {rule} characters"),
        "minLength" => format!("must NOT have fewer than {rule} characters"),
        "pattern" => format!("must match pattern \"{}\"", text(rule)),
        "format" => format!("must match format \"{}\"", text(rule)),
        "const" => String::from("must be equal to constant"),
        "enum" => String::from("must be equal to one of the allowed values"),
        "not" => String::from("must NOT be valid"),
        "anyOf" => String::from("must match a schema in anyOf"),
        "oneOf" => String::from("must match exactly one schema in oneOf"),
        "maxItems" => format!("must NOT have more than {rule} items"),
        "minItems" => format!("must NOT have fewer than {rule} items"),
        "uniqueItems" => String::from("must NOT have duplicate items"),
        "maxProperties" => format!("must NOT have more than {rule} properties"),
        "minProperties" => format!("must NOT have fewer than {rule} properties"),
        "additionalProperties" => String::from("must NOT have additional properties"),
        _ => String::from("must match the schema"),
    }
}

fn params(keyword: &str, rule: &Value) -> Value {
    match keyword {
        "type" => json!({ "type": rule }),
        "maximum" => json!({"comparison": "<=", "limit": rule}),
        "minimum" => json!({"comparison": ">=", "limit": rule}),
        "exclusiveMaximum" => json!({"comparison": "<", "limit": rule}),
        "exclusiveMinimum" => json!({"comparison": ">", "limit": rule}),
        "multipleOf" => json!({ "multipleOf": rule }),
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            json!({ "limit": rule })
        }
        "pattern" => json!({ "pattern": rule }),
        "format" => json!({ "format": rule }),
        "const" => json!({ "allowedValue": rule }),
        "enum" => json!({ "allowedValues": rule }),
        _ => json!({}),
    }
}

/// Returns the names in `type`, which has one or several.
pub(crate) fn type_names(rule: &Value) -> Vec<&str> {
    match rule {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

/// Returns the value of a keyword whose value is text.
pub(crate) fn text(rule: &Value) -> &str {
    rule.as_str().unwrap_or_default()
}
