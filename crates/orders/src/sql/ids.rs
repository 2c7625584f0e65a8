//! Ids: a prefix, the creation time and random digits. They sort by time.

use crate::model::UtcTime;
use candor_street::Random;
use std::fmt;

/// Generates ids.
pub(super) struct IdGenerator(pub(super) Random);

impl IdGenerator {
    /// Returns a new id with 13 hexadecimal digits of microseconds and 12 random ones.
    pub(super) fn next(&self, prefix: &'static str, at: UtcTime) -> String {
        let chance = (self.0)() & 0xffff_ffff_ffff;
        format!("{prefix}_{:013x}{chance:012x}", at.micros())
    }
}

/// Returns a text that sorts before all ids of this time and after all earlier ones.
pub(super) fn first_id(prefix: &str, at: UtcTime) -> String {
    format!("{prefix}_{:013x}", at.micros().max(0))
}

impl fmt::Debug for IdGenerator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Ids")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time() {
        let ids = IdGenerator(std::sync::Arc::new(|| u64::MAX));
        let id = |micros| ids.next("ord", UtcTime::of_micros(micros));
        assert_eq!(id(1_760_284_800_000_000), "ord_640f83e352000ffffffffffff");
        assert!(id(1_760_284_800_000_000) < id(1_760_284_800_000_001));
        let first = first_id("ord", UtcTime::of_micros(1_760_284_800_000_001));
        assert!(id(1_760_284_800_000_000) < first && first < id(1_760_284_800_000_001));
    }
}
