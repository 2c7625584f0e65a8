//! Every success is what its tool publishes: no more, no less.

use crate::fixture::server::{FixtureOptions, fixture};
use crate::fixture::stub_state::{StubState, repo};
use crate::fixture::valid_arguments;
use candor_forge::{CommitPerson, ItemKind, PullState};
use serde_json::Value;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Worlds that fill in or leave out whatever may be missing.
fn worlds() -> Vec<StubState> {
    let signature = CommitPerson {
        name: Some(String::from("Cat")),
        email: Some(String::from("cat@forge.test")),
        date: Some(String::from("2025-10-12T15:49:21Z")),
    };
    let mut full = StubState {
        signature: Some(signature),
        file: vec![0xff],
        ..StubState::default()
    };
    full.repository.language = Some(String::from("Rust"));
    full.pulls[0].author = Some(String::from("cat"));
    full.pulls[0].body = Some(String::from("Why"));
    full.items[0].kind = ItemKind::Submodule;
    let mut entries = full.tree.entries.to_vec();
    entries[0].kind = "tree";
    entries[0].size = None;
    full.tree.entries = entries.into();
    full.checks[0].url = Some(String::from("https://forge.test/check"));
    let mut bare = StubState {
        signature: Some(CommitPerson::default()),
        readme: None,
        found: vec![],
        items: vec![],
        checks: vec![],
        ..StubState::default()
    };
    bare.pulls[0].head_repo = None;
    bare.pulls[0].mergeable_state = None;
    bare.tree.entries = Arc::default();
    vec![StubState::default(), full, bare]
}

/// The members of every object in a value that a schema does not name.
fn unnamed(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Array(items) => items
            .iter()
            .flat_map(|item| unnamed(&schema["items"], item, &format!("{path}[]")))
            .collect(),
        Value::Object(members) if schema.get("properties").is_some() => members
            .iter()
            .flat_map(|(name, member)| match schema["properties"].get(name) {
                Some(inner) => unnamed(inner, member, &format!("{path}.{name}")),
                None => vec![format!("{path}.{name}")],
            })
            .collect(),
        _ => vec![],
    }
}

#[tokio::test]
async fn answers_match_the_published_schemas() {
    let unlimited = |options: &mut FixtureOptions| options.config.writes_a_minute = NonZeroU32::MAX;
    let fixture = FixtureOptions::default().with(unlimited).fixture();
    let schemas: BTreeMap<_, _> = fixture
        .listed()
        .into_iter()
        .map(|tool| {
            (
                tool["name"].as_str().unwrap().to_owned(),
                tool["outputSchema"].clone(),
            )
        })
        .collect();
    let validators: BTreeMap<_, _> = schemas
        .iter()
        .map(|(name, schema)| (name, jsonschema::validator_for(schema).unwrap()))
        .collect();
    for stub_state in worlds() {
        *fixture.stub.stub_state() = stub_state;
        for (tool, arguments) in valid_arguments::every_tool() {
            let is_text = fixture.stub.stub_state().file.is_ascii();
            if tool == "get_file_contents" && !is_text {
                continue;
            }
            let answer = fixture.call_tool(tool, arguments).await.value();
            let wrong: Vec<_> = validators[&tool.to_owned()]
                .iter_errors(&answer)
                .map(|error| error.to_string())
                .collect();
            assert_eq!(wrong, Vec::<String>::new(), "{tool} {answer}");
            assert_eq!(unnamed(&schemas[tool], &answer, tool), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn pull_request_has_its_reviews_and_files() {
    let fixture = fixture();
    fixture.stub.stub_state().pulls[0].state = PullState::Closed;
    fixture.stub.stub_state().pulls[0].head_repo = Some(repo("fork/cat"));
    let answer = fixture
        .call_tool(
            "get_pull_request",
            valid_arguments::for_tool("get_pull_request"),
        )
        .await;
    insta::assert_snapshot!(answer.text());
    assert_eq!(fixture.backend_calls()[1], "details octo/cat 7 262144");
}
