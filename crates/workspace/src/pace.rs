//! The pace of calls: a client that sends faster waits, so that it cannot fill the disk with lines of the
//! log. No call is refused or dropped.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The default number of calls a second.
pub const MAX_RATE: u32 = 200;

/// The number of calls that may come at once after a pause.
pub const BURST: u32 = 2000;

/// Spaces the calls of a server.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The time between two calls; `None` if there is no limit.
    interval: Option<Duration>,
    /// The earliest time at which the calls so far would have come at the even pace.
    even: Mutex<Option<Instant>>,
}

impl Pace {
    /// Creates a pace of this many calls a second, or without a limit.
    pub(crate) fn new(rate: Option<NonZeroU32>) -> Pace {
        Pace {
            interval: rate.map(|rate| Duration::from_secs(1) / rate.get()),
            even: Mutex::new(None),
        }
    }

    /// Counts a call, and returns how long it has to wait.
    fn delay(&self, now: Instant) -> Duration {
        let Some(interval) = self.interval else {
            return Duration::ZERO;
        };
        let mut even = self.even.lock().unwrap_or_else(PoisonError::into_inner);
        let next = even.map_or(now, |even| even.max(now)) + interval;
        *even = Some(next);
        next.duration_since(now).saturating_sub(interval * BURST)
    }

    /// Waits until the call may go on.
    pub(crate) async fn wait(&self) {
        let delay = self.delay(Instant::now());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_beyond_the_burst_wait_at_the_even_pace() {
        let pace = Pace::new(NonZeroU32::new(200));
        let start = Instant::now();
        for _ in 0..BURST {
            assert_eq!(pace.delay(start), Duration::ZERO);
        }
        let delays = [1, 2, 3].map(|n| (n, pace.delay(start)));
        for (n, delay) in delays {
            assert_eq!(delay, Duration::from_millis(5) * n);
        }
        // After a pause there is a burst again, and no more than one.
        let later = start + Duration::from_secs(3600);
        for _ in 0..BURST {
            assert_eq!(pace.delay(later), Duration::ZERO);
        }
        assert_eq!(pace.delay(later), Duration::from_millis(5));
    }

    #[test]
    fn pace_without_a_limit_never_waits() {
        let pace = Pace::new(None);
        let now = Instant::now();
        for _ in 0..10 * BURST {
            assert_eq!(pace.delay(now), Duration::ZERO);
        }
    }
}
