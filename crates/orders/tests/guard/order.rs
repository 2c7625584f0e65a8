//! Limiter, breaker, deadline, retry: the order in which a call meets them.

use crate::house::{Plan, SECOND};
use crate::scripted::{Step, fails};
use candor_orders::Failure;
use std::num::NonZeroU32;
use tokio::time::{Instant, advance};

fn down() -> Failure {
    Failure::Unavailable(None, None)
}

#[tokio::test(start_paused = true)]
async fn the_limiter_stands_before_the_breaker() {
    let mut plan = Plan::default()
        .breaking_after(1)
        .once()
        .always(fails(down()));
    plan.config.calls_a_minute = NonZeroU32::new(2);
    let house = plan.house();
    assert_eq!(house.find().await.told(), "4002 retryable none 1000ms");
    assert_eq!(house.find().await.told(), "4002 retryable none 5000ms");
    assert_eq!(house.find().await.told(), "3001 retryable none 60000ms");
    // A limited call is no probe either.
    advance(5 * SECOND).await;
    assert_eq!(house.find().await.told(), "3001 retryable none 55000ms");
    assert_eq!(house.adapter.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_breaker_stands_before_the_deadline() {
    let house = Plan::default()
        .breaking_after(1)
        .once()
        .script([fails(down())])
        .always(vec![Step::Hang])
        .house();
    house.find().await;
    let begun = Instant::now();
    assert_eq!(house.find().await.told(), "4002 retryable none 5000ms");
    assert_eq!((begun.elapsed().as_secs(), house.adapter.count()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_breaker_counts_calls_and_not_attempts() {
    let house = Plan::default()
        .breaking_after(2)
        .always(fails(down()))
        .house();
    assert_eq!(house.find().await.told(), "4002 retryable none 1000ms");
    assert_eq!(house.adapter.count(), 3);
    assert_eq!(house.find().await.told(), "4002 retryable none 1000ms");
    assert_eq!(house.adapter.count(), 6);
    assert_eq!(house.find().await.told(), "4002 retryable none 5000ms");
    assert_eq!(house.adapter.count(), 6);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_stands_around_all_attempts() {
    let slow = vec![Step::Take(4 * SECOND), Step::Fail(down())];
    let house = Plan::default().always(slow).house();
    let begun = Instant::now();
    assert_eq!(house.find().await.told(), "3002 retryable none");
    assert_eq!(begun.elapsed(), 10 * SECOND);
    assert_eq!((house.adapter.count(), house.adapter.dropped()), (3, 1));
}
