//! Retries: which failures, when, and how often.

use crate::fixture::guarded::{GuardedServer, SECOND, ServerBuilder};
use crate::fixture::scripted_adapter::{AdapterStep, Steps, fails};
use candor_orders::{Failure, RefusalReason};
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::Instant;

fn down() -> Failure {
    Failure::Unavailable(None, None)
}

fn busy(after: Option<Duration>) -> Failure {
    Failure::Busy(Box::new(RefusalReason::BackendRefused.into()), after, None)
}

/// Returns the start times of the attempts, in milliseconds after the call.
async fn begins(server: &GuardedServer, start: Instant) -> Vec<u128> {
    let received = server.adapter.received();
    let since = received.iter().map(|one| (one.at - start).as_millis());
    since.collect()
}

#[tokio::test(start_paused = true)]
async fn queries_are_retried_and_changes_only_with_keys() {
    let with_script = || vec![fails(down()), fails(Failure::TimedOut(None))];
    let server = ServerBuilder::default().with_script(with_script()).build();
    assert_eq!(server.find().await.summary(), "ok");
    assert_eq!(server.adapter.count(), 3);
    let server = ServerBuilder::default().with_script(with_script()).build();
    assert_eq!(server.create().await.summary(), "ok");
    assert_eq!(server.adapter.count(), 3);
    let server = ServerBuilder::default()
        .without_keys()
        .with_script(with_script())
        .build();
    assert_eq!(
        server.create().await.summary(),
        "4002 retryable none 1000ms"
    );
    assert_eq!(server.adapter.count(), 1);
    let server = ServerBuilder::default()
        .without_keys()
        .with_script(with_script())
        .build();
    assert_eq!(server.find().await.summary(), "ok");
    assert_eq!(server.adapter.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn final_failures_are_not_retried() {
    for failure in [
        RefusalReason::OrderNotFound.into(),
        RefusalReason::InvalidAdapterResponse.into(),
        Failure::Unsupported,
    ] {
        let server = ServerBuilder::default()
            .with_every_call(fails(failure))
            .build();
        server.find().await;
        assert_eq!(server.adapter.count(), 1);
    }
    let server = ServerBuilder::default()
        .with_every_call(fails(busy(None)))
        .build();
    let summary = server.find().await.summary();
    assert_eq!(summary, "4001 BACKEND_REFUSED retryable none");
    assert_eq!(server.adapter.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn retry_wait_is_random_up_to_a_doubling_bound() {
    for (random, expected) in [
        (0, [0, 0, 0]),
        (1 << 63, [0, 50, 150]),
        (u64::MAX, [0, 100, 300]),
    ] {
        let mut builder = ServerBuilder::default().with_every_call(fails(down()));
        builder.random = random;
        let (server, start) = (builder.build(), Instant::now());
        server.find().await;
        // A timer may wake a millisecond late.
        let begins = begins(&server, start).await;
        let late = begins
            .iter()
            .zip(expected)
            .map(|(found, expected)| found - expected);
        assert!(late.clone().all(|late| late <= 2), "{begins:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn budget_bounds_the_retries_of_all_calls() {
    let mut builder = ServerBuilder::default().with_every_call(fails(down()));
    builder.config.guard.retry_floor = NonZeroU32::new(3).unwrap();
    builder.config.guard.retry_percent = 50;
    let server = builder.build();
    let mut attempts = Vec::new();
    for _ in 0..6 {
        let before = server.adapter.count();
        server.find().await;
        attempts.push(server.adapter.count() - before);
    }
    // Three saved up, then one for every second call.
    assert_eq!(attempts, [3, 2, 2, 1, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn requested_wait_is_respected() {
    for failure in [
        Failure::Unavailable(Some(2 * SECOND), None),
        Failure::Limited(2 * SECOND, None),
        busy(Some(2 * SECOND)),
    ] {
        let server = ServerBuilder::default()
            .with_script([fails(failure)])
            .build();
        let start = Instant::now();
        assert_eq!(server.find().await.summary(), "ok");
        let begins = begins(&server, start).await;
        assert!((2000..=2002).contains(&begins[1]), "{begins:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn wait_that_is_too_long_is_left_to_the_client() {
    // The first is longer than the deadline, the second than the owner's patience.
    for (wait, patience) in [(11, 30), (3, 2)] {
        let wait = Duration::from_secs(wait);
        let mut builder =
            ServerBuilder::default().with_every_call(fails(Failure::Limited(wait, None)));
        builder.config.guard.retry.patience = Duration::from_secs(patience);
        let (server, start) = (builder.build(), Instant::now());
        let summary = server.find().await.summary();
        assert_eq!(
            summary,
            format!("3001 retryable none {}ms", wait.as_millis())
        );
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(server.adapter.count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_retried_past_the_deadline() {
    let late: Steps = vec![
        AdapterStep::Take(10 * SECOND - SECOND / 20),
        AdapterStep::Fail(down()),
    ];
    let mut builder = ServerBuilder::default().with_every_call(late);
    builder.random = u64::MAX;
    let (server, start) = (builder.build(), Instant::now());
    // The failure is the answer: nobody waits for a deadline that no attempt would use.
    assert_eq!(server.find().await.summary(), "4002 retryable none 1000ms");
    assert!(start.elapsed() < 10 * SECOND);
    assert_eq!((server.adapter.count(), server.adapter.dropped()), (1, 0));
}
