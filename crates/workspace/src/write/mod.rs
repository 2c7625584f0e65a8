//! Changing files, all of a call or nothing: journal, change, and what a dead process left.

mod apply;
mod content;
mod journal;
mod settle;
#[cfg(test)]
mod trials;
mod turn;

pub(crate) use content::{hash_of, read_hash};
pub(crate) use journal::{About, JournalError};
pub(crate) use settle::{SettleError, Settled};
pub(crate) use turn::{Applied, Turn, TurnError, WriteError, Writing};

use candor_disk::Disk;

/// The tool whose change is in the journal without an end.
pub(crate) fn unfinished<D: Disk>(state: &D) -> Result<Option<String>, JournalError> {
    let newest = journal::newest(state)?;
    let open = newest.filter(|(_, fate)| *fate == journal::Fate::Open);
    Ok(open.map(|(entry, _)| entry.about.tool_name))
}

/// One file that a call changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Where it is beneath the root, without any link on the way.
    pub(crate) path: String,
    pub(crate) what: What,
}

/// What happens to a file. Hashes are SHA-256 in hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// It is made.
    Create { bytes: Vec<u8> },
    /// It is replaced; it had this mode, which stays.
    Modify {
        before: String,
        bytes: Vec<u8>,
        mode: u32,
    },
    /// It is removed.
    Delete { before: String },
}

impl What {
    pub(crate) fn before(&self) -> Option<&str> {
        match self {
            What::Create { .. } => None,
            What::Modify { before, .. } | What::Delete { before } => Some(before),
        }
    }

    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            What::Create { bytes } | What::Modify { bytes, .. } => Some(bytes),
            What::Delete { .. } => None,
        }
    }
}
