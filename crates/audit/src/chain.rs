//! Checks that each line of a chain follows the previous one.

use crate::hash::Hash;
use crate::line::{self, ChainFields};

/// The end of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainEnd {
    /// The number of the last line, or 0 if there is none.
    pub(crate) seq: u64,
    pub(crate) hash: Hash,
}

impl ChainEnd {
    /// The end of an empty chain.
    pub(crate) const START: ChainEnd = ChainEnd {
        seq: 0,
        hash: Hash::NONE,
    };

    /// Returns the end of the chain after this line, if the line follows.
    pub(crate) fn extend(self, text: &[u8]) -> Result<ChainEnd, ChainBreak> {
        let fields = line::read(text).ok_or(ChainBreak::NotALine)?;
        if fields.hash != fields.computed {
            return Err(ChainBreak::Changed);
        }
        if fields.seq != self.seq + 1 || fields.prev_hash != self.hash {
            return Err(ChainBreak::OutOfOrder);
        }
        Ok(ChainEnd::of(&fields))
    }

    fn of(fields: &ChainFields) -> ChainEnd {
        ChainEnd {
            seq: fields.seq,
            hash: fields.hash,
        }
    }

    /// Returns the end of the chain after a line whose predecessors are not checked.
    pub(crate) fn from_line(text: &[u8]) -> Result<ChainEnd, ChainBreak> {
        let fields = line::read(text).ok_or(ChainBreak::NotALine)?;
        match fields.hash == fields.computed {
            true => Ok(ChainEnd::of(&fields)),
            false => Err(ChainBreak::Changed),
        }
    }
}

/// The reason why a line does not follow the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChainBreak {
    /// The bytes are not a line of a log.
    NotALine,
    /// The content does not match the hash.
    Changed,
    /// The line belongs to another position, or lines in between are missing.
    OutOfOrder,
}
