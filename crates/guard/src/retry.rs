//! Retries of failed calls.
//!
//! Four bounds hold at once: the attempts of one call, the wait before each of them, the deadline
//! of the call, and a budget that all calls share, so that retries do not overload a failing
//! system. Whichever bound is met first, the caller gets the last error.

use crate::deadline::Deadline;
use std::fmt;
use std::future::Future;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// The most that a timer may wake us late: it is coarser than the clock.
const TICK: Duration = Duration::from_millis(1);

/// An error's advice on whether and when to make another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAdvice {
    /// It would fail too, or must not be made.
    Never,
    /// It may be made after a wait of our choice.
    Soon,
    /// It may be made, not sooner than the system asked for (`Retrier-After`).
    NotBefore(Duration),
}

/// An error that decides whether its call may be made again.
pub trait Retryable {
    fn retry_advice(&self) -> RetryAdvice;
}

/// The bounds of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of attempts, the first included.
    pub attempts: NonZeroU32,
    /// The longest random wait before the second attempt; it doubles for each one after.
    pub base: Duration,
    /// The bound of the doubling.
    pub ceiling: Duration,
    /// The longest wait that a system may request; if it requests more, no further attempt is made.
    pub patience: Duration,
}

impl Default for RetryPolicy {
    /// Returns three attempts, random waits up to 100 and 200 ms, at most 30 s on request.
    fn default() -> RetryPolicy {
        RetryPolicy {
            attempts: NonZeroU32::MIN.saturating_add(2),
            base: Duration::from_millis(100),
            ceiling: Duration::from_secs(5),
            patience: Duration::from_secs(30),
        }
    }
}

/// A budget of retries that all calls share: a share of the calls, and a floor.
///
/// Every call pays in `percent` of a retry, every retry takes out a whole one, and no more than
/// `floor` are ever saved up. So over any run of calls the retries are at most
/// `floor + calls * percent / 100`, however long it was quiet before.
#[derive(Debug)]
pub struct RetryBudget {
    percent: u64,
    full: u64,
    /// In hundredths of a retry.
    saved: Mutex<u64>,
}

impl RetryBudget {
    /// Creates a budget that starts with its floor.
    pub fn new(percent: u32, floor: NonZeroU32) -> RetryBudget {
        let full = u64::from(floor.get()) * 100;
        RetryBudget {
            percent: u64::from(percent),
            full,
            saved: Mutex::new(full),
        }
    }

    fn pay_in(&self) {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        *saved = (*saved + self.percent).min(self.full);
    }

    fn take_out(&self) -> bool {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = saved.checked_sub(100);
        *saved = rest.unwrap_or(*saved);
        rest.is_some()
    }
}

/// Retries with full jitter, for all calls to one system.
pub struct Retrier {
    policy: RetryPolicy,
    budget: RetryBudget,
    random: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl fmt::Debug for Retrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Retry");
        fields.field("policy", &self.policy);
        fields.field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Retrier {
    /// Retries within a policy and a budget; `random` brings 64 evenly distributed bits.
    pub fn new(
        policy: RetryPolicy,
        budget: RetryBudget,
        random: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Retrier {
        Retrier {
            policy,
            budget,
            random: Box::new(random),
        }
    }

    /// Makes attempts, numbered from 1, until one succeeds or a bound is met.
    ///
    /// No attempt begins and nothing sleeps past the deadline: a wait that would not end before it
    /// is not begun. An attempt that is already running is not cut off; that is [`Deadline::run`]
    /// around this.
    pub async fn run<T, E, F>(
        &self,
        deadline: Deadline,
        mut attempt: impl FnMut(u32) -> F,
    ) -> Result<T, E>
    where
        E: Retryable,
        F: Future<Output = Result<T, E>>,
    {
        self.budget.pay_in();
        let mut number = 1;
        loop {
            let error = match attempt(number).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let Some(wait) = self.wait(number, error.retry_advice()) else {
                return Err(error);
            };
            let wakes_in = wait.saturating_add(TICK);
            if wakes_in >= deadline.remaining() || !self.budget.take_out() {
                return Err(error);
            }
            sleep(wait).await;
            // On a busy machine we may be woken later than any timer promises.
            if deadline.passed() {
                return Err(error);
            }
            number += 1;
        }
    }

    /// Returns the wait after the attempt of this number; `None` if it was the last.
    fn wait(&self, number: u32, retry_advice: RetryAdvice) -> Option<Duration> {
        if number >= self.policy.attempts.get() {
            return None;
        }
        let asked = match retry_advice {
            RetryAdvice::Never => return None,
            RetryAdvice::Soon => Duration::ZERO,
            RetryAdvice::NotBefore(asked) if asked > self.policy.patience => return None,
            RetryAdvice::NotBefore(asked) => asked,
        };
        // The jitter is added to the requested wait, because otherwise all callers with the same
        // wait would return at once.
        Some(asked.saturating_add(self.jitter(number)))
    }

    /// Returns a random duration from zero to the doubled base, both included.
    fn jitter(&self, number: u32) -> Duration {
        let factor = 1u32.checked_shl(number - 1).unwrap_or(u32::MAX);
        let most = self.policy.base.saturating_mul(factor);
        let most = most.min(self.policy.ceiling).as_nanos();
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let scaled = (u128::from((self.random)()) * (u128::from(most) + 1)) >> 64;
        Duration::from_nanos(u64::try_from(scaled).unwrap_or(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tokio::time::{Instant, advance};

    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Failed(u32, RetryAdvice);

    impl Retryable for Failed {
        fn retry_advice(&self) -> RetryAdvice {
            self.1
        }
    }

    fn policy(attempts: u32) -> RetryPolicy {
        let attempts = NonZeroU32::new(attempts).unwrap();
        RetryPolicy {
            attempts,
            base: SECOND,
            ceiling: 4 * SECOND,
            patience: 30 * SECOND,
        }
    }

    fn budget(percent: u32, floor: u32) -> RetryBudget {
        RetryBudget::new(percent, NonZeroU32::new(floor).unwrap())
    }

    /// Returns a retrier whose jitter is always the longest.
    fn longest(attempts: u32) -> Retrier {
        Retrier::new(policy(attempts), budget(10, 100), || u64::MAX)
    }

    /// Runs a call that always fails in the same way; when its attempts began, and how it ended.
    async fn run_failing_calls(
        retry: &Retrier,
        deadline: Deadline,
        retry_advice: RetryAdvice,
    ) -> (Vec<Duration>, Failed) {
        let (start, starts) = (Instant::now(), RefCell::new(Vec::new()));
        let ended = retry
            .run(deadline, |number| {
                starts.borrow_mut().push(start.elapsed());
                async move { Err::<(), _>(Failed(number, retry_advice)) }
            })
            .await;
        (starts.into_inner(), ended.unwrap_err())
    }

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_the_ceiling_and_the_last_error_is_returned() {
        let far = Deadline::after(1000 * SECOND);
        let (starts, error) = run_failing_calls(&longest(5), far, RetryAdvice::Soon).await;
        assert_eq!(starts, [0, 1, 3, 7, 11].map(Duration::from_secs));
        assert_eq!(error, Failed(5, RetryAdvice::Soon));
    }

    #[tokio::test(start_paused = true)]
    async fn jitter_covers_the_whole_wait() {
        let far = Deadline::after(1000 * SECOND);
        let none = Retrier::new(policy(3), budget(10, 100), || 0);
        let (starts, _) = run_failing_calls(&none, far, RetryAdvice::Soon).await;
        assert_eq!(starts, [Duration::ZERO; 3]);
        let half = Retrier::new(policy(3), budget(10, 100), || 1 << 63);
        let (starts, _) = run_failing_calls(&half, far, RetryAdvice::Soon).await;
        assert_eq!(starts, [0, 500, 1500].map(Duration::from_millis));
    }

    #[tokio::test(start_paused = true)]
    async fn success_ends_the_attempts() {
        let deadline = Deadline::after(100 * SECOND);
        let retry = longest(5);
        let done = retry.run(deadline, |number| async move {
            match number {
                3 => Ok(number),
                _ => Err(Failed(number, RetryAdvice::Soon)),
            }
        });
        assert_eq!(done.await, Ok(3));
    }

    #[tokio::test(start_paused = true)]
    async fn error_with_advice_never_is_not_retried() {
        let far = Deadline::after(1000 * SECOND);
        let (starts, error) = run_failing_calls(&longest(5), far, RetryAdvice::Never).await;
        assert_eq!((starts.len(), error), (1, Failed(1, RetryAdvice::Never)));
    }

    #[tokio::test(start_paused = true)]
    async fn requested_wait_is_observed_up_to_the_patience() {
        let far = Deadline::after(1000 * SECOND);
        let (starts, _) =
            run_failing_calls(&longest(2), far, RetryAdvice::NotBefore(30 * SECOND)).await;
        assert_eq!(starts, [Duration::ZERO, 31 * SECOND]);
        let (starts, _) =
            run_failing_calls(&longest(2), far, RetryAdvice::NotBefore(31 * SECOND)).await;
        assert_eq!(starts, [Duration::ZERO]);
        let (starts, _) =
            run_failing_calls(&longest(2), far, RetryAdvice::NotBefore(Duration::MAX)).await;
        assert_eq!(starts, [Duration::ZERO]);
    }

    #[tokio::test(start_paused = true)]
    async fn wait_beyond_the_deadline_is_not_started() {
        let start = Instant::now();
        let deadline = Deadline::after(3 * SECOND);
        let (starts, error) = run_failing_calls(&longest(5), deadline, RetryAdvice::Soon).await;
        assert_eq!(starts, [Duration::ZERO, SECOND]);
        assert_eq!((start.elapsed(), error.0), (SECOND, 2));
        // A wait that is not started takes nothing out of the budget.
        let retry = Retrier::new(policy(2), budget(0, 1), || u64::MAX);
        run_failing_calls(&retry, Deadline::after(SECOND), RetryAdvice::Soon).await;
        let far = Deadline::after(1000 * SECOND);
        assert_eq!(
            run_failing_calls(&retry, far, RetryAdvice::Soon)
                .await
                .0
                .len(),
            2
        );
    }

    #[tokio::test(start_paused = true)]
    async fn wait_that_ends_at_the_deadline_is_not_started() {
        let policy = RetryPolicy {
            base: SECOND - TICK / 2,
            ..policy(2)
        };
        let retry = Retrier::new(policy, budget(10, 100), || u64::MAX);
        let start = Instant::now();
        let (starts, _) =
            run_failing_calls(&retry, Deadline::after(SECOND), RetryAdvice::Soon).await;
        assert_eq!((starts.len(), start.elapsed()), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn no_attempt_follows_a_late_timer() {
        let retry = longest(5);
        let waiting = run_failing_calls(&retry, Deadline::after(3 * SECOND), RetryAdvice::Soon);
        let ((starts, error), ()) = tokio::join!(waiting, advance(4 * SECOND));
        assert_eq!((starts.len(), error.0), (1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn attempt_that_outlives_the_deadline_is_the_last() {
        let deadline = Deadline::after(SECOND);
        let retry = longest(5);
        let ended = retry.run(deadline, |number| async move {
            advance(2 * SECOND).await;
            Err::<(), _>(Failed(number, RetryAdvice::Soon))
        });
        assert_eq!(ended.await, Err(Failed(1, RetryAdvice::Soon)));
    }

    #[tokio::test(start_paused = true)]
    async fn retries_of_failing_calls_are_limited_by_the_budget() {
        let retry = Retrier::new(policy(3), budget(10, 5), || 0);
        let mut attempts = 0;
        for _ in 0..1000 {
            let far = Deadline::after(1000 * SECOND);
            attempts += run_failing_calls(&retry, far, RetryAdvice::Soon)
                .await
                .0
                .len();
        }
        // The budget is full at the first call, so the first payment is lost.
        assert_eq!(attempts, 1000 + 104);
    }

    #[tokio::test(start_paused = true)]
    async fn budget_does_not_grow_beyond_the_floor() {
        let retry = Retrier::new(policy(2), budget(10, 5), || 0);
        let far = Deadline::after(1000 * SECOND);
        for _ in 0..1000 {
            let fine = retry.run(far, |_| async { Ok::<_, Failed>(()) });
            assert_eq!(fine.await, Ok(()));
        }
        let mut attempts = 0;
        for _ in 0..9 {
            attempts += run_failing_calls(&retry, far, RetryAdvice::Soon)
                .await
                .0
                .len();
        }
        assert_eq!(attempts, 9 + 5);
    }

    #[test]
    fn longest_jitter_does_not_overflow() {
        let policy = RetryPolicy {
            attempts: NonZeroU32::MAX,
            base: Duration::MAX,
            ceiling: Duration::MAX,
            patience: Duration::MAX,
        };
        let retry = Retrier::new(policy, budget(u32::MAX, u32::MAX), || u64::MAX);
        for number in [1, 2, 32, 33, 1 << 20] {
            let longest = Duration::from_nanos(u64::MAX);
            assert_eq!(retry.wait(number, RetryAdvice::Soon), Some(longest));
            let all = retry.wait(number, RetryAdvice::NotBefore(Duration::MAX));
            assert_eq!(all, Some(Duration::MAX));
        }
        retry.budget.pay_in();
        assert!(retry.budget.take_out());
    }

    /// One call of a random history: the advice and the duration of each attempt.
    #[derive(Debug, Clone)]
    struct Call {
        deadline_ms: u64,
        script: Vec<(Option<RetryAdvice>, u64)>,
    }

    fn call() -> impl Strategy<Value = Call> {
        let advice = prop_oneof![
            1 => Just(None),
            1 => Just(Some(RetryAdvice::Never)),
            4 => Just(Some(RetryAdvice::Soon)),
            4 => (0u64..40_000).prop_map(|ms| Some(RetryAdvice::NotBefore(Duration::from_millis(ms)))),
        ];
        let script = prop::collection::vec((advice, 0u64..2000), 6);
        (1u64..60_000, script).prop_map(|(deadline_ms, script)| Call {
            deadline_ms,
            script,
        })
    }

    /// Runs one call, checks every bound of a single call, and returns the number of attempts.
    async fn check_bounds(retry: &Retrier, call: &Call) -> Result<usize, TestCaseError> {
        let deadline = Deadline::after(Duration::from_millis(call.deadline_ms));
        let log = RefCell::new(Vec::new());
        let ended = retry
            .run(deadline, |number| {
                let began = Instant::now();
                let log = &log;
                async move {
                    let (advice, ms) = call.script[number as usize - 1];
                    sleep(Duration::from_millis(ms)).await;
                    log.borrow_mut().push((began, Instant::now()));
                    advice.map_or(Ok(number), |retry_advice| Err(Failed(number, retry_advice)))
                }
            })
            .await;
        let ended_at = Instant::now();
        let log = log.into_inner();
        let number = ended.unwrap_or_else(|Failed(number, _)| number) as usize;
        prop_assert_eq!(number, log.len());
        prop_assert!(log.len() <= retry.policy.attempts.get() as usize);
        prop_assert_eq!(
            log[log.len() - 1].1,
            ended_at,
            "it slept after the last attempt"
        );
        for (earlier, later) in log.iter().zip(&log[1..]) {
            prop_assert!(later.0 < deadline.instant());
            let waited = later.0 - earlier.1;
            let index = log.iter().position(|entry| entry == earlier).unwrap();
            let most = (SECOND * (1 << index)).min(4 * SECOND) + Duration::from_millis(1);
            match call.script[index].0 {
                Some(RetryAdvice::Soon) => prop_assert!(waited <= most),
                Some(RetryAdvice::NotBefore(requested)) => {
                    prop_assert!(requested <= 30 * SECOND);
                    prop_assert!(waited >= requested && waited <= requested + most);
                }
                advice => prop_assert!(false, "tried again after {:?}", advice),
            }
        }
        Ok(log.len())
    }

    proptest! {
        #[test]
        fn all_bounds_hold_for_random_histories(
            attempts in 1u32..6,
            (percent, floor) in (0u32..150, 1u32..5),
            seed in any::<u64>(),
            calls in prop::collection::vec(call(), 1..40),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap();
            let state = AtomicU64::new(seed);
            let random = move || {
                // Weyl sequence and a multiplication: plenty for spreading waits.
                let next = state.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
                next.wrapping_mul(0xD134_2543_DE82_EF95)
            };
            let retry = Retrier::new(policy(attempts), budget(percent, floor), random);
            runtime.block_on(async {
                let mut retries = 0;
                for (done, call) in calls.iter().enumerate() {
                    retries += check_bounds(&retry, call).await? - 1;
                    let share = (done + 1) * percent as usize / 100;
                    prop_assert!(retries <= floor as usize + share);
                }
                Ok(())
            })?;
        }
    }
}
