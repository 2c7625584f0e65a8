//! The data that survives a crash.

use crate::seeded_random::SeededRandom;

/// The data that survives a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// The process died and the machine continues: everything survives, and unsynced data is still
    /// unsynced.
    Everything,
    /// The power failed: only synced data survives.
    Synced,
    /// The power failed: each unsynced change is kept, lost or torn, as this seed decides.
    Chance(u64),
}

/// The outcome of one unsynced change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeOutcome {
    Kept,
    Lost,
    Torn,
}

/// The random choices of one power failure.
#[derive(Debug)]
pub(crate) struct SurvivalChoices {
    pub(crate) random: SeededRandom,
    kept_of_8: usize,
}

impl SurvivalChoices {
    /// Keeps nearly everything, about half, or nearly nothing: a fair coin hardly ever produces a
    /// single loss or a single survivor.
    pub(crate) fn new(seed: u64) -> SurvivalChoices {
        let mut random = SeededRandom::new(seed);
        let kept_of_8 = [1, 4, 7][random.below(3)];
        SurvivalChoices { random, kept_of_8 }
    }

    pub(crate) fn fate(&mut self) -> ChangeOutcome {
        match (self.random.below(8) < self.kept_of_8, self.random.coin()) {
            (true, _) => ChangeOutcome::Kept,
            (false, true) => ChangeOutcome::Lost,
            (false, false) => ChangeOutcome::Torn,
        }
    }
}
