//! Wrong arguments of every kind for every tool, by the published schemas, and the order of
//! violations.

use crate::workspace::fixture::{EXECUTOR, PLANNER, WorkspaceFixture, plan};
use crate::workspace::listing::listed;
use serde_json::{Map, Value, json};
use std::slice::from_ref;

/// Returns valid arguments of a tool.
fn base(tool: &str, fixture: &WorkspaceFixture) -> Value {
    let hash = "0".repeat(64);
    match tool {
        "apply_changes" => json!({ "changes": [{ "path": "src/b", "content": "x" }] }),
        "begin_session" => json!({ "workspace_root": fixture.root_text() }),
        "delete_file" => json!({ "path": "src/b", "previous_hash": hash }),
        "lint_plan" | "save_plan" => json!({ "plan": plan(json!({ "allow": ["src/**"] })) }),
        "move_file" => json!({ "from": "src/a.txt", "to": "src/b", "previous_hash": hash }),
        "read_file" => json!({ "path": "src/a.txt" }),
        "read_plan" | "wait_for_approval" => json!({ "plan_hash": hash }),
        "run_command" => json!({ "argv": ["true"] }),
        "search_files" => json!({ "pattern": "x" }),
        "write_failure_report" => json!({ "title": "t", "body": "b" }),
        "write_file" => json!({ "path": "src/b", "content": "x" }),
        _ => json!({}),
    }
}

/// A value of a type that the schema does not admit.
fn mistyped(schema: &Value) -> Value {
    match schema["type"].as_str().unwrap() {
        "string" | "array" | "object" => json!(5),
        "integer" => json!("five"),
        "boolean" => json!("true"),
        other => panic!("{other}"),
    }
}

/// A value of the right type in the wrong form, if the schema demands a form.
fn malformed(schema: &Value) -> Option<Value> {
    schema.get("pattern").map(|_| json!("-"))
}

/// Returns a value in the right form that is not allowed, if there is one.
fn misvalued(schema: &Value) -> Option<Value> {
    let below = schema["minimum"].as_i64().map(|least| json!(least - 1));
    let other = schema.get("enum").map(|_| json!("other"));
    let none = schema.get("minItems").map(|_| json!([]));
    let blank = schema.get("not").map(|_| json!(" "));
    below.or(other).or(none).or(blank)
}

struct ToolSchema {
    name: String,
    base: Value,
    properties: Map<String, Value>,
    /// True if a member is required.
    requires: bool,
}

impl ToolSchema {
    fn with(&self, members: &[(&str, Value)]) -> Value {
        let mut arguments = self.base.clone();
        for (name, value) in members {
            arguments[*name] = value.clone();
        }
        arguments
    }

    /// Returns the members for which `how` gives a wrong value.
    fn wrong(&self, how: impl Fn(&Value) -> Option<Value>) -> Vec<(&str, Value)> {
        let members = self.properties.iter();
        let wrong = members.filter_map(|(name, schema)| Some((name.as_str(), how(schema)?)));
        wrong.collect()
    }
}

fn tool_schemas(fixture: &WorkspaceFixture, role: &str) -> Vec<ToolSchema> {
    let (_, tools) = listed(fixture, role);
    let read = |tool: &Value| {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false, "{tool}");
        let name = tool["name"].as_str().unwrap().to_owned();
        ToolSchema {
            base: base(&name, fixture),
            properties: schema["properties"].as_object().unwrap().clone(),
            requires: schema.get("required").is_some() || schema.get("anyOf").is_some(),
            name,
        }
    };
    tools.iter().map(read).collect()
}

#[test]
fn first_violation_decides_the_code() {
    for role in [EXECUTOR, PLANNER] {
        let fixture = WorkspaceFixture::with_plan();
        let mut client = fixture.serve(role, &["--lock-after", "100000"]);
        client.begin_session();
        let mut check = |tool: &ToolSchema, arguments: Value, code: &str| {
            let failed = client.call_err(&tool.name, arguments.clone());
            assert_eq!(failed.code(), code, "{} {arguments}", tool.name);
            assert!(failed.cause()["violations"].is_array());
        };
        for tool in tool_schemas(&fixture, role) {
            for value in [json!([]), json!("text"), json!(5), json!(true)] {
                check(&tool, value, "INVALID_INPUT_TYPE");
            }
            let mistyped = tool.wrong(|schema| Some(mistyped(schema)));
            let malformed = tool.wrong(malformed);
            let misvalued = tool.wrong(misvalued);
            let unknown = ("unknown", json!(1));
            if tool.requires {
                check(&tool, json!({}), "MISSING_REQUIRED_FIELD");
                // Missing comes before unknown, and before a wrong type.
                check(&tool, json!({ "unknown": 1 }), "MISSING_REQUIRED_FIELD");
                check(
                    &tool,
                    json!({ "unknown": 1, "role": 5 }),
                    "MISSING_REQUIRED_FIELD",
                );
            }
            check(&tool, tool.with(from_ref(&unknown)), "INVALID_INPUT_VALUE");
            for one in &mistyped {
                check(&tool, tool.with(from_ref(one)), "INVALID_INPUT_TYPE");
                // An unknown member comes before a wrong type.
                let both = [unknown.clone(), one.clone()];
                check(&tool, tool.with(&both), "INVALID_INPUT_VALUE");
            }
            let first_other = |not: &str, among: &[(&str, Value)]| {
                let mut among = among.iter().filter(|(name, _)| *name != not);
                among
                    .next()
                    .map(|(name, value)| ((*name).to_owned(), value.clone()))
            };
            for one in &malformed {
                check(&tool, tool.with(from_ref(one)), "INVALID_INPUT_FORMAT");
                // A wrong type comes before a wrong form.
                if let Some((name, value)) = first_other(one.0, &mistyped) {
                    let both = [one.clone(), (name.as_str(), value)];
                    check(&tool, tool.with(&both), "INVALID_INPUT_TYPE");
                }
            }
            for one in &misvalued {
                check(&tool, tool.with(from_ref(one)), "INVALID_INPUT_VALUE");
                // A wrong form comes before a wrong value.
                if let Some((name, value)) = first_other(one.0, &malformed) {
                    let both = [one.clone(), (name.as_str(), value)];
                    check(&tool, tool.with(&both), "INVALID_INPUT_FORMAT");
                }
            }
        }
        assert!(!fixture.path("src/b").exists());
    }
}

/// Argument rules have their position in the order too.
#[test]
fn argument_rules_follow_the_same_order() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&["--lock-after", "100000"]);
    let bad = "=not base64=";
    for (arguments, code) in [
        (
            json!({ "path": "src/b", "content": "x", "edits": [] }),
            "INVALID_INPUT_VALUE",
        ),
        (
            json!({ "path": "src/b", "content": "x", "patch": "y" }),
            "INVALID_INPUT_VALUE",
        ),
        (
            json!({ "path": "src/b", "content": bad, "encoding": "base64" }),
            "INVALID_INPUT_FORMAT",
        ),
        (
            json!({ "path": "src/b", "content": bad, "encoding": "base64", "patch": "y" }),
            "INVALID_INPUT_FORMAT",
        ),
        (
            json!({ "path": "src/b", "content": bad, "encoding": "base64", "create_only": 1 }),
            "INVALID_INPUT_TYPE",
        ),
        (
            json!({ "path": "src/b", "patch": "y", "encoding": "base64" }),
            "INVALID_INPUT_VALUE",
        ),
        (
            json!({ "path": "src/b", "encoding": "base64" }),
            "MISSING_REQUIRED_FIELD",
        ),
        (
            json!({ "path": "src/b", "edits": [{ "old": "x" }] }),
            "MISSING_REQUIRED_FIELD",
        ),
        (
            json!({ "path": "src/b", "edits": [{ "old": 1, "new": "" }] }),
            "INVALID_INPUT_TYPE",
        ),
        (
            json!({ "path": "src/a.txt", "edits": [{ "old": "", "new": "" }] }),
            "INVALID_INPUT_VALUE",
        ),
    ] {
        assert_eq!(
            client.call_code("write_file", arguments.clone()),
            code,
            "{arguments}"
        );
    }
    let change = |change: Value| json!({ "changes": [change] });
    for (arguments, code) in [
        (change(json!({ "path": "src/b" })), "MISSING_REQUIRED_FIELD"),
        (
            change(json!({ "path": "src/b", "content": "x", "delete": true })),
            "INVALID_INPUT_VALUE",
        ),
        (
            json!({ "changes": [
                { "path": "src/b", "content": "x" },
                { "path": "./src//b", "content": "y" },
            ] }),
            "INVALID_INPUT_VALUE",
        ),
        (
            change(json!({ "path": "src/b", "content": bad, "encoding": "base64" })),
            "INVALID_INPUT_FORMAT",
        ),
    ] {
        assert_eq!(
            client.call_code("apply_changes", arguments.clone()),
            code,
            "{arguments}"
        );
    }
    let mut planner = fixture.planner(&[]);
    for (arguments, code) in [
        (json!({ "content": "title = 1" }), "INVALID_INPUT_FORMAT"),
        (json!({ "content": "" }), "INVALID_INPUT_FORMAT"),
        (
            json!({ "content": "", "plan": plan(json!({ "allow": ["src/**"] })) }),
            "INVALID_INPUT_VALUE",
        ),
        (
            json!({ "plan": { "title": "t" } }),
            "MISSING_REQUIRED_FIELD",
        ),
        (
            json!({ "plan": plan(json!({ "id": "lower", "allow": ["src/**"] })) }),
            "INVALID_INPUT_FORMAT",
        ),
    ] {
        assert_eq!(
            planner.call_code("save_plan", arguments.clone()),
            code,
            "{arguments}"
        );
    }
}
