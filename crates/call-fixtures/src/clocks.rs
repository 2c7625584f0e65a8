//! Clocks whose time a test decides.

use candor_fault::Timestamp;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// The instant of the specification's examples, for clocks that stand still.
pub fn specification_instant() -> Timestamp {
    Timestamp::from_millisecond(1_760_284_161_049).expect("a valid instant")
}

/// A clock that goes on by a second whenever it is read.
#[derive(Debug)]
pub struct SteppingClock {
    microseconds: AtomicI64,
}

impl SteppingClock {
    /// Starts at this instant.
    pub fn starting_at(start: Timestamp) -> SteppingClock {
        SteppingClock {
            microseconds: AtomicI64::new(start.as_microsecond()),
        }
    }

    /// Lets time pass.
    pub fn advance(&self, time: Duration) {
        let microseconds = i64::try_from(time.as_micros()).expect("a duration of a test");
        self.microseconds.fetch_add(microseconds, Ordering::SeqCst);
    }

    /// Returns the time, and goes on by a second.
    pub fn now(&self) -> Timestamp {
        let now = self.microseconds.fetch_add(1_000_000, Ordering::SeqCst);
        Timestamp::from_microsecond(now).expect("an instant of a test")
    }
}
