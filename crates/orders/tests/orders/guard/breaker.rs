//! The breaker: when it opens, and when it closes again.

use crate::fixture::guarded::{SECOND, ServerBuilder};
use crate::fixture::log::Log;
use crate::fixture::scripted_adapter::{AdapterStep, fails};
use candor_call_fixtures::call;
use candor_fault::Cause;
use candor_orders::{Failure, OrderRule, RefusalReason, RuleViolation, WaitedFor};
use candor_street::{CancellationToken, MetricsHub};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::advance;

fn down() -> Failure {
    Failure::Unavailable(None, None)
}

/// Sends ten calls to an order system that always fails with `failure`, and returns how many reach it.
async fn reached(failure: Failure) -> usize {
    let server = ServerBuilder::default()
        .with_breaker_after(4)
        .with_one_attempt()
        .with_every_call(fails(failure))
        .build();
    for _ in 0..10 {
        server.find().await;
    }
    server.adapter.count()
}

#[tokio::test(start_paused = true)]
async fn failures_open_the_breaker_and_answers_do_not() {
    for trouble in [
        down(),
        Failure::TimedOut(None),
        RefusalReason::InvalidAdapterResponse.into(),
    ] {
        assert_eq!(reached(trouble.clone()).await, 4, "{trouble:?}");
    }
    let busy = Failure::Busy(Box::new(RefusalReason::BackendRefused.into()), None, None);
    for answer in [
        RefusalReason::OrderNotFound.into(),
        RefusalReason::AdapterUnauthorized.into(),
        busy,
        RuleViolation::new("order.total", OrderRule::Total).into(),
        Failure::Limited(SECOND, None),
        Failure::Unsupported,
        Failure::Internal("a table", Box::new(Cause::from("gone"))),
    ] {
        assert_eq!(reached(answer.clone()).await, 10, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn queries_and_changes_have_a_breaker_each() {
    let server = ServerBuilder::default()
        .with_breaker_after(1)
        .with_one_attempt()
        .with_script([fails(down())])
        .build();
    server.create().await;
    assert_eq!(server.find().await.summary(), "ok");
    let summary = server.create().await.summary();
    assert_eq!(summary, "4002 retryable none 5000ms");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_others_is_neither_a_failure_nor_an_answer() {
    for waited_for in [WaitedFor::Lane, WaitedFor::Lock] {
        assert_eq!(reached(Failure::Waited(waited_for)).await, 10);
    }
    let server = ServerBuilder::default()
        .with_breaker_after(2)
        .with_one_attempt()
        .with_script([
            fails(down()),
            fails(Failure::Waited(WaitedFor::Lock)),
            fails(down()),
        ])
        .build();
    for _ in 0..3 {
        server.create().await;
    }
    let summary = server.create().await.summary();
    assert_eq!(summary, "4002 retryable none 5000ms");
}

#[tokio::test(start_paused = true)]
async fn hanging_call_counts_as_a_failure() {
    let server = ServerBuilder::default()
        .with_breaker_after(2)
        .with_every_call(vec![AdapterStep::Hang])
        .build();
    for _ in 0..2 {
        assert_eq!(server.find().await.summary(), "3002 retryable none");
    }
    assert_eq!(server.find().await.summary(), "4002 retryable none 5000ms");
}

#[tokio::test(start_paused = true)]
async fn answer_resets_the_failure_count_and_neutral_results_do_not() {
    let broken = Failure::Internal("a table", Box::new(Cause::from("gone")));
    for (between, opens) in [(RefusalReason::OrderNotFound.into(), false), (broken, true)] {
        let server = ServerBuilder::default()
            .with_breaker_after(2)
            .with_one_attempt()
            .with_script([fails(down()), fails(between), fails(down())])
            .build();
        for _ in 0..3 {
            server.find().await;
        }
        let left_alone = server.find().await.summary() != "ok";
        assert_eq!(left_alone, opens);
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_64_calls_probes_and_its_success_closes_the_breaker() {
    let server = ServerBuilder::default()
        .with_breaker_after(1)
        .with_one_attempt()
        .with_script([fails(down()), vec![AdapterStep::Take(SECOND)]])
        .build();
    server.create().await;
    assert_eq!(
        server.create().await.summary(),
        "4002 retryable none 5000ms"
    );
    advance(5 * SECOND).await;
    let summary = join_all((0..64).map(|_| server.create())).await;
    let mut summary: Vec<_> = summary.iter().map(|response| response.summary()).collect();
    summary.sort_unstable();
    assert_eq!(summary[..63], vec!["4002 retryable none 5000ms"; 63]);
    assert_eq!(summary[63], "ok");
    assert_eq!(server.adapter.count(), 2);
    let summary = join_all((0..64).map(|_| server.create())).await;
    assert!(summary.iter().all(|response| response.summary() == "ok"));
    assert_eq!(server.adapter.count(), 66);
}

#[tokio::test(start_paused = true)]
async fn failed_probe_keeps_the_breaker_open() {
    let server = ServerBuilder::default()
        .with_breaker_after(1)
        .with_one_attempt()
        .with_script([fails(down()), fails(down())])
        .build();
    server.find().await;
    advance(5 * SECOND).await;
    assert_eq!(server.find().await.summary(), "4002 retryable none 1000ms");
    advance(4 * SECOND).await;
    assert_eq!(server.find().await.summary(), "4002 retryable none 1000ms");
    assert_eq!(server.adapter.count(), 2);
    advance(SECOND).await;
    assert_eq!(server.find().await.summary(), "ok");
}

#[tokio::test(start_paused = true)]
async fn cancelled_probe_makes_room_for_the_next() {
    let server = ServerBuilder::default()
        .with_breaker_after(1)
        .with_one_attempt()
        .with_script([fails(down()), vec![AdapterStep::Hang]])
        .build();
    server.find().await;
    advance(5 * SECOND).await;
    let cancel = CancellationToken::new();
    let probe = server.call_until(call("get-orders", json!({})), cancel.clone());
    let (probe, ()) = tokio::join!(probe, async { cancel.cancel() });
    assert_eq!(probe.summary(), "3002 retryable none");
    assert_eq!(server.adapter.dropped(), 1);
    assert_eq!(server.find().await.summary(), "ok");
}

/// Returns the gauges of the breakers.
fn gauges(metrics: &MetricsHub) -> String {
    let text = metrics.text();
    let gauges = text
        .lines()
        .filter_map(|line| line.strip_prefix("candor_orders_breaker_open"));
    let mut gauges: Vec<_> = gauges.collect();
    gauges.sort_unstable();
    gauges.join(" ")
}

#[tokio::test(start_paused = true)]
async fn opening_and_closing_are_logged_and_shown() {
    let log = Log::default();
    let listening = log.listen();
    let server = ServerBuilder::default()
        .with_breaker_after(2)
        .with_one_attempt()
        .with_script([
            fails(down()),
            fails(down()),
            fails(down()),
            vec![],
            fails(down()),
            fails(down()),
        ])
        .build();
    let closed = r#"{breaker="changes"} 0 {breaker="queries"} 0"#;
    let open = r#"{breaker="changes"} 0 {breaker="queries"} 1"#;
    assert_eq!(gauges(&server.metrics), closed);
    server.find().await;
    assert_eq!(gauges(&server.metrics), closed);
    server.find().await;
    assert_eq!(gauges(&server.metrics), open);
    // A refused call and a probe that fails change nothing.
    server.find().await;
    advance(5 * SECOND).await;
    server.find().await;
    advance(5 * SECOND).await;
    assert_eq!(gauges(&server.metrics), open);
    assert_eq!(server.find().await.summary(), "ok");
    assert_eq!(gauges(&server.metrics), closed);
    // Less than ten seconds later: the last line is about the current state.
    server.find().await;
    server.find().await;
    assert_eq!(gauges(&server.metrics), open);
    drop(listening);
    let text = log.text();
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.contains("breaker"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    WARN candor_orders::failure_log: a breaker has opened: the order system is not called for a while breaker="queries" openings=1 tool="get-orders" client="default"
    WARN candor_orders::failure_log: a breaker has closed: the order system answers again breaker="queries" openings=1 tool="get-orders" client="default"
    WARN candor_orders::failure_log: a breaker has opened: the order system is not called for a while breaker="queries" openings=2 tool="get-orders" client="default"
    "#);
}

#[tokio::test]
async fn server_without_breakers_shows_none() {
    let server = ServerBuilder::default().build();
    server.find().await;
    assert_eq!(gauges(&server.metrics), "");
}
