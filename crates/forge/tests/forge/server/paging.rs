//! Pages of a list: the one that is requested, and the members that come with it.

use crate::fixture::server::fixture;
use serde_json::{Value, json};

#[tokio::test]
async fn default_page_is_the_first_thirty() {
    let fixture = fixture();
    for (tool, backend_calls) in [
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
        for (page, per_page, report) in [
            (None, None, (1, 30)),
            (Some(3), None, (3, 30)),
            (None, Some(1), (1, 1)),
            (Some(100), Some(100), (100, 100)),
        ] {
            fixture.events.clear();
            let answer = fixture.call_tool(tool, with(page, per_page)).await.value();
            assert_eq!(
                fixture.backend_calls(),
                [format!("{backend_calls} {}*{}", report.0, report.1)]
            );
            assert_eq!(answer["page"], report.0);
            assert_eq!(answer["per_page"], report.1);
        }
        for beyond in [
            with(Some(0), None),
            with(Some(101), None),
            with(None, Some(101)),
        ] {
            assert_eq!(fixture.call_tool(tool, beyond).await.code(), -32602);
        }
    }
}

#[tokio::test]
async fn query_reaches_the_backend_unchanged() {
    let fixture = fixture();
    for query in [
        "stars:>100",
        " \"a b\"  NOT c ",
        "é\n\u{202e}",
        "%20+&page=9",
    ] {
        fixture.events.clear();
        fixture
            .call_tool("search", json!({ "query": query }))
            .await
            .value();
        assert_eq!(fixture.backend_calls(), [format!("search {query:?} 1*30")]);
    }
}

#[tokio::test]
async fn commits_begin_at_the_sha_else_at_the_branch() {
    let fixture = fixture();
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
        fixture.events.clear();
        fixture.call_tool("get_commits", whole).await.value();
        assert_eq!(
            fixture.backend_calls(),
            [format!("commits octo/cat {from} 1*30")]
        );
    }
}

#[tokio::test]
async fn deleted_authors_are_null() {
    let fixture = fixture();
    let commits = async || {
        let answer = fixture
            .call_tool("get_commits", json!({ "repo": "octo/cat" }))
            .await;
        answer.value()["commits"][0].clone()
    };
    assert_eq!(commits().await["author"], Value::Null);
    fixture.stub.stub_state().signature = Some(candor_forge::CommitPerson::default());
    assert_eq!(
        commits().await["author"],
        json!({ "name": null, "email": null, "date": null })
    );
}

#[tokio::test]
async fn requested_state_is_listed() {
    let fixture = fixture();
    for (state, backend_calls) in [("open", "Open"), ("closed", "Closed"), ("all", "All")] {
        fixture.events.clear();
        let arguments = json!({ "repo": "octo/cat", "state": state });
        fixture
            .call_tool("list_pull_requests", arguments)
            .await
            .value();
        assert_eq!(
            fixture.backend_calls(),
            [format!("pull_requests octo/cat {backend_calls} 1*30")]
        );
    }
}
