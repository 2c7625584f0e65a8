//! The chain: which line follows which.

use crate::hash::Hash;
use crate::line::{self, Placed};

/// The end of a chain so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// The number of the last line; 0 where there is none.
    pub(crate) seq: u64,
    /// Its hash.
    pub(crate) hash: Hash,
}

impl End {
    /// Before the first line.
    pub(crate) const START: End = End {
        seq: 0,
        hash: Hash::NONE,
    };

    /// The end after this line, if it follows.
    pub(crate) fn then(self, text: &[u8]) -> Result<End, Break> {
        let placed = line::read(text).ok_or(Break::NotALine)?;
        if placed.hash != placed.actual {
            return Err(Break::Changed);
        }
        if placed.seq != self.seq + 1 || placed.before != self.hash {
            return Err(Break::Elsewhere);
        }
        Ok(End::at(&placed))
    }

    fn at(placed: &Placed) -> End {
        End {
            seq: placed.seq,
            hash: placed.hash,
        }
    }

    /// The end after a line whose predecessors were not looked at.
    pub(crate) fn after(text: &[u8]) -> Result<End, Break> {
        let placed = line::read(text).ok_or(Break::NotALine)?;
        match placed.hash == placed.actual {
            true => Ok(End::at(&placed)),
            false => Err(Break::Changed),
        }
    }
}

/// Why a line does not follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// It is no line of a log.
    NotALine,
    /// It is not what its hash says.
    Changed,
    /// It belongs to another place, or lines between are missing.
    Elsewhere,
}
