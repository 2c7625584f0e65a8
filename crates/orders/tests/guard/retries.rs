//! What is tried again, when, and how often.

use crate::house::{House, Plan, SECOND};
use crate::scripted::{Step, Steps, fails};
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

/// When the attempts of one call began, counted from the call.
async fn begins(house: &House, begun: Instant) -> Vec<u128> {
    let asked = house.adapter.asked();
    let since = asked.iter().map(|one| (one.at - begun).as_millis());
    since.collect()
}

#[tokio::test(start_paused = true)]
async fn reads_are_tried_again_and_changes_where_keys_are_kept() {
    let script = || vec![fails(down()), fails(Failure::TimedOut(None))];
    let house = Plan::default().script(script()).house();
    assert_eq!(house.find().await.told(), "ok");
    assert_eq!(house.adapter.count(), 3);
    let house = Plan::default().script(script()).house();
    assert_eq!(house.create().await.told(), "ok");
    assert_eq!(house.adapter.count(), 3);
    let house = Plan::default().keyless().script(script()).house();
    assert_eq!(house.create().await.told(), "4002 retryable none 1000ms");
    assert_eq!(house.adapter.count(), 1);
    let house = Plan::default().keyless().script(script()).house();
    assert_eq!(house.find().await.told(), "ok");
    assert_eq!(house.adapter.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_would_come_again_is_not_tried_again() {
    for failure in [
        RefusalReason::OrderNotFound.into(),
        RefusalReason::InvalidAdapterResponse.into(),
        Failure::Unsupported,
    ] {
        let house = Plan::default().always(fails(failure)).house();
        house.find().await;
        assert_eq!(house.adapter.count(), 1);
    }
    let house = Plan::default().always(fails(busy(None))).house();
    let told = house.find().await.told();
    assert_eq!(told, "4001 BACKEND_REFUSED retryable none");
    assert_eq!(house.adapter.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_random_between_nothing_and_a_doubling_bound() {
    for (random, wanted) in [
        (0, [0, 0, 0]),
        (1 << 63, [0, 50, 150]),
        (u64::MAX, [0, 100, 300]),
    ] {
        let mut plan = Plan::default().always(fails(down()));
        plan.random = random;
        let (house, begun) = (plan.house(), Instant::now());
        house.find().await;
        // A timer may wake a millisecond late.
        let begins = begins(&house, begun).await;
        let late = begins
            .iter()
            .zip(wanted)
            .map(|(found, wanted)| found - wanted);
        assert!(late.clone().all(|late| late <= 2), "{begins:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_budget_bounds_the_retries_of_all_calls() {
    let mut plan = Plan::default().always(fails(down()));
    plan.config.guard.retry_floor = NonZeroU32::new(3).unwrap();
    plan.config.guard.retry_percent = 50;
    let house = plan.house();
    let mut attempts = Vec::new();
    for _ in 0..6 {
        let before = house.adapter.count();
        house.find().await;
        attempts.push(house.adapter.count() - before);
    }
    // Three saved up, then one for every second call.
    assert_eq!(attempts, [3, 2, 2, 1, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_order_system_asks_for_is_kept() {
    for failure in [
        Failure::Unavailable(Some(2 * SECOND), None),
        Failure::Limited(2 * SECOND, None),
        busy(Some(2 * SECOND)),
    ] {
        let house = Plan::default().script([fails(failure)]).house();
        let begun = Instant::now();
        assert_eq!(house.find().await.told(), "ok");
        let begins = begins(&house, begun).await;
        assert!((2000..=2002).contains(&begins[1]), "{begins:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_is_left_to_the_client() {
    // The first is longer than the deadline, the second than the owner's patience.
    for (wait, patience) in [(11, 30), (3, 2)] {
        let wait = Duration::from_secs(wait);
        let mut plan = Plan::default().always(fails(Failure::Limited(wait, None)));
        plan.config.guard.retry.patience = Duration::from_secs(patience);
        let (house, begun) = (plan.house(), Instant::now());
        let told = house.find().await.told();
        assert_eq!(told, format!("3001 retryable none {}ms", wait.as_millis()));
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert_eq!(house.adapter.count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_past_the_deadline() {
    let late: Steps = vec![Step::Take(10 * SECOND - SECOND / 20), Step::Fail(down())];
    let mut plan = Plan::default().always(late);
    plan.random = u64::MAX;
    let (house, begun) = (plan.house(), Instant::now());
    // The failure itself is the answer: nobody waits for a deadline that no attempt would use.
    assert_eq!(house.find().await.told(), "4002 retryable none 1000ms");
    assert!(begun.elapsed() < 10 * SECOND);
    assert_eq!((house.adapter.count(), house.adapter.dropped()), (1, 0));
}
