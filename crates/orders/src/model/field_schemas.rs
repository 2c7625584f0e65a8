//! JSON Schemas of single fields: texts, amounts, and the objects around them.

use serde_json::{Map, Value, json};

/// The longest name, SKU or address line, in characters.
pub const MAX_TEXT: usize = 255;

/// The longest notes, in characters.
pub const MAX_NOTES: usize = 5_000;

/// Text of one line: no control characters, line separators or direction marks.
const ONE_LINE: &str =
    r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]*$";

/// As [`ONE_LINE`], but line breaks and tabs are allowed.
const SEVERAL_LINES: &str = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]*$";

/// An amount. The number of decimal places depends on the currency and is checked later.
const AMOUNT: &str = r"^[0-9]{1,15}(\.[0-9]{1,4})?$";

// Published beside each pattern, so that a reader does not have to decode it.
const ONE_LINE_DESCRIPTION: &str = "one line, no control or direction characters";
const SEVERAL_LINES_DESCRIPTION: &str = "no control or direction characters";

/// Returns the schema of an object that has no other members than these.
pub(crate) fn closed_object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

/// Adds the definitions that the schema refers to. A definition may refer to a later one.
///
/// A definition that is written out at every use would make up half of the tool list.
pub(crate) fn with_definitions<const N: usize>(
    mut schema: Value,
    definitions: [(&'static str, Value); N],
) -> Value {
    let mut used = Map::new();
    for (name, definition) in definitions {
        let pointer = Value::from(definition_pointer(name)).to_string();
        let refers = |schema: &Value| schema.to_string().contains(&pointer);
        if refers(&schema) || used.values().any(refers) {
            used.insert(name.to_owned(), definition);
        }
    }
    if !used.is_empty() {
        schema["$defs"] = Value::Object(used);
    }
    schema
}

pub(crate) fn definition_pointer(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// Returns a reference to a definition.
pub(crate) fn reference(name: &str, description: &str) -> Value {
    with_description(description, json!({ "$ref": definition_pointer(name) }))
}

/// The definition that [`text`] refers to.
pub(crate) fn line_definition() -> (&'static str, Value) {
    ("line", line(1, MAX_TEXT))
}

/// Returns the schema of a text of one line.
pub(crate) fn line(min: usize, max: usize) -> Value {
    let mut schema = json!({ "type": "string", "maxLength": max });
    if min > 0 {
        schema["minLength"] = min.into();
    }
    schema["allOf"] = json!([{ "pattern": ONE_LINE, "description": ONE_LINE_DESCRIPTION }]);
    schema
}

pub(crate) fn text(description: &str) -> Value {
    reference("line", description)
}

pub(crate) fn notes() -> Value {
    let pattern = json!([{ "pattern": SEVERAL_LINES, "description": SEVERAL_LINES_DESCRIPTION }]);
    json!({ "type": "string", "maxLength": MAX_NOTES, "allOf": pattern })
}

/// The definition that [`amount`] refers to.
pub(crate) fn amount_definition() -> (&'static str, Value) {
    ("amount", json!({ "type": "string", "pattern": AMOUNT }))
}

pub(crate) fn amount(description: &str) -> Value {
    reference("amount", description)
}

/// Adds the description to the schema, unless it is empty.
pub(crate) fn with_description(description: &str, mut schema: Value) -> Value {
    if !description.is_empty() {
        schema["description"] = description.into();
    }
    schema
}
