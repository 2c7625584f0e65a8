//! The JSON Schema of a plan, as tools publish it: without references, so that it can be part of
//! another schema.

use super::bounds::{
    MAX_ARG_BYTES, MAX_ARGS, MAX_COMMANDS, MAX_ENV, MAX_EXCEPTIONS, MAX_GLOB_BYTES, MAX_GLOBS,
    MAX_GRANTED_COMMANDS, MAX_OBJECTIVE_BYTES, MAX_PHASE_ID, MAX_PHASES, MAX_PROFILES,
    MAX_REASON_BYTES, MAX_RULE_BYTES, MAX_TITLE_BYTES, MAX_WRITABLE,
};
use super::lint::PROFILES;
use super::model::Operation;
use candor_sandbox::MAX_HOSTS;
use serde_json::{Value, json};

/// Returns the schema of the object that [`Plan::from_value`](super::Plan::from_value) reads.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["title", "objective", "phase"],
        "additionalProperties": false,
        "properties": {
            "title": text(MAX_TITLE_BYTES),
            "objective": text(MAX_OBJECTIVE_BYTES),
            "phase": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_PHASES,
                "items": phase(),
            },
        },
    })
}

fn phase() -> Value {
    let mut id = text(MAX_PHASE_ID);
    id["pattern"] = json!("^[A-Z][A-Z0-9_]*$");
    let operations = Operation::ALL.map(Operation::name);
    json!({
        "type": "object",
        "required": ["id", "allow", "operations"],
        "additionalProperties": false,
        "properties": {
            "id": id,
            "allow": with_description(
                list(text(MAX_GLOB_BYTES), MAX_GLOBS),
                "Globs relative to the root; * stays within a name, ** crosses directories.",
            ),
            "operations": {
                "type": "array",
                "uniqueItems": true,
                "items": { "type": "string", "enum": operations },
            },
            "verify": with_description(
                list(list(argument(), MAX_ARGS), MAX_COMMANDS),
                "Commands that prove the work, each as its arguments; no shell.",
            ),
            "preflight": with_description(
                json!({ "type": "string", "enum": ["on_request", "each_write"] }),
                "When they run; on_request is the default.",
            ),
            "commands": with_description(
                list(list(argument(), MAX_ARGS), MAX_GRANTED_COMMANDS),
                "What run_command may run: arguments, * for one, ** at the end for any number.",
            ),
            "writable": with_description(
                list(text(MAX_GLOB_BYTES), MAX_WRITABLE),
                "Directories and files that the commands may write.",
            ),
            "network": with_description(
                json!({
                    "type": ["boolean", "array"],
                    "maxItems": MAX_HOSTS,
                    "items": text(MAX_GLOB_BYTES),
                }),
                "Every public host, or a list such as [\"api.example.org\"].",
            ),
            "env": with_description(
                list(argument(), MAX_ENV),
                "Variables of the commands: NAME passes on the server's, NAME=value sets one.",
            ),
            "policy": policy(),
        },
    })
}

fn policy() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "profiles": list(json!({ "type": "string", "enum": PROFILES }), MAX_PROFILES),
            "exceptions": list(json!({
                "type": "object",
                "required": ["rule", "path", "reason"],
                "additionalProperties": false,
                "properties": {
                    "rule": text(MAX_RULE_BYTES),
                    "path": text(MAX_GLOB_BYTES),
                    "reason": text(MAX_REASON_BYTES),
                },
            }), MAX_EXCEPTIONS),
        },
    })
}

fn text(max: usize) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max })
}

fn argument() -> Value {
    json!({ "type": "string", "maxLength": MAX_ARG_BYTES })
}

fn list(items: Value, max: usize) -> Value {
    json!({ "type": "array", "maxItems": max, "items": items })
}

fn with_description(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use candor_schema::Schema;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    #[test]
    fn schema_is_small() {
        let bytes = schema().to_string().len();
        assert!(bytes < 2600, "{bytes}");
    }

    #[test]
    fn every_violation_is_reported() {
        let schema = Schema::new(schema()).unwrap();
        let phase = json!({"id": "a", "allow": ["x"], "operations": ["move"], "alow": 1});
        let bad = json!({"title": "", "phase": [phase]});
        let violations = schema.check(&bad).unwrap_err();
        let messages: Vec<_> = violations
            .shown()
            .iter()
            .map(|v| v.message.to_string())
            .collect();
        assert_eq!(messages.len(), 5, "{messages:?}");
    }

    proptest! {
        #[test]
        fn accepted_value_is_a_plan(plan in crate::plan::text::tests::plan()) {
            let value = serde_json::to_value(&plan).unwrap();
            static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::new(schema()).unwrap());
            if SCHEMA.check(&value).is_ok() {
                prop_assert_eq!(Plan::from_value(&value).unwrap(), plan);
            }
        }
    }
}
