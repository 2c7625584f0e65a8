//! Tests of `get_pr_mergeability` and `get_checks_for_sha`: the waits and the answers.

use crate::fixture::server::{ServerFixture, fixture};
use crate::fixture::stub_state::{HEAD, pull};
use candor_forge::{Failure, MissingItem, PullRequest, PullState};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

fn undecided() -> PullRequest {
    PullRequest {
        mergeable: None,
        mergeable_state: Some(String::from("unknown")),
        ..pull()
    }
}

/// The answer, how often it was looked, and how long that took.
async fn looked(fixture: &ServerFixture, pulls: Vec<PullRequest>) -> (Value, usize, Duration) {
    fixture.events.clear();
    fixture.stub.stub_state().pulls = pulls.into();
    let begun = Instant::now();
    let arguments = json!({ "repo": "octo/cat", "prNumber": 7 });
    let answer = fixture.call_tool("get_pr_mergeability", arguments).await;
    let looks = fixture.events.of("ask pull_request").len();
    (answer.value(), looks, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn undecided_pull_request_is_read_for_five_seconds() {
    let fixture = fixture();
    let (answer, looks, took) = looked(&fixture, vec![undecided()]).await;
    assert_eq!((looks, took), (6, Duration::from_secs(5)));
    assert_eq!(answer["mergeable"], Value::Null);
    assert_eq!(answer["mergeable_state"], "unknown");

    let mut waited = Duration::ZERO;
    let mut pause = Duration::ZERO;
    for looks_wanted in 1..=6 {
        let mut pulls = vec![undecided(); looks_wanted - 1];
        pulls.push(pull());
        let (answer, looks, took) = looked(&fixture, pulls).await;
        assert_eq!(looks, looks_wanted);
        assert_eq!(answer["mergeable"], true);
        let last = took - waited;
        assert!(
            looks_wanted == 1 || last > pause,
            "{last:?} after {pause:?}"
        );
        (waited, pause) = (took, last);
    }
    assert_eq!(waited, Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn closed_pull_request_is_not_waited_for() {
    let closed = PullRequest {
        state: PullState::Closed,
        ..undecided()
    };
    let (answer, looks, took) = looked(&fixture(), vec![closed]).await;
    assert_eq!((looks, took), (1, Duration::ZERO));
    assert_eq!(answer["state"], "closed");
}

#[tokio::test(start_paused = true)]
async fn answer_has_the_head_and_its_checks() {
    let fixture = fixture();
    let (answer, ..) = looked(&fixture, vec![pull()]).await;
    assert_eq!(
        answer,
        json!({
            "number": 7, "state": "open", "mergeable": true, "mergeable_state": "clean",
            "head_sha": HEAD, "base": "main", "head": "topic",
            "checks": { "passed": 1, "failed": ["lint"], "pending": ["slow"] }
        })
    );
    assert_eq!(
        fixture.backend_calls()[1],
        format!("checks octo/cat {HEAD}")
    );
}

#[tokio::test(start_paused = true)]
async fn failure_while_waiting_is_the_answer() {
    let fixture = fixture();
    fixture.stub.stub_state().pulls = vec![undecided()].into();
    let running = tokio::spawn({
        let fixture = fixture.clone();
        let arguments = json!({ "repo": "octo/cat", "prNumber": 7 });
        async move { fixture.call_tool("get_pr_mergeability", arguments).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let missing = Failure::Missing(MissingItem::PullRequest(7));
    fixture
        .stub
        .stub_state()
        .failing
        .insert("pull_request", missing);
    assert_eq!(running.await.unwrap().code(), -32002);
}

#[tokio::test]
async fn checks_of_a_commit_are_grouped_by_state() {
    let fixture = fixture();
    let arguments = json!({ "repo": "octo/cat", "sha": "0123456" });
    let answer = fixture
        .call_tool("get_checks_for_sha", arguments)
        .await
        .value();
    let one = |name: &str, word: &str| json!([{ "name": name, "conclusion": word, "url": null }]);
    assert_eq!(
        answer,
        json!({
            "sha": HEAD, "total": 3,
            "passed": one("build", "passed"),
            "failing": one("lint", "failed"),
            "pending": one("slow", "pending")
        })
    );
    assert_eq!(fixture.backend_calls(), ["checks octo/cat 0123456"]);
}
