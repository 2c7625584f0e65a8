//! Decides when changes have settled enough for an update.

use std::time::{Duration, Instant};

/// An update starts when nothing has changed for this long.
pub const QUIET_TIME: Duration = Duration::from_millis(200);

/// An update starts this long after the first change, even if changes go on.
pub const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The changes since the last update.
#[derive(Debug, Default)]
pub(crate) struct PendingChanges {
    /// The times of the first and of the last change.
    seen: Option<(Instant, Instant)>,
}

impl PendingChanges {
    /// Records a change.
    pub(crate) fn add(&mut self, now: Instant) {
        let first = self.seen.map_or(now, |(first, _)| first);
        self.seen = Some((first, now));
    }

    /// Returns how long to wait until an update, or `None` if there is no change.
    pub(crate) fn wait(&self, now: Instant) -> Option<Duration> {
        let (first, last) = self.seen?;
        let due = (last + QUIET_TIME).min(first + LONGEST_WAIT);
        Some(due.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_waits_for_quiet_but_not_forever() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let millis = |wait: Option<Duration>| wait.map(|wait| wait.as_millis());
        let mut pending = PendingChanges::default();
        assert_eq!(pending.wait(start), None);
        pending.add(at(0));
        assert_eq!(millis(pending.wait(at(0))), Some(200));
        assert_eq!(millis(pending.wait(at(150))), Some(50));
        pending.add(at(150));
        assert_eq!(millis(pending.wait(at(349))), Some(1));
        assert_eq!(millis(pending.wait(at(350))), Some(0));
        // Changes that never stop do not delay an update for more than two seconds.
        (2..=19).for_each(|turn| pending.add(at(turn * 100)));
        assert_eq!(millis(pending.wait(at(1_900))), Some(100));
        pending.add(at(1_999));
        assert_eq!(millis(pending.wait(at(1_999))), Some(1));
        assert_eq!(millis(pending.wait(at(2_500))), Some(0));
    }
}
