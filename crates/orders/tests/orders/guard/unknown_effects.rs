//! Answers about changes whose effect is unknown.

use crate::fixture::guarded::{SECOND, ServerBuilder};
use crate::fixture::scripted_adapter::{AdapterStep, Steps, fails};
use candor_orders::{Failure, RefusalReason};

fn down() -> Failure {
    Failure::Unavailable(None, None)
}

/// An attempt without an answer.
fn lost() -> Steps {
    vec![AdapterStep::Begin, AdapterStep::Fail(down())]
}

/// Returns the summary after two attempts.
async fn after(first: Steps, second: Steps) -> String {
    let mut builder = ServerBuilder::default().with_script([first, second]);
    builder.config.guard.retry.attempts = 2.try_into().unwrap();
    builder.build().create().await.summary()
}

#[tokio::test(start_paused = true)]
async fn unknown_outcome_without_keys_is_not_retried() {
    for failure in [down(), Failure::TimedOut(None)] {
        let steps = vec![AdapterStep::Begin, AdapterStep::Fail(failure)];
        let server = ServerBuilder::default()
            .without_keys()
            .with_every_call(steps)
            .build();
        let summary = server.create().await.summary();
        assert_eq!(summary, "4001 OUTCOME_UNKNOWN unknown");
        assert_eq!(server.adapter.count(), 1);
    }
    let hang = vec![AdapterStep::Begin, AdapterStep::Hang];
    let server = ServerBuilder::default()
        .without_keys()
        .with_every_call(hang)
        .build();
    let summary = server.create().await.summary();
    assert_eq!(summary, "4001 OUTCOME_UNKNOWN unknown");
}

#[tokio::test(start_paused = true)]
async fn change_without_effect_may_be_retried_without_keys() {
    let busy = Failure::Busy(Box::new(RefusalReason::BackendRefused.into()), None, None);
    for (steps, expected) in [
        (fails(down()), "4002 retryable none 1000ms"),
        (vec![AdapterStep::Hang], "3002 retryable none"),
        (
            vec![
                AdapterStep::Begin,
                AdapterStep::Undone,
                AdapterStep::Fail(down()),
            ],
            "4002 retryable none 1000ms",
        ),
        // The request was sent, and the order system answered that it had no effect.
        (
            vec![
                AdapterStep::Begin,
                AdapterStep::Fail(Failure::Limited(SECOND, None)),
            ],
            "3001 retryable none 1000ms",
        ),
        (
            vec![AdapterStep::Begin, AdapterStep::Fail(busy)],
            "4001 BACKEND_REFUSED retryable none",
        ),
    ] {
        let server = ServerBuilder::default()
            .without_keys()
            .with_every_call(steps)
            .build();
        assert_eq!(server.create().await.summary(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_outcome_without_keys_opens_the_breaker() {
    let limited = vec![
        AdapterStep::Begin,
        AdapterStep::Fail(Failure::Limited(SECOND, None)),
    ];
    for (steps, reached) in [(lost(), 1), (limited, 3)] {
        let server = ServerBuilder::default()
            .without_keys()
            .with_breaker_after(1)
            .with_every_call(steps)
            .build();
        for _ in 0..3 {
            server.create().await;
        }
        assert_eq!(server.adapter.count(), reached);
    }
}

#[tokio::test(start_paused = true)]
async fn later_refusal_leaves_an_earlier_attempt_unknown() {
    let unknown = "4002 retryable unknown 1000ms";
    let limited = Failure::Limited(3 * SECOND, None);
    assert_eq!(
        after(lost(), fails(limited)).await,
        "4002 retryable unknown 3000ms"
    );
    let busy = Failure::Busy(Box::new(RefusalReason::BackendRefused.into()), None, None);
    assert_eq!(after(lost(), fails(busy)).await, unknown);
    assert_eq!(after(lost(), fails(Failure::Unsupported)).await, unknown);
    assert_eq!(
        after(lost(), fails(RefusalReason::AdapterUnauthorized)).await,
        unknown
    );
    let undone = vec![
        AdapterStep::Begin,
        AdapterStep::Undone,
        AdapterStep::Fail(down()),
    ];
    assert_eq!(after(lost(), undone.clone()).await, unknown);
    let hang = vec![AdapterStep::Begin, AdapterStep::Undone, AdapterStep::Hang];
    assert_eq!(after(lost(), hang).await, "3002 retryable unknown");
    // The first attempt had no effect, so the refusal is true for the whole call.
    let limited = Failure::Limited(3 * SECOND, None);
    assert_eq!(
        after(undone, fails(limited)).await,
        "3001 retryable none 3000ms"
    );
}

#[tokio::test(start_paused = true)]
async fn refusal_after_a_lost_answer_is_believed_if_keys_are_kept() {
    let refused = fails(RefusalReason::InsufficientInventory);
    let summary = after(lost(), refused).await;
    assert_eq!(summary, "4001 INSUFFICIENT_INVENTORY none");
    assert_eq!(after(lost(), vec![]).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn invalid_answer_to_a_change_leaves_its_effect_unknown() {
    let garbage = vec![
        AdapterStep::Begin,
        AdapterStep::Fail(RefusalReason::InvalidAdapterResponse.into()),
    ];
    let server = ServerBuilder::default().with_every_call(garbage).build();
    let summary = server.create().await.summary();
    assert_eq!(summary, "4001 INVALID_ADAPTER_RESPONSE unknown");
}
