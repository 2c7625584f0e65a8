//! A call ends at its deadline, and nothing of it goes on.

use crate::fixture::guarded::{SECOND, ServerBuilder};
use crate::fixture::scripted_adapter::{AdapterStep, Steps};
use tokio::time::Instant;

async fn cut(steps: Steps) -> String {
    let server = ServerBuilder::default().with_every_call(steps).build();
    let start = Instant::now();
    let summary = server.create().await.summary();
    assert_eq!(start.elapsed(), 10 * SECOND);
    assert_eq!((server.adapter.count(), server.adapter.dropped()), (1, 1));
    summary
}

#[tokio::test(start_paused = true)]
async fn hanging_call_times_out_with_the_effect_of_its_mark() {
    assert_eq!(cut(vec![AdapterStep::Hang]).await, "3002 retryable none");
    let start = vec![AdapterStep::Begin, AdapterStep::Hang];
    assert_eq!(cut(start).await, "3002 retryable unknown");
    let undone = vec![AdapterStep::Begin, AdapterStep::Undone, AdapterStep::Hang];
    assert_eq!(cut(undone).await, "3002 retryable none");
    let done = vec![AdapterStep::Begin, AdapterStep::Done, AdapterStep::Hang];
    assert_eq!(cut(done).await, "3002 retryable done");
}

#[tokio::test(start_paused = true)]
async fn call_within_its_deadline_completes() {
    let almost = 10 * SECOND - SECOND / 100;
    let server = ServerBuilder::default()
        .with_every_call(vec![AdapterStep::Take(almost)])
        .build();
    assert_eq!(server.find().await.summary(), "ok");
}

#[tokio::test(start_paused = true)]
async fn deadline_is_configurable() {
    let mut builder = ServerBuilder::default().with_every_call(vec![AdapterStep::Hang]);
    builder.config.guard.deadline = SECOND / 2;
    let (server, start) = (builder.build(), Instant::now());
    assert_eq!(server.find().await.summary(), "3002 retryable none");
    assert_eq!(start.elapsed(), SECOND / 2);
}
