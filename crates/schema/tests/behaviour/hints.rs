//! Hints: the near name, the near value, and which of two to give.

use crate::said;
use serde_json::{Value, json};

fn hints(schema: Value, value: Value) -> Vec<Option<String>> {
    let said = said(schema, value);
    let hint = |entry: &Value| {
        entry
            .get("hint")
            .map(|hint| hint.as_str().unwrap().to_owned())
    };
    said.as_array().unwrap().iter().map(hint).collect()
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
fn a_misspelt_member_is_named_from_both_sides() {
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
fn a_member_that_was_given_is_not_proposed() {
    assert_eq!(hints(tool(), json!({"repo": "a/b", "repos": 1})), [None]);
}

#[test]
fn a_known_member_is_not_taken_for_the_missing_one() {
    let schema = json!({"properties": {"path": {}, "paths": {}}, "required": ["path"]});
    assert_eq!(hints(schema, json!({"paths": []})), [None]);
}

#[test]
fn underscores_and_case_are_seen_through() {
    assert_eq!(
        hints(tool(), json!({"repo": "a/b", "pr_number": 7, "Path": ""})),
        [
            Some("did you mean 'prNumber' instead of 'pr_number'?".to_owned()),
            Some("did you mean 'path' instead of 'Path'?".to_owned()),
        ]
    );
}

#[test]
fn a_near_value_is_named() {
    let with = |state: Value| hints(tool(), json!({"repo": "a/b", "state": state}));
    assert_eq!(
        with(json!("OPEN")),
        [Some("did you mean 'open'?".to_owned())]
    );
    assert_eq!(with(json!("merged")), [None]);
    assert_eq!(with(json!(1)), [None]);
}

#[test]
fn of_alternatives_all_are_named() {
    let one_each =
        json!([{"required": ["content"]}, {"required": ["edits"]}, {"required": ["patch"]}]);
    assert_eq!(
        said(json!({"anyOf": one_each}), json!({})),
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
fn names_from_the_input_cannot_hide_anything() {
    assert_eq!(
        hints(tool(), json!({"repo": "a/b", "pa\u{202e}th\n": 1})),
        [Some(
            "did you mean 'path' instead of 'pa\\u{202e}th\\u{a}'?".to_owned()
        )]
    );
}

#[test]
fn a_further_pattern_is_explained_by_its_description() {
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
