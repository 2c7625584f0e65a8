//! When the order system is left alone, and when it is asked again.

use crate::house::{Plan, SECOND, call};
use crate::scripted::{Step, fails};
use candor_fault::Cause;
use candor_orders::{Failure, OrderRule, RefusalReason, RuleViolation};
use candor_street::CancellationToken;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::advance;

fn down() -> Failure {
    Failure::Unavailable(None, None)
}

/// How many calls of ten reach an order system that always fails so.
async fn reached(failure: Failure) -> usize {
    let house = Plan::default()
        .breaking_after(4)
        .once()
        .always(fails(failure))
        .house();
    for _ in 0..10 {
        house.find().await;
    }
    house.adapter.count()
}

#[tokio::test(start_paused = true)]
async fn trouble_counts_and_answers_do_not() {
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
async fn a_hang_counts() {
    let house = Plan::default()
        .breaking_after(2)
        .always(vec![Step::Hang])
        .house();
    for _ in 0..2 {
        assert_eq!(house.find().await.told(), "3002 retryable none");
    }
    assert_eq!(house.find().await.told(), "4002 retryable none 5000ms");
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_a_row_of_failures_and_what_says_nothing_does_not() {
    let broken = Failure::Internal("a table", Box::new(Cause::from("gone")));
    for (between, opens) in [(RefusalReason::OrderNotFound.into(), false), (broken, true)] {
        let house = Plan::default()
            .breaking_after(2)
            .once()
            .script([fails(down()), fails(between), fails(down())])
            .house();
        for _ in 0..3 {
            house.find().await;
        }
        let left_alone = house.find().await.told() != "ok";
        assert_eq!(left_alone, opens);
    }
}

#[tokio::test(start_paused = true)]
async fn of_64_calls_exactly_one_probes_and_its_success_closes() {
    let house = Plan::default()
        .breaking_after(1)
        .once()
        .script([fails(down()), vec![Step::Take(SECOND)]])
        .house();
    house.create().await;
    assert_eq!(house.create().await.told(), "4002 retryable none 5000ms");
    advance(5 * SECOND).await;
    let told = join_all((0..64).map(|_| house.create())).await;
    let mut told: Vec<_> = told.iter().map(|said| said.told()).collect();
    told.sort_unstable();
    assert_eq!(told[..63], vec!["4002 retryable none 5000ms"; 63]);
    assert_eq!(told[63], "ok");
    assert_eq!(house.adapter.count(), 2);
    let told = join_all((0..64).map(|_| house.create())).await;
    assert!(told.iter().all(|said| said.told() == "ok"));
    assert_eq!(house.adapter.count(), 66);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_opens_for_another_pause() {
    let house = Plan::default()
        .breaking_after(1)
        .once()
        .script([fails(down()), fails(down())])
        .house();
    house.find().await;
    advance(5 * SECOND).await;
    assert_eq!(house.find().await.told(), "4002 retryable none 1000ms");
    advance(4 * SECOND).await;
    assert_eq!(house.find().await.told(), "4002 retryable none 1000ms");
    assert_eq!(house.adapter.count(), 2);
    advance(SECOND).await;
    assert_eq!(house.find().await.told(), "ok");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_cancelled_makes_room_for_the_next() {
    let house = Plan::default()
        .breaking_after(1)
        .once()
        .script([fails(down()), vec![Step::Hang]])
        .house();
    house.find().await;
    advance(5 * SECOND).await;
    let cancel = CancellationToken::new();
    let probe = house.begin(call(None, "get-orders", json!({})), cancel.clone());
    let (probe, ()) = tokio::join!(probe, async { cancel.cancel() });
    assert_eq!(probe.told(), "3002 retryable none");
    assert_eq!(house.adapter.dropped(), 1);
    assert_eq!(house.find().await.told(), "ok");
}
