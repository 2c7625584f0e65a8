//! Calls that take too long, and calls that nobody wants any more.

use crate::house::{House, Said, call, house, house_of};
use crate::valid;
use crate::world::Stands;
use candor_forge::{Failure, READ_DEADLINE, Unmet, WRITE_DEADLINE};
use candor_street::CancellationToken;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;
use tokio::time::Instant;

fn standing(method: &'static str, place: Stands) -> House {
    house_of(|world| _ = world.standing.insert(method, place))
}

/// Kind, outcome and effect of every line of the log.
fn log(house: &House) -> Vec<String> {
    let told = |line: String| {
        let line: Value = serde_json::from_str(&line).unwrap();
        match line["kind"].as_str() {
            Some("attempt") => String::from("attempt"),
            _ => format!("of {} {} {}", line["of"], line["code"], line["effect"]),
        }
    };
    house.logged().into_iter().map(told).collect()
}

#[tokio::test(start_paused = true)]
async fn a_slow_backend_is_given_up() {
    let house = house();
    for (tool, method, place, limit, effect) in [
        ("fetch", "readme", Stands::Before, READ_DEADLINE, "none"),
        ("search", "search", Stands::Before, READ_DEADLINE, "none"),
        (
            "commit_files",
            "commit_files",
            Stands::Before,
            WRITE_DEADLINE,
            "none",
        ),
        (
            "commit_files",
            "commit_files",
            Stands::Begun,
            WRITE_DEADLINE,
            "unknown",
        ),
        (
            "merge_pull_request",
            "delete_branch",
            Stands::Before,
            WRITE_DEADLINE,
            "done",
        ),
    ] {
        house.seen.clear();
        house.stub.world().standing = BTreeMap::from([(method, place)]);
        let begun = Instant::now();
        let said = house.ask(tool, valid::of(tool)).await;
        assert_eq!(begun.elapsed(), limit, "{tool}");
        assert_eq!(said.code(), -32603);
        assert_eq!(said.message(), "Internal error: the call took too long");
        assert_eq!(said.effect(), effect, "{tool}");
        let error = said.error();
        let retry = if effect == "none" {
            "same_call"
        } else {
            "after_change"
        };
        assert_eq!(error["data"]["fault"]["retry"], retry);
        assert_eq!(house.lines().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_had_not_begun_never_happens() {
    let house = standing("commit_files", Stands::Before);
    house
        .ask("commit_files", valid::of("commit_files"))
        .await
        .code();
    house.stub.go_on.notify_one();
    house.desk.drain(Duration::from_secs(5)).await;
    assert_eq!(house.seen.of("done"), Vec::<String>::new());
    assert_eq!(log(&house), ["attempt", r#"of 1 -32603 "none""#]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_had_begun_goes_on_and_is_recorded_again() {
    let house = standing("commit_files", Stands::Begun);
    house
        .ask("commit_files", valid::of("commit_files"))
        .await
        .code();
    assert_eq!(log(&house), ["attempt", r#"of 1 -32603 "unknown""#]);
    house.stub.go_on.notify_one();
    house.desk.drain(Duration::from_secs(5)).await;
    assert_eq!(
        log(&house),
        ["attempt", r#"of 1 -32603 "unknown""#, r#"of 1 null "done""#]
    );
    assert_eq!(house.lines().len(), 1);
}

/// One answer, one line: what the rest of it comes to is for the log of writes.
#[tokio::test(start_paused = true)]
async fn a_write_that_fails_after_its_answer_has_no_second_line() {
    let house = house_of(|world| {
        world.standing.insert("commit_files", Stands::Begun);
        let nothing = Failure::Unmet(Unmet::NothingToCommit);
        world.failing.insert("commit_files", nothing);
    });
    house
        .ask("commit_files", valid::of("commit_files"))
        .await
        .code();
    house.stub.go_on.notify_one();
    house.desk.drain(Duration::from_secs(5)).await;
    assert_eq!(
        log(&house),
        [
            "attempt",
            r#"of 1 -32603 "unknown""#,
            r#"of 1 -32003 "none""#
        ]
    );
    assert_eq!(
        house.lines(),
        [
            r#"jsonrpc_error tool=commit_files code=-32603 repo=octo/cat pr=- sha=- state=- msg="Internal error: the call took too long""#
        ]
    );
    // The next call has a line of its own again.
    house.stub.world().standing.clear();
    house
        .ask("commit_files", valid::of("commit_files"))
        .await
        .code();
    assert_eq!(house.lines().len(), 2);
}

/// Cancels a call once it stands still; what it comes to.
async fn cancelled(house: &House, tool: &str) -> Said {
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (house, cancel) = (house.clone(), cancel.clone());
        let call = call(tool, &valid::of(tool));
        async move { house.hand_until(call, cancel).await }
    });
    // A clock that stands still goes on only once everybody waits.
    tokio::time::sleep(Duration::from_secs(1)).await;
    cancel.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    house.stub.go_on.notify_one();
    running.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_without_effect_is_dropped_and_recorded() {
    let house = standing("search", Stands::Before);
    let said = cancelled(&house, "search").await;
    assert_eq!(said.message(), "Internal error: the call was cancelled");
    assert_eq!(said.effect(), "none");
    assert_eq!(house.logged(), Vec::<String>::new());

    let house = standing("commit_files", Stands::Before);
    let said = cancelled(&house, "commit_files").await;
    assert_eq!(said.message(), "Internal error: the call was cancelled");
    assert_eq!(said.effect(), "none");
    assert_eq!(log(&house), ["attempt", r#"of 1 -32603 "none""#]);
    assert_eq!(house.seen.of("done"), Vec::<String>::new());
    assert_eq!(house.lines().len(), 1);
}

/// The disk may be slow; nobody may find an attempt in the log of which he does not learn the end.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_its_attempt_is_recorded_has_an_outcome() {
    let house = house();
    let (opens, gate) = mpsc::channel();
    house.log.waits_for(gate);
    let cancel = CancellationToken::new();
    let call = call("commit_files", &valid::of("commit_files"));
    let answering = house.hand_until(call, cancel.clone());
    let stopping = async {
        cancel.cancel();
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        opens.send(()).unwrap();
    };
    let (said, ()) = tokio::join!(answering, stopping);
    assert_eq!(said.message(), "Internal error: the call was cancelled");
    assert_eq!(said.effect(), "none");
    house.desk.drain(Duration::from_secs(5)).await;
    assert_eq!(log(&house), ["attempt", r#"of 1 -32603 "none""#]);
    assert_eq!(house.asked(), Vec::<String>::new());
    assert_eq!(house.lines().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_write_that_has_begun_is_carried_to_its_end() {
    let house = standing("commit_files", Stands::Begun);
    cancelled(&house, "commit_files").await.value();
    assert_eq!(log(&house), ["attempt", r#"of 1 null "done""#]);
    assert_eq!(house.lines(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_panics_is_answered_for() {
    let house = standing("search", Stands::Panics);
    let said = house.ask("search", valid::of("search")).await;
    assert_eq!((said.code(), said.effect()), (-32603, String::from("none")));
    assert_eq!(said.message(), "Internal error");

    let house = standing("commit_files", Stands::Panics);
    let said = house.ask("commit_files", valid::of("commit_files")).await;
    assert_eq!(
        (said.code(), said.effect()),
        (-32603, String::from("unknown"))
    );
    assert_eq!(log(&house), ["attempt", r#"of 1 -32603 "unknown""#]);
    assert_eq!(house.lines().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_breaks_midway_says_that_nobody_knows() {
    let house = house_of(|world| {
        let broken = Failure::Broken("the disk failed", candor_fault::Cause::from("EIO"));
        world.failing.insert("merge", broken);
        world.failing_midway = true;
    });
    let said = house
        .ask("merge_pull_request", valid::of("merge_pull_request"))
        .await;
    assert_eq!(said.code(), -32603);
    assert_eq!(said.effect(), "unknown");
    assert_eq!(log(&house), ["attempt", r#"of 1 -32603 "unknown""#]);
}
