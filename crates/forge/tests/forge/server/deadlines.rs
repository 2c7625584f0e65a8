//! Calls that take too long, and calls that nobody wants any more.

use crate::fixture::server::{ServerFixture, ToolAnswer, call, fixture, fixture_with};
use crate::fixture::stub_state::PausePoint;
use crate::fixture::valid_arguments;
use candor_forge::{Failure, READ_DEADLINE, UnmetPrecondition, WRITE_DEADLINE};
use candor_street::CancellationToken;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;
use tokio::time::Instant;

fn pauses(method: &'static str, place: PausePoint) -> ServerFixture {
    fixture_with(|stub_state| _ = stub_state.pauses.insert(method, place))
}

/// Kind, outcome and effect of every line of the log.
fn log(fixture: &ServerFixture) -> Vec<String> {
    let report = |line: String| {
        let line: Value = serde_json::from_str(&line).unwrap();
        match line["kind"].as_str() {
            Some("attempt") => String::from("attempt"),
            _ => format!("of {} {} {}", line["of"], line["code"], line["effect"]),
        }
    };
    fixture.logged().into_iter().map(report).collect()
}

#[tokio::test(start_paused = true)]
async fn slow_backend_times_out() {
    let fixture = fixture();
    for (tool, method, place, limit, effect) in [
        ("fetch", "readme", PausePoint::Before, READ_DEADLINE, "none"),
        (
            "search",
            "search",
            PausePoint::Before,
            READ_DEADLINE,
            "none",
        ),
        (
            "commit_files",
            "commit_files",
            PausePoint::Before,
            WRITE_DEADLINE,
            "none",
        ),
        (
            "commit_files",
            "commit_files",
            PausePoint::Begun,
            WRITE_DEADLINE,
            "unknown",
        ),
        (
            "merge_pull_request",
            "delete_branch",
            PausePoint::Before,
            WRITE_DEADLINE,
            "done",
        ),
    ] {
        fixture.events.clear();
        fixture.stub.stub_state().pauses = BTreeMap::from([(method, place)]);
        let begun = Instant::now();
        let answer = fixture
            .call_tool(tool, valid_arguments::for_tool(tool))
            .await;
        assert_eq!(begun.elapsed(), limit, "{tool}");
        assert_eq!(answer.code(), -32603);
        assert_eq!(answer.message(), "Internal error: the call took too long");
        assert_eq!(answer.effect(), effect, "{tool}");
        let error = answer.error();
        let retry = if effect == "none" {
            "same_call"
        } else {
            "after_change"
        };
        assert_eq!(error["data"]["fault"]["retry"], retry);
        assert_eq!(fixture.lines().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn write_that_has_not_begun_never_happens() {
    let fixture = pauses("commit_files", PausePoint::Before);
    fixture
        .call_tool("commit_files", valid_arguments::for_tool("commit_files"))
        .await
        .code();
    fixture.stub.go_on.notify_one();
    fixture.dispatcher.drain(Duration::from_secs(5)).await;
    assert_eq!(fixture.events.of("done"), Vec::<String>::new());
    assert_eq!(log(&fixture), ["attempt", r#"of 1 -32603 "none""#]);
}

#[tokio::test(start_paused = true)]
async fn write_that_has_begun_continues_and_is_recorded_again() {
    let fixture = pauses("commit_files", PausePoint::Begun);
    fixture
        .call_tool("commit_files", valid_arguments::for_tool("commit_files"))
        .await
        .code();
    assert_eq!(log(&fixture), ["attempt", r#"of 1 -32603 "unknown""#]);
    fixture.stub.go_on.notify_one();
    fixture.dispatcher.drain(Duration::from_secs(5)).await;
    assert_eq!(
        log(&fixture),
        ["attempt", r#"of 1 -32603 "unknown""#, r#"of 1 null "done""#]
    );
    assert_eq!(fixture.lines().len(), 1);
}

/// One answer, one line: what the rest of it comes to is for the log of writes.
#[tokio::test(start_paused = true)]
async fn write_that_fails_after_its_answer_has_no_second_line() {
    let fixture = fixture_with(|stub_state| {
        stub_state.pauses.insert("commit_files", PausePoint::Begun);
        let nothing = Failure::Unmet(UnmetPrecondition::NothingToCommit);
        stub_state.failing.insert("commit_files", nothing);
    });
    fixture
        .call_tool("commit_files", valid_arguments::for_tool("commit_files"))
        .await
        .code();
    fixture.stub.go_on.notify_one();
    fixture.dispatcher.drain(Duration::from_secs(5)).await;
    assert_eq!(
        log(&fixture),
        [
            "attempt",
            r#"of 1 -32603 "unknown""#,
            r#"of 1 -32003 "none""#
        ]
    );
    assert_eq!(
        fixture.lines(),
        [
            r#"jsonrpc_error tool=commit_files code=-32603 repo=octo/cat pr=- sha=- state=- msg="Internal error: the call took too long""#
        ]
    );
    // The next call has a line of its own again.
    fixture.stub.stub_state().pauses.clear();
    fixture
        .call_tool("commit_files", valid_arguments::for_tool("commit_files"))
        .await
        .code();
    assert_eq!(fixture.lines().len(), 2);
}

/// Cancels a call once it stands still; what it comes to.
async fn cancelled(fixture: &ServerFixture, tool: &str) -> ToolAnswer {
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (fixture, cancel) = (fixture.clone(), cancel.clone());
        let call = call(tool, valid_arguments::for_tool(tool));
        async move { fixture.answer_call_until(call, cancel).await }
    });
    // A clock that stands still goes on only once everybody waits.
    tokio::time::sleep(Duration::from_secs(1)).await;
    cancel.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    fixture.stub.go_on.notify_one();
    running.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_without_effect_is_dropped_and_recorded() {
    let fixture = pauses("search", PausePoint::Before);
    let answer = cancelled(&fixture, "search").await;
    assert_eq!(answer.message(), "Internal error: the call was cancelled");
    assert_eq!(answer.effect(), "none");
    assert_eq!(fixture.logged(), Vec::<String>::new());

    let fixture = pauses("commit_files", PausePoint::Before);
    let answer = cancelled(&fixture, "commit_files").await;
    assert_eq!(answer.message(), "Internal error: the call was cancelled");
    assert_eq!(answer.effect(), "none");
    assert_eq!(log(&fixture), ["attempt", r#"of 1 -32603 "none""#]);
    assert_eq!(fixture.events.of("done"), Vec::<String>::new());
    assert_eq!(fixture.lines().len(), 1);
}

/// The disk may be slow; nobody may find an attempt in the log of which he does not learn the end.
#[tokio::test(start_paused = true)]
async fn call_that_is_cancelled_while_its_attempt_is_recorded_has_an_outcome() {
    let fixture = fixture();
    let (opens, gate) = mpsc::channel();
    fixture.log.waits_for(gate);
    let cancel = CancellationToken::new();
    let call = call("commit_files", valid_arguments::for_tool("commit_files"));
    let answering = fixture.answer_call_until(call, cancel.clone());
    let stopping = async {
        cancel.cancel();
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        opens.send(()).unwrap();
    };
    let (answer, ()) = tokio::join!(answering, stopping);
    assert_eq!(answer.message(), "Internal error: the call was cancelled");
    assert_eq!(answer.effect(), "none");
    fixture.dispatcher.drain(Duration::from_secs(5)).await;
    assert_eq!(log(&fixture), ["attempt", r#"of 1 -32603 "none""#]);
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
    assert_eq!(fixture.lines().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn cancelled_write_that_has_begun_is_carried_to_its_end() {
    let fixture = pauses("commit_files", PausePoint::Begun);
    cancelled(&fixture, "commit_files").await.value();
    assert_eq!(log(&fixture), ["attempt", r#"of 1 null "done""#]);
    assert_eq!(fixture.lines(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn panicking_backend_is_an_internal_error() {
    let fixture = pauses("search", PausePoint::Panics);
    let answer = fixture
        .call_tool("search", valid_arguments::for_tool("search"))
        .await;
    assert_eq!(
        (answer.code(), answer.effect()),
        (-32603, String::from("none"))
    );
    assert_eq!(answer.message(), "Internal error");

    let fixture = pauses("commit_files", PausePoint::Panics);
    let answer = fixture
        .call_tool("commit_files", valid_arguments::for_tool("commit_files"))
        .await;
    assert_eq!(
        (answer.code(), answer.effect()),
        (-32603, String::from("unknown"))
    );
    assert_eq!(log(&fixture), ["attempt", r#"of 1 -32603 "unknown""#]);
    assert_eq!(fixture.lines().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn write_that_fails_midway_has_unknown_effect() {
    let fixture = fixture_with(|stub_state| {
        let violations = Failure::Broken("the disk failed", candor_fault::Cause::from("EIO"));
        stub_state.failing.insert("merge", violations);
        stub_state.failing_midway = true;
    });
    let answer = fixture
        .call_tool(
            "merge_pull_request",
            valid_arguments::for_tool("merge_pull_request"),
        )
        .await;
    assert_eq!(answer.code(), -32603);
    assert_eq!(answer.effect(), "unknown");
    assert_eq!(log(&fixture), ["attempt", r#"of 1 -32603 "unknown""#]);
}
