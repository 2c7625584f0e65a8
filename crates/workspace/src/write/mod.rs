//! Changes files, all of a call or none: the journal, the changes, and recovery after a crash.

mod apply;
mod file_state;
mod journal;
mod pending;
mod settle;
#[cfg(test)]
mod tests;
mod turn;

pub(crate) use apply::{dir_of, is_unreachable, sync_if_exists};
pub(crate) use file_state::{copy, hash_of, read_hash, read_hash_with};
pub(crate) use journal::{ChangeOrigin, EntryState, JournalError};
pub(crate) use pending::{PendingEntry, clear, pending, save_aside};
pub(crate) use settle::{SettleError, Settlement};
pub(crate) use turn::{AppliedChanges, TurnError, WriteError, WriteQueue, WriteTurn};

use candor_disk::Disk;

/// Returns the tool whose change is in the journal without an end.
pub(crate) fn unfinished<D: Disk>(state: &D) -> Result<Option<String>, JournalError> {
    let newest = journal::newest(state)?;
    let open = newest.filter(|(_, fate)| *fate == journal::EntryState::Open);
    Ok(open.map(|(entry, _)| entry.about.tool_name))
}

/// The newest entry of a journal, as far as it shows whether something was settled since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalMark {
    Empty,
    Entry {
        number: u64,
        state: EntryState,
    },
    /// It cannot be read, or was not written by this program.
    Unreadable,
}

/// Returns the mark of a journal, and the paths of its newest entry.
pub(crate) fn journal_mark<D: Disk>(state: &D) -> (JournalMark, Vec<String>) {
    match journal::newest(state) {
        Ok(None) => (JournalMark::Empty, Vec::new()),
        Ok(Some((entry, state))) => {
            let number = entry.number;
            let paths = entry.steps.into_iter().map(|step| step.path);
            (JournalMark::Entry { number, state }, paths.collect())
        }
        Err(_) => (JournalMark::Unreadable, Vec::new()),
    }
}

/// One file that a call changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    /// The path relative to the root, without links.
    pub(crate) path: String,
    pub(crate) what: ChangeKind,
    /// The hash of the new bytes.
    pub(crate) after: Option<String>,
    /// The directories that are made for it, from the root down.
    pub(crate) made_dirs: Vec<String>,
}

impl FileChange {
    pub(crate) fn new(path: String, what: ChangeKind) -> FileChange {
        let after = match &what {
            ChangeKind::Create { bytes, .. } | ChangeKind::Modify { bytes, .. } => {
                Some(hash_of(bytes))
            }
            ChangeKind::Copy { hash, .. } => Some(hash.clone()),
            ChangeKind::Delete { .. } => None,
        };
        FileChange {
            path,
            what,
            after,
            made_dirs: Vec::new(),
        }
    }

    /// Adds the directories that must be made first.
    pub(crate) fn with_dirs(mut self, made_dirs: Vec<String>) -> FileChange {
        self.made_dirs = made_dirs;
        self
    }
}

/// The kind of a change. Hashes are SHA-256 in hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The file is created.
    Create { bytes: Vec<u8>, mode: NewMode },
    /// The file is created with the bytes of another one.
    Copy {
        from: String,
        hash: String,
        length: u64,
        mode: u32,
    },
    /// The file is replaced.
    Modify {
        before: String,
        before_mode: u32,
        bytes: Vec<u8>,
        mode: u32,
    },
    /// The file is removed.
    Delete { before: String },
}

/// The mode of a file that is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewMode {
    /// The usual one, less the umask.
    Usual { executable: bool },
    /// This one, whatever the umask is.
    Exact(u32),
}

impl ChangeKind {
    /// Creates a file with the usual mode.
    pub(crate) fn create(bytes: Vec<u8>) -> ChangeKind {
        let mode = NewMode::Usual { executable: false };
        ChangeKind::Create { bytes, mode }
    }

    pub(crate) fn before(&self) -> Option<&str> {
        match self {
            ChangeKind::Create { .. } | ChangeKind::Copy { .. } => None,
            ChangeKind::Modify { before, .. } | ChangeKind::Delete { before } => Some(before),
        }
    }

    /// Returns the mode of the file after the change as git writes it, or `None` if it is removed.
    pub(crate) fn git_mode(&self) -> Option<&'static str> {
        let mode = match self {
            ChangeKind::Delete { .. } => return None,
            ChangeKind::Create { mode, .. } => match mode {
                NewMode::Usual { executable } => u32::from(*executable) * 0o111,
                NewMode::Exact(mode) => *mode,
            },
            ChangeKind::Copy { mode, .. } | ChangeKind::Modify { mode, .. } => *mode,
        };
        Some(if mode & 0o111 == 0 {
            "100644"
        } else {
            "100755"
        })
    }

    /// Returns the size of the file after the change.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            ChangeKind::Create { bytes, .. } | ChangeKind::Modify { bytes, .. } => {
                Some(bytes.len() as u64)
            }
            ChangeKind::Copy { length, .. } => Some(*length),
            ChangeKind::Delete { .. } => None,
        }
    }
}

/// Returns a mode without setuid, setgid and sticky bits, and with or without the right to execute for
/// those who may read.
pub(crate) fn file_mode(mode: u32, executable: Option<bool>) -> u32 {
    let mode = mode & 0o777;
    match executable {
        None => mode,
        Some(true) => mode | (mode & 0o444) >> 2,
        Some(false) => mode & !0o111,
    }
}
