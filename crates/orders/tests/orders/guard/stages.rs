//! Limiter, breaker, deadline and retry: their order on the path of a call.

use crate::fixture::guarded::{SECOND, ServerBuilder};
use crate::fixture::scripted_adapter::{AdapterStep, fails};
use candor_orders::Failure;
use std::num::NonZeroU32;
use tokio::time::{Instant, advance};

fn down() -> Failure {
    Failure::Unavailable(None, None)
}

#[tokio::test(start_paused = true)]
async fn limiter_comes_before_the_breaker() {
    let mut builder = ServerBuilder::default()
        .with_breaker_after(1)
        .with_one_attempt()
        .with_every_call(fails(down()));
    builder.config.calls_a_minute = NonZeroU32::new(2);
    let server = builder.build();
    assert_eq!(server.find().await.summary(), "4002 retryable none 1000ms");
    assert_eq!(server.find().await.summary(), "4002 retryable none 5000ms");
    assert_eq!(server.find().await.summary(), "3001 retryable none 60000ms");
    // A limited call is not a probe either.
    advance(5 * SECOND).await;
    assert_eq!(server.find().await.summary(), "3001 retryable none 55000ms");
    assert_eq!(server.adapter.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn breaker_comes_before_the_deadline() {
    let server = ServerBuilder::default()
        .with_breaker_after(1)
        .with_one_attempt()
        .with_script([fails(down())])
        .with_every_call(vec![AdapterStep::Hang])
        .build();
    server.find().await;
    let start = Instant::now();
    assert_eq!(server.find().await.summary(), "4002 retryable none 5000ms");
    assert_eq!((start.elapsed().as_secs(), server.adapter.count()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn breaker_counts_calls_and_not_attempts() {
    let server = ServerBuilder::default()
        .with_breaker_after(2)
        .with_every_call(fails(down()))
        .build();
    assert_eq!(server.find().await.summary(), "4002 retryable none 1000ms");
    assert_eq!(server.adapter.count(), 3);
    assert_eq!(server.find().await.summary(), "4002 retryable none 1000ms");
    assert_eq!(server.adapter.count(), 6);
    assert_eq!(server.find().await.summary(), "4002 retryable none 5000ms");
    assert_eq!(server.adapter.count(), 6);
}

#[tokio::test(start_paused = true)]
async fn deadline_includes_all_attempts() {
    let slow = vec![AdapterStep::Take(4 * SECOND), AdapterStep::Fail(down())];
    let server = ServerBuilder::default().with_every_call(slow).build();
    let start = Instant::now();
    assert_eq!(server.find().await.summary(), "3002 retryable none");
    assert_eq!(start.elapsed(), 10 * SECOND);
    assert_eq!((server.adapter.count(), server.adapter.dropped()), (3, 1));
}
