//! The four mechanisms around one call, in the order in which servers put them.

use candor_guard::breaker::BreakerOpen;
use candor_guard::deadline::DeadlineElapsed;
use candor_guard::limiter::LimitExceeded;
use candor_guard::retry::{Retrier, RetryAdvice, RetryBudget, RetryPolicy, Retryable};
use candor_guard::{Breaker, Deadline, Limiter, Quota};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::{Instant, advance, sleep};

#[derive(Debug, PartialEq)]
enum Failure {
    Limited(LimitExceeded),
    Open(BreakerOpen),
    Elapsed(DeadlineElapsed),
    Down,
    Refused,
}

impl Retryable for Failure {
    fn retry_advice(&self) -> RetryAdvice {
        match self {
            Failure::Down => RetryAdvice::Soon,
            _ => RetryAdvice::Never,
        }
    }
}

struct Guarded {
    limiter: Limiter,
    breaker: Breaker,
    retry: Retrier,
    attempts: AtomicU32,
}

impl Guarded {
    fn new(per_minute: u32) -> Arc<Guarded> {
        let number = |n: u32| NonZeroU32::MIN.saturating_add(n - 1);
        let keys = NonZeroUsize::MIN.saturating_add(99);
        Arc::new(Guarded {
            limiter: Limiter::new(Quota::per_minute(number(per_minute)), keys),
            breaker: Breaker::new(number(2), Duration::from_secs(10)),
            retry: Retrier::new(
                RetryPolicy::default(),
                RetryBudget::new(10, number(10)),
                || 1 << 63,
            ),
            attempts: AtomicU32::new(0),
        })
    }

    async fn call(
        &self,
        takes: Duration,
        answer: fn() -> Result<u32, Failure>,
    ) -> Result<u32, Failure> {
        self.limiter.check("client").map_err(Failure::Limited)?;
        let deadline = Deadline::after(Duration::from_secs(2));
        let attempt = |_| async move {
            self.attempts.fetch_add(1, Ordering::Relaxed);
            sleep(takes).await;
            answer()
        };
        let counts = |failure: &Failure| matches!(failure, Failure::Down | Failure::Elapsed(_));
        let work = async {
            let timed = deadline.run(self.retry.run(deadline, attempt)).await;
            timed.map_err(Failure::Elapsed)?
        };
        self.breaker
            .run(counts, work)
            .await
            .map_err(Failure::Open)?
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_run_on_a_task_of_its_own() {
    let guarded = Guarded::new(5);
    let task = tokio::spawn(async move { guarded.call(Duration::ZERO, || Ok(7)).await });
    assert_eq!(task.await.unwrap(), Ok(7));
}

#[tokio::test(start_paused = true)]
async fn a_system_that_is_down_is_retried_then_left_alone() {
    let guarded = Guarded::new(100);
    for _ in 0..2 {
        let down = guarded.call(Duration::ZERO, || Err(Failure::Down)).await;
        assert_eq!(down, Err(Failure::Down));
    }
    assert_eq!(guarded.attempts.load(Ordering::Relaxed), 6);
    let after = Duration::from_secs(10);
    let open = guarded.call(Duration::ZERO, || Ok(1)).await;
    assert_eq!(open, Err(Failure::Open(BreakerOpen { after })));
    assert_eq!(guarded.attempts.load(Ordering::Relaxed), 6);
    advance(after).await;
    assert_eq!(guarded.call(Duration::ZERO, || Ok(1)).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_system_that_says_no_is_not_down() {
    let guarded = Guarded::new(100);
    for _ in 0..5 {
        let no = guarded.call(Duration::ZERO, || Err(Failure::Refused)).await;
        assert_eq!(no, Err(Failure::Refused));
    }
    assert_eq!(guarded.attempts.load(Ordering::Relaxed), 5);
}

#[tokio::test(start_paused = true)]
async fn all_attempts_of_a_call_share_one_deadline() {
    let guarded = Guarded::new(100);
    let begun = Instant::now();
    let slow = guarded
        .call(Duration::from_millis(900), || Err(Failure::Down))
        .await;
    assert_eq!(
        slow,
        Err(Failure::Elapsed(DeadlineElapsed { started: true }))
    );
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
    assert_eq!(guarded.attempts.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_limited_call_reaches_nothing() {
    let guarded = Guarded::new(1);
    assert_eq!(guarded.call(Duration::ZERO, || Ok(1)).await, Ok(1));
    let after = Duration::from_secs(60);
    let limited = guarded.call(Duration::ZERO, || Ok(1)).await;
    assert_eq!(limited, Err(Failure::Limited(LimitExceeded { after })));
    assert_eq!(guarded.attempts.load(Ordering::Relaxed), 1);
}
