//! What is left after a crash.

use super::random::Random;

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
pub(super) enum Fate {
    Kept,
    Lost,
    Torn,
}

/// The choices of one power failure.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) random: Random,
    kept_of_8: usize,
}

impl Choices {
    /// Nearly everything, about half, or nearly nothing is kept: the single loss and the single
    /// survivor are the cases that a fair coin hardly ever shows.
    pub(super) fn new(seed: u64) -> Choices {
        let mut random = Random::new(seed);
        let kept_of_8 = [1, 4, 7][random.below(3)];
        Choices { random, kept_of_8 }
    }

    pub(super) fn fate(&mut self) -> Fate {
        match (self.random.below(8) < self.kept_of_8, self.random.coin()) {
            (true, _) => Fate::Kept,
            (false, true) => Fate::Lost,
            (false, false) => Fate::Torn,
        }
    }
}
