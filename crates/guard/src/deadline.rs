//! Until when a call may take: one instant, made once and handed down.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The time used as "never" if an instant cannot be represented.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// The instant at which a call's time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Returns the deadline this long from now.
    pub fn after(time: Duration) -> Deadline {
        let now = Instant::now();
        Deadline(now.checked_add(time).unwrap_or_else(|| now + FAR))
    }

    /// Returns the deadline at an instant.
    pub const fn at(instant: Instant) -> Deadline {
        Deadline(instant)
    }

    pub const fn instant(self) -> Instant {
        self.0
    }

    /// Returns the time that is left; zero once the deadline has passed.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Returns true if the deadline has passed.
    pub fn passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// Runs a future until it is ready or the time is over, whichever comes first.
    ///
    /// Past the deadline the future is not polled even once, so it has no effect. At the deadline a
    /// running future is dropped, so work that must not be interrupted belongs on a separate task,
    /// and only the waiting for it belongs here.
    pub async fn run<F: Future>(self, work: F) -> Result<F::Output, DeadlineElapsed> {
        if self.passed() {
            return Err(DeadlineElapsed { started: false });
        }
        timeout_at(self.0, work)
            .await
            .map_err(|_| DeadlineElapsed { started: true })
    }
}

/// The time was over before the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlineElapsed {
    /// True if the work had begun; if not, it had no effect.
    pub started: bool,
}

impl fmt::Display for DeadlineElapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.started {
            true => "the deadline passed while the work was running",
            false => "the deadline had passed before the work began",
        })
    }
}

impl Error for DeadlineElapsed {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};
    use tokio::time::{advance, sleep};

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn work_in_time_returns_its_output() {
        let deadline = Deadline::after(2 * SECOND);
        let slow = async {
            sleep(SECOND).await;
            7
        };
        assert_eq!(deadline.run(slow).await, Ok(7));
        assert_eq!(deadline.remaining(), SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn hanging_work_ends_at_the_deadline() {
        let start = Instant::now();
        let result = Deadline::after(SECOND).run(pending::<()>()).await;
        assert_eq!(result, Err(DeadlineElapsed { started: true }));
        assert_eq!(start.elapsed(), SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn work_does_not_start_after_the_deadline() {
        let deadline = Deadline::after(SECOND);
        advance(SECOND).await;
        let mut was_run = false;
        let result = deadline.run(async { was_run = true }).await;
        assert_eq!(result, Err(DeadlineElapsed { started: false }));
        assert!(!was_run);
        assert!(deadline.passed());
        assert_eq!(deadline.remaining(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_dropped_at_the_deadline() {
        struct Guard<'a>(&'a mut bool);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                *self.0 = true;
            }
        }
        let mut dropped = false;
        let guard = Guard(&mut dropped);
        let work = async move {
            let _guard = guard;
            pending::<()>().await;
        };
        assert!(Deadline::after(SECOND).run(work).await.is_err());
        assert!(dropped);
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_deadline_is_smaller() {
        let (near, far) = (Deadline::after(SECOND), Deadline::after(2 * SECOND));
        assert_eq!(near.min(far), near);
        assert_eq!(near, Deadline::at(near.instant()));
    }

    #[tokio::test(start_paused = true)]
    async fn duration_beyond_the_clock_does_not_panic() {
        let deadline = Deadline::after(Duration::MAX);
        assert_eq!(deadline.remaining(), FAR);
        assert_eq!(deadline.run(ready(1)).await, Ok(1));
    }
}
