//! Tests of the limit of writes per minute and repository.

use crate::fixture::server::{FixtureOptions, ServerFixture, fixture, fixture_with, repos};
use crate::fixture::valid_arguments::{self, WRITES, changed};
use candor_forge::{Failure, MissingItem};
use serde_json::json;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::advance;

async fn write(fixture: &ServerFixture, n: usize, repo: &str) -> Option<i64> {
    let tool = WRITES[n % WRITES.len()];
    let answer = fixture
        .call_tool(tool, changed(tool, "repo", json!(repo)))
        .await;
    answer
        .text()
        .starts_with(r#"{"code""#)
        .then(|| answer.code())
}

/// A write that the backend refused has no effect, so it does not count.
#[tokio::test(start_paused = true)]
async fn refused_writes_do_not_count() {
    let fixture = fixture_with(|stub_state| {
        let missing = Failure::Missing(MissingItem::Branch(String::from("gone")));
        stub_state.failing.insert("commit_files", missing);
    });
    let commit = valid_arguments::for_tool("commit_files");
    for _ in 0..30 {
        let answer = fixture.call_tool("commit_files", commit.clone()).await;
        assert_eq!(answer.code(), -32002);
    }
    let update = valid_arguments::for_tool("update_pull_request");
    for _ in 0..20 {
        fixture
            .call_tool("update_pull_request", update.clone())
            .await
            .value();
    }
    let answer = fixture.call_tool("update_pull_request", update).await;
    assert_eq!(answer.code(), -32004);
}

#[tokio::test(start_paused = true)]
async fn writes_to_one_repository_are_limited() {
    let fixture = fixture();
    for n in 0..20 {
        let spelling = ["octo/cat", "OCTO/Cat"][n % 2];
        assert_eq!(write(&fixture, n, spelling).await, None, "{n}");
    }
    advance(Duration::from_millis(1_500)).await;
    let (backend_calls, logged) = (fixture.backend_calls().len(), fixture.logged().len());
    let answer = fixture
        .call_tool(
            "update_pull_request",
            valid_arguments::for_tool("update_pull_request"),
        )
        .await;
    let expected = concat!(
        r#"{"code":-32004,"#,
        r#""message":"Rate limit exceeded: this server's limit on writes to one repository","#,
        r#""data":{"tool":"update_pull_request","timestamp":"2025-10-12T15:49:21.049Z","#,
        r#""fault":{"class":"limit","retry":"after_delay","retry_after_ms":58500,"effect":"none","#,
        r#""remedy":"Wait `retry_after_ms`, then send the same call."}}}"#
    );
    assert_eq!(answer.text(), expected);
    // Neither the backend nor the log is called.
    assert_eq!(
        (fixture.backend_calls().len(), fixture.logged().len()),
        (backend_calls, logged)
    );
    assert_eq!(write(&fixture, 0, "octo/dog").await, None);

    // Refused attempts do not count: after the wait in the answer, all twenty pass again.
    for n in 0..50 {
        assert_eq!(write(&fixture, n, "octo/cat").await, Some(-32004));
    }
    advance(Duration::from_millis(58_499)).await;
    assert_eq!(write(&fixture, 0, "octo/cat").await, Some(-32004));
    advance(Duration::from_millis(1)).await;
    for n in 0..20 {
        assert_eq!(write(&fixture, n, "octo/cat").await, None, "{n}");
    }
    assert_eq!(write(&fixture, 0, "octo/cat").await, Some(-32004));
}

#[tokio::test(start_paused = true)]
async fn reading_is_not_limited() {
    let fixture = fixture();
    for _ in 0..50 {
        fixture
            .call_tool("fetch", json!({ "repo": "octo/cat" }))
            .await
            .value();
    }
}

#[tokio::test(start_paused = true)]
async fn call_refused_before_the_limit_does_not_count() {
    let one = |options: &mut FixtureOptions| {
        options.config.writes_a_minute = NonZeroU32::MIN;
        options.config.repos = repos(&["octo/cat"]);
    };
    let fixture = FixtureOptions::default().with(one).fixture();
    for _ in 0..3 {
        let wrong = changed("commit_files", "message", json!(""));
        assert_eq!(
            fixture.call_tool("commit_files", wrong).await.code(),
            -32602
        );
        assert_eq!(write(&fixture, 0, "evil/cat").await, Some(-32001));
    }
    assert_eq!(write(&fixture, 0, "octo/cat").await, None);
    assert_eq!(write(&fixture, 0, "octo/cat").await, Some(-32004));
}
