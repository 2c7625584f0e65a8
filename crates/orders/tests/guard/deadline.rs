//! A call whose time is over ends, and nothing of it goes on.

use crate::house::{Plan, SECOND};
use crate::scripted::{Step, Steps};
use tokio::time::Instant;

async fn cut(steps: Steps) -> String {
    let house = Plan::default().always(steps).house();
    let begun = Instant::now();
    let told = house.create().await.told();
    assert_eq!(begun.elapsed(), 10 * SECOND);
    assert_eq!((house.adapter.count(), house.adapter.dropped()), (1, 1));
    told
}

#[tokio::test(start_paused = true)]
async fn a_hang_is_cut_and_dropped_with_the_effect_that_the_mark_knows() {
    assert_eq!(cut(vec![Step::Hang]).await, "3002 retryable none");
    let begun = vec![Step::Begin, Step::Hang];
    assert_eq!(cut(begun).await, "3002 retryable unknown");
    let undone = vec![Step::Begin, Step::Undone, Step::Hang];
    assert_eq!(cut(undone).await, "3002 retryable none");
    let done = vec![Step::Begin, Step::Done, Step::Hang];
    assert_eq!(cut(done).await, "3002 retryable done");
}

#[tokio::test(start_paused = true)]
async fn a_call_within_its_time_is_not_cut() {
    let almost = 10 * SECOND - SECOND / 100;
    let house = Plan::default().always(vec![Step::Take(almost)]).house();
    assert_eq!(house.find().await.told(), "ok");
}

#[tokio::test(start_paused = true)]
async fn the_owner_says_how_long() {
    let mut plan = Plan::default().always(vec![Step::Hang]);
    plan.config.guard.deadline = SECOND / 2;
    let (house, begun) = (plan.house(), Instant::now());
    assert_eq!(house.find().await.told(), "3002 retryable none");
    assert_eq!(begun.elapsed(), SECOND / 2);
}
