//! The parts that schemas of failing answers are made of.

use crate::{Class, CodeRow, CodeValue, Effect, MAX_VIOLATIONS, Retry};
use serde_json::{Map, Value, json};

/// The revision of JSON Schema that all schemas use.
pub const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the schema of an object with these members and no other.
pub fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns the schema of a text that is not empty.
pub fn non_empty_text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// Returns the schema of a text, or null.
pub fn nullable_text() -> Value {
    json!({ "type": ["string", "null"] })
}

/// Returns the schema of a time: UTC with milliseconds and `Z`.
pub fn timestamp() -> Value {
    json!({
        "type": "string",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
    })
}

/// Returns the schema of a count of at least one.
pub fn positive_integer() -> Value {
    json!({ "type": "integer", "minimum": 1 })
}

/// Returns the schema of a wait in milliseconds, or null.
pub fn nullable_wait() -> Value {
    json!({ "type": ["integer", "null"], "minimum": 0 })
}

/// Returns the schema of `root`, or a JSON pointer.
pub fn json_pointer() -> Value {
    json!({ "type": "string", "pattern": "^(root|(/([^/~]|~[01])*)+)$" })
}

/// Returns the schema of a list of violations, with at most as many entries as an answer contains.
pub fn violation_list(entry: Value) -> Value {
    json!({ "type": "array", "maxItems": MAX_VIOLATIONS, "items": entry })
}

/// Returns the schema of one of the codes of these rows.
pub fn code_enum<'a>(rows: impl IntoIterator<Item = &'a CodeRow>) -> Value {
    let codes: Vec<CodeValue> = rows.into_iter().map(|row| row.code).collect();
    json!({ "enum": codes })
}

pub fn class_enum() -> Value {
    json!({ "enum": Class::ALL })
}

pub fn effect_enum() -> Value {
    json!({ "enum": Effect::ALL })
}

/// Returns the schema of the object `fault`: the five answers without the code.
pub fn five_answers() -> Value {
    object(
        &["class", "retry", "retry_after_ms", "effect", "remedy"],
        json!({
            "class": class_enum(),
            "retry": { "enum": Retry::ALL },
            "retry_after_ms": nullable_wait(),
            "effect": effect_enum(),
            "remedy": non_empty_text(),
        }),
    )
}

/// Returns the schema of a JSON-RPC error object.
pub fn error_object(code: Value, data: Value) -> Value {
    object(
        &["code", "message", "data"],
        json!({ "code": code, "message": non_empty_text(), "data": data }),
    )
}

/// Returns the schema of a failing result with one text block: `block` describes its text,
/// `properties` the members that this dialect adds; the `required` ones are always present.
pub fn failing_result(block: Value, required: &[&str], properties: Value) -> Value {
    let block = object(
        &["type", "text"],
        json!({ "type": { "const": "text" }, "text": block }),
    );
    let own = json!({
        "content": { "type": "array", "minItems": 1, "maxItems": 1, "items": block },
        "isError": { "const": true },
        // The newer revisions of the protocol demand it in every result.
        "resultType": { "const": "complete" },
    });
    let all = [own, properties].into_iter().filter_map(|part| match part {
        Value::Object(members) => Some(members),
        _ => None,
    });
    object(
        &[&["content", "isError"], required].concat(),
        Value::Object(all.flatten().collect()),
    )
}

/// Returns the schema of a text that contains JSON of the given schema.
pub fn json_in_text(schema: Value) -> Value {
    json!({
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": schema,
    })
}

/// Returns the schema of one line for people and models, a line break, and the text of an object.
pub fn sentence_and_object() -> Value {
    json!({ "type": "string", "pattern": r"^[^\n]+\n\{[^\n]*\}$" })
}

/// Returns the schema of `_meta`: the `required` members, the receipt if there is one, and any
/// other member.
pub fn meta(required: &[(&str, Value)]) -> Value {
    let names: Vec<_> = required.iter().map(|(name, _)| *name).collect();
    let receipt = object(
        &["seq", "hash"],
        json!({ "seq": { "type": "integer", "minimum": 0 }, "hash": non_empty_text() }),
    );
    let all = required.iter().cloned();
    let properties: Map<_, _> = all
        .chain([("dev.candor/receipt", receipt)])
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({ "type": "object", "required": names, "properties": properties })
}
