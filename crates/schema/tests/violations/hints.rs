//! Hints: similar names, similar values, and the members of alternatives.

use crate::describe_violations;
use serde_json::{Value, json};

fn hints(schema: Value, value: Value) -> Vec<Option<String>> {
    let violations = describe_violations(schema, value);
    let hint = |entry: &Value| {
        entry
            .get("hint")
            .map(|hint| hint.as_str().unwrap().to_owned())
    };
    violations.as_array().unwrap().iter().map(hint).collect()
}

fn tool() -> Value {
    json!({
        "type": "object",
        "properties": {
            "repo": {"type": "string"},
            "path": {"type": "string"},
            "prNumber": {"type": "integer"},
            "state": {"enum": ["open", "closed", "all"]},
        },
        "required": ["repo"],
        "additionalProperties": false,
    })
}

#[test]
fn misspelt_member_is_named_as_missing_and_as_unknown() {
    assert_eq!(
        hints(tool(), json!({"repositry": "a/b", "colour": 1})),
        [
            Some("'repositry' was given: did you mean 'repo'?".to_owned()),
            Some("did you mean 'repo' instead of 'repositry'?".to_owned()),
            None,
        ]
    );
}

#[test]
fn present_member_is_not_proposed() {
    assert_eq!(hints(tool(), json!({"repo": "a/b", "repos": 1})), [None]);
}

#[test]
fn known_member_is_not_taken_for_a_missing_one() {
    let schema = json!({"properties": {"path": {}, "paths": {}}, "required": ["path"]});
    assert_eq!(hints(schema, json!({"paths": []})), [None]);
}

#[test]
fn underscores_and_case_are_ignored_in_hints() {
    assert_eq!(
        hints(tool(), json!({"repo": "a/b", "pr_number": 7, "Path": ""})),
        [
            Some("did you mean 'prNumber' instead of 'pr_number'?".to_owned()),
            Some("did you mean 'path' instead of 'Path'?".to_owned()),
        ]
    );
}

#[test]
fn similar_value_is_proposed() {
    let with = |state: Value| hints(tool(), json!({"repo": "a/b", "state": state}));
    assert_eq!(
        with(json!("OPEN")),
        [Some("did you mean 'open'?".to_owned())]
    );
    assert_eq!(with(json!("merged")), [None]);
    assert_eq!(with(json!(1)), [None]);
}

#[test]
fn all_alternatives_are_named() {
    let one_each =
        json!([{"required": ["content"]}, {"required": ["edits"]}, {"required": ["patch"]}]);
    assert_eq!(
        describe_violations(json!({"anyOf": one_each}), json!({})),
        json!([{
            "message": "must match a schema in anyOf",
            "path": "root",
            "keyword": "anyOf",
            "params": { "missingProperties": ["content", "edits", "patch"] },
            "value": {},
            "expected": "an object with at least one of `content`, `edits`, `patch`",
            "hint": "give at least one of `content`, `edits`, `patch`",
        }])
    );
}

#[test]
fn control_characters_of_names_are_escaped_in_hints() {
    assert_eq!(
        hints(tool(), json!({"repo": "a/b", "pa\u{202e}th\n": 1})),
        [Some(
            "did you mean 'path' instead of 'pa\\u{202e}th\\u{a}'?".to_owned()
        )]
    );
}

#[test]
fn additional_pattern_is_explained_by_its_description() {
    let schema = json!({
        "type": "string",
        "pattern": "^[a-z.]+$",
        "description": "a name",
        "allOf": [{ "pattern": "^[^.]", "description": "no . first" }, { "pattern": "^.{2}" }]
    });
    let hints = |text: &str| hints(schema.clone(), json!(text));
    let explained = || Some(String::from("no . first"));
    assert_eq!(hints(".a"), [explained()]);
    assert_eq!(hints("."), [explained(), None]);
    assert_eq!(hints("AA"), [None]);
}
