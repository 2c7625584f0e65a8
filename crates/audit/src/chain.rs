//! The chain: which line follows which.

use crate::hash::Hash;
use crate::line::{self, ChainFields};

/// The end of a chain so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainEnd {
    /// The number of the last line; 0 where there is none.
    pub(crate) seq: u64,
    /// Its hash.
    pub(crate) hash: Hash,
}

impl ChainEnd {
    /// Before the first line.
    pub(crate) const START: ChainEnd = ChainEnd {
        seq: 0,
        hash: Hash::NONE,
    };

    /// The end after this line, if it follows.
    pub(crate) fn then(self, text: &[u8]) -> Result<ChainEnd, ChainBreak> {
        let placed = line::read(text).ok_or(ChainBreak::NotALine)?;
        if placed.hash != placed.actual {
            return Err(ChainBreak::Changed);
        }
        if placed.seq != self.seq + 1 || placed.before != self.hash {
            return Err(ChainBreak::OutOfOrder);
        }
        Ok(ChainEnd::at(&placed))
    }

    fn at(placed: &ChainFields) -> ChainEnd {
        ChainEnd {
            seq: placed.seq,
            hash: placed.hash,
        }
    }

    /// The end after a line whose predecessors were not looked at.
    pub(crate) fn after(text: &[u8]) -> Result<ChainEnd, ChainBreak> {
        let placed = line::read(text).ok_or(ChainBreak::NotALine)?;
        match placed.hash == placed.actual {
            true => Ok(ChainEnd::at(&placed)),
            false => Err(ChainBreak::Changed),
        }
    }
}

/// Why a line does not follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChainBreak {
    /// It is no line of a log.
    NotALine,
    /// It is not what its hash says.
    Changed,
    /// It belongs to another place, or lines between are missing.
    OutOfOrder,
}
