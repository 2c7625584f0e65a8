//! The four mechanisms around one call, in the order in which servers use them.

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

struct GuardedSystem {
    limiter: Limiter,
    breaker: Breaker,
    retry: Retrier,
    attempts: AtomicU32,
}

impl GuardedSystem {
    fn new(per_minute: u32) -> Arc<GuardedSystem> {
        let number = |n: u32| NonZeroU32::MIN.saturating_add(n - 1);
        let keys = NonZeroUsize::MIN.saturating_add(99);
        Arc::new(GuardedSystem {
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
        let is_failure = |failure: &Failure| matches!(failure, Failure::Down | Failure::Elapsed(_));
        let work = async {
            let timed = deadline.run(self.retry.run(deadline, attempt)).await;
            timed.map_err(Failure::Elapsed)?
        };
        self.breaker
            .run(is_failure, work)
            .await
            .map_err(Failure::Open)?
    }
}

#[tokio::test(start_paused = true)]
async fn call_can_run_on_its_own_task() {
    let system = GuardedSystem::new(5);
    let task = tokio::spawn(async move { system.call(Duration::ZERO, || Ok(7)).await });
    assert_eq!(task.await.unwrap(), Ok(7));
}

#[tokio::test(start_paused = true)]
async fn failing_system_is_retried_until_the_breaker_opens() {
    let system = GuardedSystem::new(100);
    for _ in 0..2 {
        let down = system.call(Duration::ZERO, || Err(Failure::Down)).await;
        assert_eq!(down, Err(Failure::Down));
    }
    assert_eq!(system.attempts.load(Ordering::Relaxed), 6);
    let after = Duration::from_secs(10);
    let open = system.call(Duration::ZERO, || Ok(1)).await;
    assert_eq!(open, Err(Failure::Open(BreakerOpen { after })));
    assert_eq!(system.attempts.load(Ordering::Relaxed), 6);
    advance(after).await;
    assert_eq!(system.call(Duration::ZERO, || Ok(1)).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn refusal_does_not_open_the_breaker() {
    let system = GuardedSystem::new(100);
    for _ in 0..5 {
        let no = system.call(Duration::ZERO, || Err(Failure::Refused)).await;
        assert_eq!(no, Err(Failure::Refused));
    }
    assert_eq!(system.attempts.load(Ordering::Relaxed), 5);
}

#[tokio::test(start_paused = true)]
async fn all_attempts_of_a_call_share_one_deadline() {
    let system = GuardedSystem::new(100);
    let start = Instant::now();
    let slow = system
        .call(Duration::from_millis(900), || Err(Failure::Down))
        .await;
    assert_eq!(
        slow,
        Err(Failure::Elapsed(DeadlineElapsed { started: true }))
    );
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(system.attempts.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn limited_call_makes_no_attempt() {
    let system = GuardedSystem::new(1);
    assert_eq!(system.call(Duration::ZERO, || Ok(1)).await, Ok(1));
    let after = Duration::from_secs(60);
    let limited = system.call(Duration::ZERO, || Ok(1)).await;
    assert_eq!(limited, Err(Failure::Limited(LimitExceeded { after })));
    assert_eq!(system.attempts.load(Ordering::Relaxed), 1);
}
