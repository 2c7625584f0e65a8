//! The list of repositories that may be touched: for reading and writing alike, whatever their case.

use crate::fixture::server::{FixtureOptions, ServerFixture, repos};
use crate::fixture::stub_state::repository;
use crate::fixture::valid_arguments;
use serde_json::{Value, json};
use std::num::NonZeroU32;

fn only(patterns: &[&str]) -> ServerFixture {
    FixtureOptions::default()
        .with(|options| {
            options.config.repos = repos(patterns);
            options.config.writes_a_minute = NonZeroU32::MAX;
        })
        .fixture()
}

#[tokio::test]
async fn every_tool_with_a_repository_checks_the_allow_list() {
    let (mine, others) = (only(&["OCTO/*", "fork/*"]), only(&["other/*", "octo/dog"]));
    for (tool, arguments) in valid_arguments::every_tool() {
        if tool == "search" {
            continue;
        }
        for spelling in ["octo/cat", "Octo/CAT"] {
            let mut arguments = arguments.clone();
            arguments["repo"] = json!(spelling);
            mine.call_tool(tool, arguments.clone()).await.value();
            let answer = others.call_tool(tool, arguments).await;
            assert_eq!(answer.code(), -32001, "{tool}");
            assert_eq!(
                answer.message(),
                format!(
                    "Permission denied: {spelling} is not on this server's list of repositories"
                )
            );
            assert_eq!(answer.effect(), "none");
        }
    }
    assert_eq!(others.backend_calls(), Vec::<String>::new());
    assert_eq!(others.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn fork_of_a_pull_request_is_checked_too() {
    let fixture = only(&["octo/*"]);
    let open =
        |head: &str| json!({ "repo": "octo/cat", "title": "Purr", "head": head, "base": "main" });
    let answer = fixture
        .call_tool("create_pull_request", open("evil:topic"))
        .await;
    let expected = "Permission denied: evil/cat is not on this server's list of repositories";
    assert_eq!(
        (answer.code(), answer.message().as_str()),
        (-32001, expected)
    );
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
    fixture
        .call_tool("create_pull_request", open("OCTO:topic"))
        .await
        .value();
}

#[tokio::test]
async fn schema_is_checked_before_the_allow_list() {
    let fixture = only(&["other/*"]);
    for repo in ["octo", "octo/..", "other/*"] {
        let answer = fixture.call_tool("fetch", json!({ "repo": repo })).await;
        assert_eq!(answer.code(), -32602, "{repo}");
    }
    let answer = fixture
        .call_tool("fetch", json!({ "repo": "octo/cat", "x": 1 }))
        .await;
    assert_eq!(answer.code(), -32602);
}

#[tokio::test]
async fn search_returns_allowed_repositories_and_counts_all() {
    let fixture = FixtureOptions::default()
        .with(|options| {
            options.config.repos = repos(&["octo/*"]);
            options.stub_state.found = ["Octo/a", "evil/b", "octopus/c", "octo/d"]
                .map(repository)
                .to_vec();
        })
        .fixture();
    let found = fixture
        .call_tool("search", json!({ "query": "q" }))
        .await
        .value();
    let ids: Vec<_> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["id"])
        .collect();
    assert_eq!(ids, [&json!("Octo/a"), &json!("octo/d")]);
    assert_eq!(found["filtered"], 2);
    assert!(!found.to_string().contains("evil"));
}

#[tokio::test]
async fn empty_allow_list_allows_everything() {
    let fixture = only(&[]);
    let found = fixture
        .call_tool("search", json!({ "query": "q" }))
        .await
        .value();
    assert_eq!(found["filtered"], 0);
    let fetched: Value = fixture
        .call_tool("fetch", json!({ "repo": "any/thing" }))
        .await
        .value();
    assert_eq!(fetched["id"], "octo/cat");
}
