//! Changes files, all of a call or none: the journal, the changes, and recovery after a crash.

mod apply;
mod file_state;
mod journal;
mod settle;
#[cfg(test)]
mod tests;
mod turn;

pub(crate) use file_state::{hash_of, read_hash};
pub(crate) use journal::{ChangeOrigin, JournalError};
pub(crate) use settle::{SettleError, Settlement};
pub(crate) use turn::{AppliedChanges, TurnError, WriteError, WriteQueue, WriteTurn};

use candor_disk::Disk;

/// Returns the tool whose change is in the journal without an end.
pub(crate) fn unfinished<D: Disk>(state: &D) -> Result<Option<String>, JournalError> {
    let newest = journal::newest(state)?;
    let open = newest.filter(|(_, fate)| *fate == journal::EntryState::Open);
    Ok(open.map(|(entry, _)| entry.about.tool_name))
}

/// One file that a call changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    /// The path relative to the root, without links.
    pub(crate) path: String,
    pub(crate) what: ChangeKind,
    /// The hash of the new bytes.
    pub(crate) after: Option<String>,
}

impl FileChange {
    pub(crate) fn new(path: String, what: ChangeKind) -> FileChange {
        let after = what.bytes().map(hash_of);
        FileChange { path, what, after }
    }
}

/// The kind of a change. Hashes are SHA-256 in hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The file is created.
    Create { bytes: Vec<u8> },
    /// The file is replaced and keeps this mode.
    Modify {
        before: String,
        bytes: Vec<u8>,
        mode: u32,
    },
    /// The file is removed.
    Delete { before: String },
}

impl ChangeKind {
    pub(crate) fn before(&self) -> Option<&str> {
        match self {
            ChangeKind::Create { .. } => None,
            ChangeKind::Modify { before, .. } | ChangeKind::Delete { before } => Some(before),
        }
    }

    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            ChangeKind::Create { bytes } | ChangeKind::Modify { bytes, .. } => Some(bytes),
            ChangeKind::Delete { .. } => None,
        }
    }
}
