//! Which part of a list is asked for, and what comes back with it.

use crate::house::house;
use serde_json::{Value, json};

#[tokio::test]
async fn thirty_of_the_first_page_unless_the_caller_says_otherwise() {
    let house = house();
    for (tool, asked) in [
        ("search", r#"search "q""#),
        ("get_commits", "commits octo/cat Default"),
        ("get_branches", "branches octo/cat"),
        ("list_pull_requests", "pull_requests octo/cat Open"),
    ] {
        let first = match tool {
            "search" => json!({ "query": "q" }),
            _ => json!({ "repo": "octo/cat" }),
        };
        let with = |page: Option<u32>, per_page: Option<u32>| {
            let mut arguments = first.clone();
            for (member, value) in [("page", page), ("per_page", per_page)] {
                if let Some(value) = value {
                    arguments[member] = json!(value);
                }
            }
            arguments
        };
        for (page, per_page, told) in [
            (None, None, (1, 30)),
            (Some(3), None, (3, 30)),
            (None, Some(1), (1, 1)),
            (Some(100), Some(100), (100, 100)),
        ] {
            house.seen.clear();
            let answer = house.ask(tool, with(page, per_page)).await.value();
            assert_eq!(house.asked(), [format!("{asked} {}*{}", told.0, told.1)]);
            assert_eq!(answer["page"], told.0);
            assert_eq!(answer["per_page"], told.1);
        }
        for beyond in [
            with(Some(0), None),
            with(Some(101), None),
            with(None, Some(101)),
        ] {
            assert_eq!(house.ask(tool, beyond).await.code(), -32602);
        }
    }
}

#[tokio::test]
async fn a_query_reaches_the_backend_untouched() {
    let house = house();
    for query in [
        "stars:>100",
        " \"a b\"  NOT c ",
        "é\n\u{202e}",
        "%20+&page=9",
    ] {
        house.seen.clear();
        house.ask("search", json!({ "query": query })).await.value();
        assert_eq!(house.asked(), [format!("search {query:?} 1*30")]);
    }
}

#[tokio::test]
async fn commits_begin_at_the_sha_else_at_the_branch() {
    let house = house();
    for (arguments, from) in [
        (json!({}), "Default"),
        (json!({ "branch": "topic" }), r#"Branch("topic")"#),
        (json!({ "sha": "abcdef0" }), r#"Commit("abcdef0")"#),
        (
            json!({ "sha": "abcdef0", "branch": "topic" }),
            r#"Commit("abcdef0")"#,
        ),
    ] {
        let mut whole: Value = arguments;
        whole["repo"] = json!("octo/cat");
        house.seen.clear();
        house.ask("get_commits", whole).await.value();
        assert_eq!(house.asked(), [format!("commits octo/cat {from} 1*30")]);
    }
}

#[tokio::test]
async fn authors_that_are_gone_survive() {
    let house = house();
    let commits = async || {
        let said = house
            .ask("get_commits", json!({ "repo": "octo/cat" }))
            .await;
        said.value()["commits"][0].clone()
    };
    assert_eq!(commits().await["author"], Value::Null);
    house.stub.world().signature = Some(candor_forge::Signature::default());
    assert_eq!(
        commits().await["author"],
        json!({ "name": null, "email": null, "date": null })
    );
}

#[tokio::test]
async fn the_state_that_is_asked_for_is_the_one_that_is_listed() {
    let house = house();
    for (state, asked) in [("open", "Open"), ("closed", "Closed"), ("all", "All")] {
        house.seen.clear();
        let arguments = json!({ "repo": "octo/cat", "state": state });
        house.ask("list_pull_requests", arguments).await.value();
        assert_eq!(
            house.asked(),
            [format!("pull_requests octo/cat {asked} 1*30")]
        );
    }
}
