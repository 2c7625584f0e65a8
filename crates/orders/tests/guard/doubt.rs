//! What is said about a change that may have been made.

use crate::house::{Plan, SECOND};
use crate::scripted::{Step, Steps, fails};
use candor_orders::{Failure, RefusalReason};

fn down() -> Failure {
    Failure::Unavailable(None, None)
}

/// An attempt that was sent and whose answer did not come.
fn lost() -> Steps {
    vec![Step::Begin, Step::Fail(down())]
}

/// What two attempts come to.
async fn after(first: Steps, second: Steps) -> String {
    let mut plan = Plan::default().script([first, second]);
    plan.config.guard.retry.attempts = 2.try_into().unwrap();
    plan.house().create().await.told()
}

#[tokio::test(start_paused = true)]
async fn without_keys_an_unknown_outcome_is_not_to_be_tried_again() {
    for failure in [down(), Failure::TimedOut(None)] {
        let steps = vec![Step::Begin, Step::Fail(failure)];
        let house = Plan::default().keyless().always(steps).house();
        let told = house.create().await.told();
        assert_eq!(told, "4001 OUTCOME_UNKNOWN unknown");
        assert_eq!(house.adapter.count(), 1);
    }
    let hang = vec![Step::Begin, Step::Hang];
    let house = Plan::default().keyless().always(hang).house();
    let told = house.create().await.told();
    assert_eq!(told, "4001 OUTCOME_UNKNOWN unknown");
}

#[tokio::test(start_paused = true)]
async fn without_keys_what_did_not_begin_or_was_refused_may_be_tried_again() {
    let busy = Failure::Busy(Box::new(RefusalReason::BackendRefused.into()), None, None);
    for (steps, wanted) in [
        (fails(down()), "4002 retryable none 1000ms"),
        (vec![Step::Hang], "3002 retryable none"),
        (
            vec![Step::Begin, Step::Undone, Step::Fail(down())],
            "4002 retryable none 1000ms",
        ),
        // A request was sent, and the order system said that it did nothing.
        (
            vec![Step::Begin, Step::Fail(Failure::Limited(SECOND, None))],
            "3001 retryable none 1000ms",
        ),
        (
            vec![Step::Begin, Step::Fail(busy)],
            "4001 BACKEND_REFUSED retryable none",
        ),
    ] {
        let house = Plan::default().keyless().always(steps).house();
        assert_eq!(house.create().await.told(), wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn without_keys_trouble_with_an_unknown_outcome_opens_the_breaker_and_a_no_does_not() {
    let limited = vec![Step::Begin, Step::Fail(Failure::Limited(SECOND, None))];
    for (steps, reached) in [(lost(), 1), (limited, 3)] {
        let house = Plan::default()
            .keyless()
            .breaking_after(1)
            .always(steps)
            .house();
        for _ in 0..3 {
            house.create().await;
        }
        assert_eq!(house.adapter.count(), reached);
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_no_does_not_say_what_became_of_an_earlier_attempt() {
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
    let undone = vec![Step::Begin, Step::Undone, Step::Fail(down())];
    assert_eq!(after(lost(), undone.clone()).await, unknown);
    let hang = vec![Step::Begin, Step::Undone, Step::Hang];
    assert_eq!(after(lost(), hang).await, "3002 retryable unknown");
    // Nothing was sent before, or it was taken back: the no is about all there was.
    let limited = Failure::Limited(3 * SECOND, None);
    assert_eq!(
        after(undone, fails(limited)).await,
        "3001 retryable none 3000ms"
    );
}

#[tokio::test(start_paused = true)]
async fn an_order_system_that_looked_the_key_up_is_believed() {
    let refused = fails(RefusalReason::InsufficientInventory);
    let told = after(lost(), refused).await;
    assert_eq!(told, "4001 INSUFFICIENT_INVENTORY none");
    assert_eq!(after(lost(), vec![]).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn a_useless_answer_to_a_change_leaves_its_effect_unknown() {
    let garbage = vec![
        Step::Begin,
        Step::Fail(RefusalReason::InvalidAdapterResponse.into()),
    ];
    let house = Plan::default().always(garbage).house();
    let told = house.create().await.told();
    assert_eq!(told, "4001 INVALID_ADAPTER_RESPONSE unknown");
}
