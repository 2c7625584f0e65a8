//! What is left after a crash.

use crate::seeded_random::SeededRandom;

/// What survives a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// The process died and the machine goes on: everything is there, and what was not synced is
    /// still not synced.
    Everything,
    /// The power failed: what was synced, and nothing else.
    Synced,
    /// The power failed: what was not synced is kept, lost or torn, each piece by itself, as this
    /// seed chooses.
    Chance(u64),
}

/// What becomes of one change that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeOutcome {
    Kept,
    Lost,
    Torn,
}

/// The choices of one power failure.
#[derive(Debug)]
pub(crate) struct SurvivalChoices {
    pub(crate) random: SeededRandom,
    kept_of_8: usize,
}

impl SurvivalChoices {
    /// Nearly everything, about half, or nearly nothing is kept: the single loss and the single
    /// survivor are the cases that a fair coin hardly ever shows.
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
