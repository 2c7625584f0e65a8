//! Which repositories may be touched: for reading and writing alike, whatever their case.

use crate::house::{House, Plan, repos};
use crate::valid;
use crate::world::repository;
use serde_json::{Value, json};

fn only(patterns: &[&str]) -> House {
    Plan::default()
        .with(|plan| plan.config.repos = repos(patterns))
        .house()
}

#[tokio::test]
async fn every_tool_with_a_repository_asks_the_list() {
    let (mine, others) = (only(&["OCTO/*", "fork/*"]), only(&["other/*", "octo/dog"]));
    for (tool, arguments) in valid::whole() {
        if tool == "search" {
            continue;
        }
        for spelling in ["octo/cat", "Octo/CAT"] {
            let mut arguments = arguments.clone();
            arguments["repo"] = json!(spelling);
            mine.ask(tool, arguments.clone()).await.value();
            let said = others.ask(tool, arguments).await;
            assert_eq!(said.code(), -32001, "{tool}");
            assert_eq!(
                said.message(),
                format!(
                    "Permission denied: {spelling} is not on this server's list of repositories"
                )
            );
            assert_eq!(said.effect(), "none");
        }
    }
    assert_eq!(others.asked(), Vec::<String>::new());
    assert_eq!(others.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn the_fork_of_a_pull_request_asks_the_list_too() {
    let house = only(&["octo/*"]);
    let open =
        |head: &str| json!({ "repo": "octo/cat", "title": "Purr", "head": head, "base": "main" });
    let said = house.ask("create_pull_request", open("evil:topic")).await;
    let wanted = "Permission denied: evil/cat is not on this server's list of repositories";
    assert_eq!((said.code(), said.message().as_str()), (-32001, wanted));
    assert_eq!(house.asked(), Vec::<String>::new());
    house
        .ask("create_pull_request", open("OCTO:topic"))
        .await
        .value();
}

#[tokio::test]
async fn the_schema_comes_before_the_list() {
    let house = only(&["other/*"]);
    for repo in ["octo", "octo/..", "other/*"] {
        let said = house.ask("fetch", json!({ "repo": repo })).await;
        assert_eq!(said.code(), -32602, "{repo}");
    }
    let said = house
        .ask("fetch", json!({ "repo": "octo/cat", "x": 1 }))
        .await;
    assert_eq!(said.code(), -32602);
}

#[tokio::test]
async fn a_search_shows_what_the_list_admits_and_counts_the_rest() {
    let house = Plan::default()
        .with(|plan| {
            plan.config.repos = repos(&["octo/*"]);
            plan.world.found = ["Octo/a", "evil/b", "octopus/c", "octo/d"]
                .map(repository)
                .to_vec();
        })
        .house();
    let found = house.ask("search", json!({ "query": "q" })).await.value();
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
async fn no_list_admits_everything() {
    let house = only(&[]);
    let found = house.ask("search", json!({ "query": "q" })).await.value();
    assert_eq!(found["filtered"], 0);
    let fetched: Value = house
        .ask("fetch", json!({ "repo": "any/thing" }))
        .await
        .value();
    assert_eq!(fetched["id"], "octo/cat");
}
