//! The schemas of arguments that tools share. The published schema is the enforced one.

use crate::plan;
use crate::role::Role;
use serde_json::{Map, Value, json};

/// The pattern of a file's hash.
pub(crate) const HASH: &str = "^[0-9a-f]{64}$";

/// The pattern of a plan's hash, or of how it begins.
pub(crate) const PLAN: &str = "^[0-9a-f]{8,64}$";

/// The pattern of a phase's name.
pub(crate) const PHASE: &str = "^[A-Z][A-Z0-9_]*$";

/// The pattern of a blank text.
const BLANK: &str = r"^\s*$";

/// The maximum number of changes in one call.
pub const MAX_CHANGES: usize = 100;

/// Returns the schema of a tool's arguments: these members, of which those named are required.
pub(crate) fn arguments(required: &[&str], members: Value) -> Value {
    let mut properties = match members {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let roles = Role::ALL.map(Role::wire_name).into_iter();
    let roles: Vec<_> = roles.chain(Role::ALL.map(Role::name)).collect();
    let role =
        json!({ "type": "string", "enum": roles, "description": "Your role, to be checked" });
    properties.insert(String::from("role"), role);
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Adds that one of these members must be there.
pub(crate) fn one_of(mut schema: Value, names: &[&str]) -> Value {
    let branches: Vec<_> = names
        .iter()
        .map(|name| json!({ "required": [name] }))
        .collect();
    schema["anyOf"] = json!(branches);
    schema
}

/// Adds the plan and the phase by which something is changed.
pub(crate) fn planned(mut members: Value) -> Value {
    members["plan_hash"] =
        plan_hash("The approved plan, or 8 digits or more of it; the only one if absent");
    members["phase_id"] = json!({
        "type": "string",
        "pattern": PHASE,
        "maxLength": plan::MAX_PHASE_ID,
        "description": "The plan's phase; the only one if absent"
    });
    members
}

pub(crate) fn plan_hash(description: &str) -> Value {
    json!({ "type": "string", "pattern": PLAN, "description": description })
}

pub(crate) fn file_hash(description: &str) -> Value {
    json!({ "type": "string", "pattern": HASH, "description": description })
}

pub(crate) fn path(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "description": description })
}

/// Returns the schema of a text that is not blank.
pub(crate) fn words(max: usize, description: &str) -> Value {
    json!({
        "type": "string",
        "maxLength": max,
        "not": { "pattern": BLANK },
        "description": description
    })
}

pub(crate) fn number(min: i64, max: i64, description: &str) -> Value {
    json!({ "type": "integer", "minimum": min, "maximum": max, "description": description })
}

pub(crate) fn encoding() -> Value {
    json!({ "type": "string", "enum": ["utf8", "base64"] })
}

/// Returns the schemas of the members that can give the new content of a file.
pub(crate) fn content() -> Value {
    json!({
        "path": path("The file, from the workspace root; directories of a new file are made"),
        "content": { "type": "string", "description": "The whole new content" },
        "edits": {
            "type": "array",
            "maxItems": crate::edit::MAX_EDITS,
            "description": "Replacements, one after the other; none only with executable",
            "items": {
                "type": "object",
                "properties": {
                    "old": { "type": "string", "description": "Exact text, once in the file unless all" },
                    "new": { "type": "string" },
                    "all": { "type": "boolean" }
                },
                "required": ["old", "new"],
                "additionalProperties": false
            }
        },
        "patch": { "type": "string", "description": "A unified diff of this one file" },
        "previous_hash": file_hash("Change the file only if it has this hash"),
        "create_only": { "type": "boolean", "description": "Fail if the file exists" },
        "executable": { "type": "boolean", "description": "Whether it can be executed; as before if absent" },
        "encoding": encoding()
    })
}
