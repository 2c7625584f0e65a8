//! The JSON Schema of a line of the audit log.

use crate::audit_line::{MAX_EXACT, NAME_CHARS, VERSION};
use crate::dialect::codes::{INVARIANTS, ROWS};
use crate::dialect::schemas;
use crate::fields::{HASH, PHASE, PLAN};
use crate::role::Role;
use candor_fault::Effect;
use serde_json::{Map, Value, json};

const TIMESTAMP: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$";

/// Returns the schema of lines of version 1 in `audit-log.jsonl` and `refusals.jsonl`, as a complete
/// document. It is frozen: logs contain such lines.
pub fn line_schema() -> Value {
    let id = "https://candor.dev/schemas/workspace-audit-line.schema.json";
    document(id, "Workspace: a line of the audit log", members(1))
}

/// Returns the schema of the lines that a server writes now, which have version 2.
pub fn line_schema_v2() -> Value {
    let id = "https://candor.dev/schemas/workspace-audit-line-2.schema.json";
    document(
        id,
        "Workspace: a line of the audit log, version 2",
        members(VERSION),
    )
}

fn document(id: &str, title: &str, members: Map<String, Value>) -> Value {
    let required: Vec<_> = members.keys().cloned().collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": id,
        "title": title,
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": members,
        "oneOf": [succeeded(), failed(), refused()],
    })
}

/// Returns the schema of every member in a version, sorted as it is in a line.
fn members(version: u64) -> Map<String, Value> {
    let roles = Role::ALL.map(Role::wire_name);
    let codes: Vec<_> = ROWS.iter().map(|row| json!(row.code)).collect();
    let invariants: Vec<_> = INVARIANTS.iter().map(|known| json!(known.name)).collect();
    let mut members = json!({
        "actor": actor(),
        "approval": or_null(approval()),
        "args_hash": or_null(pattern(HASH)),
        "cause": { "type": ["string", "object", "null"] },
        "duration_us": number(0),
        "effect": { "enum": [Effect::None, Effect::Done, Effect::Unknown] },
        "envelope": or_null(envelope()),
        "error_code": or_null(json!({ "enum": codes })),
        "hash": pattern(HASH),
        "invariant_id": or_null(json!({ "enum": invariants })),
        "phase_id": or_null(pattern(PHASE)),
        "plan_hash": or_null(pattern(PLAN)),
        "prev_hash": pattern(HASH),
        "request_id": or_null(name()),
        "result": { "enum": ["ok", "error"] },
        "role": or_null(json!({ "enum": roles })),
        "seq": number(1),
        "session_id": or_null(json!({ "type": "string" })),
        "subject": subject(version),
        "timestamp": pattern(TIMESTAMP),
        "tool_name": or_null(json!({ "type": "string" })),
        "v": { "const": version },
    });
    if version > 1 {
        members["commands"] =
            or_null(json!({ "type": "array", "minItems": 1, "items": command() }));
        members["sandbox"] = or_null(sandbox());
    }
    match members {
        Value::Object(mut members) => {
            members.sort_keys();
            members
        }
        _ => Map::new(),
    }
}

/// Returns the schema of a call that succeeded, or of a line about a recovery after a crash.
fn succeeded() -> Value {
    shape(json!({
        "result": { "const": "ok" },
        "tool_name": { "type": "string" },
        "error_code": { "const": null },
        "invariant_id": { "const": null },
        "envelope": { "const": null },
    }))
}

/// Returns the schema of a call that failed: the envelope is the one that was sent.
fn failed() -> Value {
    shape(json!({
        "result": { "const": "error" },
        "error_code": { "type": "string" },
        "envelope": { "type": "object" },
    }))
}

/// Returns the schema of a request that was not a tool call: the JSON-RPC error is the cause.
fn refused() -> Value {
    shape(json!({
        "result": { "const": "error" },
        "tool_name": { "const": null },
        "error_code": { "const": null },
        "invariant_id": { "const": null },
        "cause": { "type": "object" },
        "envelope": { "const": null },
    }))
}

fn shape(properties: Value) -> Value {
    json!({ "properties": properties })
}

fn actor() -> Value {
    object(json!({
        "candor": { "type": "string" },
        "client": or_null(name()),
        "client_version": or_null(name()),
        "os_user": { "type": "string" },
    }))
}

fn approval() -> Value {
    object(json!({ "approver": { "type": "string" }, "key_id": { "type": "string" } }))
}

/// Returns the schema of a command that a call ran or is about to run.
fn command() -> Value {
    object(json!({
        "argv": { "type": "array", "minItems": 1, "items": { "type": "string" } },
        "exit_code": { "type": ["integer", "null"] },
        "fresh": { "type": "boolean" },
        "signal": { "type": ["integer", "null"] },
        "timed_out": { "type": "boolean" },
    }))
}

/// Returns the schema of what held for the commands of a call.
fn sandbox() -> Value {
    let namespaces = ["user", "mount", "pid", "ipc", "net", "uts"];
    object(json!({
        "landlock": or_null(number(1)),
        "level": { "enum": ["full", "landlock", "none"] },
        "missing": {
            "type": "array",
            "items": object(json!({ "part": { "type": "string" }, "why": { "type": "string" } })),
        },
        "namespaces": { "type": "array", "items": { "enum": namespaces } },
        "network": object(json!({
            "connections": number(0),
            "mode": { "enum": ["off", "proxy", "machine"] },
            "refused": number(0),
        })),
        "seccomp": { "type": "boolean" },
    }))
}

/// Returns the schema of the file that a call was about, or of the files.
fn subject(version: u64) -> Value {
    let mut members = json!({
        "after": or_null(pattern(HASH)),
        "before": or_null(pattern(HASH)),
        "bytes": or_null(number(0)),
        "path": { "type": "string" },
    });
    if version > 1 {
        members["mode"] = json!({ "enum": ["100644", "100755", null] });
    }
    let one = object(members);
    json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 2 }, { "type": "null" }] })
}

/// Returns the schema of the envelope as it was sent, without its stack.
fn envelope() -> Value {
    let mut envelope = schemas::envelope();
    if let Some(members) = envelope["properties"].as_object_mut() {
        members.shift_remove("stack_trace");
    }
    envelope
}

/// Returns the schema of an object with all of these members and no other.
fn object(properties: Value) -> Value {
    let names: Vec<_> = properties
        .as_object()
        .map(|members| members.keys().cloned().collect())
        .unwrap_or_default();
    json!({
        "type": "object",
        "required": names,
        "additionalProperties": false,
        "properties": properties,
    })
}

fn or_null(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

fn name() -> Value {
    json!({ "type": "string", "maxLength": NAME_CHARS })
}

fn number(least: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": MAX_EXACT })
}

#[cfg(test)]
mod tests;
