//! The JSON Schema of a plan, as tools publish it: no references, so that it can stand anywhere
//! inside another schema.

use super::bounds::{
    ARG_BYTES_MAX, ARGS_MAX, COMMANDS_MAX, ENV_MAX, EXCEPTIONS_MAX, GLOB_BYTES_MAX, GLOBS_MAX,
    OBJECTIVE_BYTES_MAX, PHASE_ID_MAX, PHASES_MAX, PROFILES_MAX, REASON_BYTES_MAX, RULE_BYTES_MAX,
    TITLE_BYTES_MAX, WRITABLE_MAX,
};
use super::lint::PROFILES;
use super::model::Operation;
use serde_json::{Value, json};

/// The schema of the object that [`Plan::from_value`](super::Plan::from_value) reads.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["title", "objective", "phase"],
        "additionalProperties": false,
        "properties": {
            "title": text(TITLE_BYTES_MAX),
            "objective": text(OBJECTIVE_BYTES_MAX),
            "phase": {
                "type": "array",
                "minItems": 1,
                "maxItems": PHASES_MAX,
                "items": phase(),
            },
        },
    })
}

fn phase() -> Value {
    let mut id = text(PHASE_ID_MAX);
    id["pattern"] = json!("^[A-Z][A-Z0-9_]*$");
    let operations = Operation::ALL.map(Operation::name);
    json!({
        "type": "object",
        "required": ["id", "allow", "operations"],
        "additionalProperties": false,
        "properties": {
            "id": id,
            "allow": said(
                list(text(GLOB_BYTES_MAX), GLOBS_MAX),
                "Globs relative to the root; * stays within a name, ** crosses directories.",
            ),
            "operations": {
                "type": "array",
                "uniqueItems": true,
                "items": { "type": "string", "enum": operations },
            },
            "verify": said(
                list(list(argument(), ARGS_MAX), COMMANDS_MAX),
                "Commands that prove the work, each as its arguments; no shell.",
            ),
            "preflight": said(
                json!({ "type": "string", "enum": ["on_request", "each_write"] }),
                "When they run; on_request is the default.",
            ),
            "writable": said(
                list(text(GLOB_BYTES_MAX), WRITABLE_MAX),
                "Directories that the commands may write.",
            ),
            "network": { "type": "boolean" },
            "env": said(
                list(argument(), ENV_MAX),
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
            "profiles": list(json!({ "type": "string", "enum": PROFILES }), PROFILES_MAX),
            "exceptions": list(json!({
                "type": "object",
                "required": ["rule", "path", "reason"],
                "additionalProperties": false,
                "properties": {
                    "rule": text(RULE_BYTES_MAX),
                    "path": text(GLOB_BYTES_MAX),
                    "reason": text(REASON_BYTES_MAX),
                },
            }), EXCEPTIONS_MAX),
        },
    })
}

fn text(max: usize) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max })
}

fn argument() -> Value {
    json!({ "type": "string", "maxLength": ARG_BYTES_MAX })
}

fn list(items: Value, max: usize) -> Value {
    json!({ "type": "array", "maxItems": max, "items": items })
}

fn said(mut schema: Value, description: &str) -> Value {
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
    fn it_is_small() {
        let bytes = schema().to_string().len();
        assert!(bytes < 2100, "{bytes}");
    }

    #[test]
    fn it_says_what_is_wrong() {
        let schema = Schema::new(schema()).unwrap();
        let phase = json!({"id": "a", "allow": ["x"], "operations": ["move"], "alow": 1});
        let bad = json!({"title": "", "phase": [phase]});
        let found = schema.check(&bad).unwrap_err();
        let said: Vec<_> = found
            .shown()
            .iter()
            .map(|v| v.message.to_string())
            .collect();
        assert_eq!(said.len(), 5, "{said:?}");
    }

    proptest! {
        #[test]
        fn what_it_lets_through_is_a_plan(plan in crate::plan::text::tests::plan()) {
            let value = serde_json::to_value(&plan).unwrap();
            static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::new(schema()).unwrap());
            if SCHEMA.check(&value).is_ok() {
                prop_assert_eq!(Plan::from_value(value).unwrap(), plan);
            }
        }
    }
}
