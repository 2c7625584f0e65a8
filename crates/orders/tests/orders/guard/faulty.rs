//! The adapter that fails on demand, behind the guard.

use crate::fixture::guarded::{GuardedServer, SECOND, ServerBuilder};
use crate::fixture::scripted_adapter::AdapterStep;
use candor_orders::faulty::{FaultyAdapter, Script};
use futures_util::future::join_all;
use std::sync::Arc;
use tokio::time::Instant;

fn faulty(builder: ServerBuilder, rules: &str) -> GuardedServer {
    let script = Script::read(&format!(r#"{{"seed":7,"rules":[{rules}]}}"#)).unwrap();
    builder.build_with(|inner| Arc::new(FaultyAdapter::new(inner, script)))
}

/// An order system that commits every change.
fn committing() -> ServerBuilder {
    ServerBuilder::default()
        .with_one_attempt()
        .with_every_call(vec![AdapterStep::Begin, AdapterStep::Done])
}

/// Creates the first order of an order system with this fault. Returns the summary and the number
/// of requests that reached the system.
async fn first(builder: ServerBuilder, fault: &str) -> (String, usize) {
    let server = faulty(builder, &format!(r#"{{"calls":[1],"fault":{fault}}}"#));
    let summary = server.create().await.summary();
    (summary, server.adapter.count())
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_fault_has_its_answer() {
    for (fault, summary, received) in [
        (r#"{"kind":"latency","ms":500}"#, "ok", 1),
        (r#"{"kind":"latency","ms":10001}"#, "3002 retryable none", 0),
        (r#"{"kind":"unavailable"}"#, "4002 retryable none 1000ms", 0),
        (
            r#"{"kind":"unavailable","retryAfterMs":70}"#,
            "4002 retryable none 70ms",
            0,
        ),
        (r#"{"kind":"timeout"}"#, "3002 retryable none", 0),
        (
            r#"{"kind":"limited","retryAfterMs":70}"#,
            "3001 retryable none 70ms",
            0,
        ),
        (
            r#"{"kind":"refused","originalError":"CREDIT_HOLD","retryable":false}"#,
            "4001 CREDIT_HOLD none",
            0,
        ),
        (
            r#"{"kind":"refused","originalError":"CREDIT_HOLD","retryable":true}"#,
            "4001 CREDIT_HOLD retryable none",
            0,
        ),
        (r#"{"kind":"unsupported"}"#, "5001 none", 0),
        (
            r#"{"kind":"garbage"}"#,
            "4001 INVALID_ADAPTER_RESPONSE none",
            0,
        ),
        (r#"{"kind":"hang"}"#, "3002 retryable none", 0),
        // Committed, but without an answer.
        (
            r#"{"kind":"lost-answer"}"#,
            "4002 retryable unknown 1000ms",
            1,
        ),
        (r#"{"kind":"lost-hang"}"#, "3002 retryable unknown", 1),
    ] {
        let (found, count) = first(committing(), fault).await;
        assert_eq!((found.as_str(), count), (summary, received), "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn lost_answer_without_keys_is_an_unknown_outcome() {
    for fault in [r#"{"kind":"lost-answer"}"#, r#"{"kind":"lost-hang"}"#] {
        let (summary, received) = first(committing().without_keys(), fault).await;
        assert_eq!(
            (summary.as_str(), received),
            ("4001 OUTCOME_UNKNOWN unknown", 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn lost_answer_of_a_query_has_no_effect() {
    let server = faulty(
        ServerBuilder::default().with_one_attempt(),
        r#"{"every":1,"fault":{"kind":"lost-answer"}}"#,
    );
    assert_eq!(server.find().await.summary(), "4002 retryable none 1000ms");
}

#[tokio::test(start_paused = true)]
async fn lost_answer_is_retried_with_keys() {
    let builder =
        ServerBuilder::default().with_every_call(vec![AdapterStep::Begin, AdapterStep::Done]);
    let server = faulty(builder, r#"{"calls":[1,2],"fault":{"kind":"lost-answer"}}"#);
    assert_eq!(server.create().await.summary(), "ok");
    assert_eq!(server.adapter.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn latency_is_added_to_the_next_fault() {
    let rules = r#"{"every":1,"fault":{"kind":"latency","ms":3000}},{"every":1,"fault":{"kind":"unsupported"}}"#;
    let (server, start) = (faulty(committing(), rules), Instant::now());
    assert_eq!(server.create().await.summary(), "5001 none");
    assert_eq!(start.elapsed(), 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn script_gives_the_same_faults_to_concurrent_calls() {
    let rules = r#"{"every":1,"fault":{"kind":"latency","ms":10}},{"percent":30,"fault":{"kind":"unsupported"}}"#;
    let lonely = faulty(ServerBuilder::default().with_one_attempt(), rules);
    let mut alone = Vec::new();
    for _ in 0..200 {
        alone.push(lonely.find().await.summary());
    }
    let crowd = faulty(ServerBuilder::default().with_one_attempt(), rules);
    let crowded = join_all((0..200).map(|_| crowd.find())).await;
    let crowded: Vec<_> = crowded.iter().map(|response| response.summary()).collect();
    // Concurrent calls start one after another, so they have the same numbers.
    assert_eq!(alone, crowded);
    let failed = alone.iter().filter(|summary| *summary != "ok").count();
    assert!((40..=80).contains(&failed), "{failed}");
}
