//! The pieces that the schemas of several dialects share.

use crate::{Class, CodeRow, CodeValue, Effect, Retry, VIOLATIONS_MAX};
use serde_json::{Map, Value, json};

/// The revision of JSON Schema that all schemas are written in.
pub(super) const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A schema as a document of its own: the file's name, and the schema with its address and title.
pub(super) fn document(name: &str, title: &str, schema: Value) -> (String, Value) {
    let file = format!("{name}.schema.json");
    let mut whole = Map::new();
    whole.insert("$schema".into(), DRAFT.into());
    whole.insert(
        "$id".into(),
        format!("https://candor.dev/schemas/{file}").into(),
    );
    whole.insert("title".into(), title.into());
    if let Value::Object(members) = schema {
        whole.extend(members);
    }
    (file, Value::Object(whole))
}

/// An object with these members and no other.
pub(super) fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}

/// A text that says something.
pub(super) fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// A text, or null.
pub(super) fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

/// UTC with milliseconds and `Z`.
pub(super) fn timestamp() -> Value {
    json!({
        "type": "string",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
    })
}

/// A number of things, one at least.
pub(super) fn count() -> Value {
    json!({ "type": "integer", "minimum": 1 })
}

/// A wait in milliseconds, or null.
pub(super) fn wait() -> Value {
    json!({ "type": ["integer", "null"], "minimum": 0 })
}

/// `root`, or a JSON pointer.
pub(super) fn pointer() -> Value {
    json!({ "type": "string", "pattern": "^(root|(/([^/~]|~[01])*)+)$" })
}

/// A list of at most as many violations as are shown.
pub(super) fn violations(entry: Value) -> Value {
    json!({ "type": "array", "maxItems": VIOLATIONS_MAX, "items": entry })
}

/// One of the codes of these rows.
pub(super) fn codes<'a>(rows: impl IntoIterator<Item = &'a CodeRow>) -> Value {
    let codes: Vec<CodeValue> = rows.into_iter().map(|row| row.code).collect();
    json!({ "enum": codes })
}

/// Who has to act.
pub(super) fn class() -> Value {
    json!({ "enum": Class::ALL })
}

/// Whether anything happened.
pub(super) fn effect() -> Value {
    json!({ "enum": Effect::ALL })
}

/// The object `fault`: the five answers but the code.
pub(super) fn five() -> Value {
    object(
        &["class", "retry", "retry_after_ms", "effect", "remedy"],
        json!({
            "class": class(),
            "retry": { "enum": Retry::ALL },
            "retry_after_ms": wait(),
            "effect": effect(),
            "remedy": text(),
        }),
    )
}

/// A JSON-RPC error object.
pub(super) fn error(code: Value, data: Value) -> Value {
    object(
        &["code", "message", "data"],
        json!({ "code": code, "message": text(), "data": data }),
    )
}

/// A failing result with one text block: `block` describes its text, `properties` the members that
/// this dialect adds, of which it always has the `required` ones.
pub(super) fn failing_result(block: Value, required: &[&str], properties: Value) -> Value {
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

/// The text of a JSON value that the given schema describes.
pub(super) fn json_text(schema: Value) -> Value {
    json!({
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": schema,
    })
}

/// One line for people and models, a line break, and the text of an object.
pub(super) fn sentence_and_object() -> Value {
    json!({ "type": "string", "pattern": r"^[^\n]+\n\{[^\n]*\}$" })
}

/// `_meta`: the receipt where there is one, the `required` members, and whatever else.
pub(super) fn meta(required: &[(&str, Value)]) -> Value {
    let names: Vec<_> = required.iter().map(|(name, _)| *name).collect();
    let receipt = object(
        &["seq", "hash"],
        json!({ "seq": { "type": "integer", "minimum": 0 }, "hash": text() }),
    );
    let all = required.iter().cloned();
    let properties: Map<_, _> = all
        .chain([("dev.candor/receipt", receipt)])
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({ "type": "object", "required": names, "properties": properties })
}
