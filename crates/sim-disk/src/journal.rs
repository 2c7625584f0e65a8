//! What a disk was asked to do, in order, and what the test noted in between.

use candor_disk::Open;
use std::fmt;
use std::path::PathBuf;

/// Something a disk was asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the calls")]
pub enum DiskOperation {
    Open {
        path: PathBuf,
        how: Open,
    },
    CreateDir {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Exchange {
        one: PathBuf,
        other: PathBuf,
    },
    Unlink {
        path: PathBuf,
    },
    SyncDir {
        path: PathBuf,
    },
    List {
        path: PathBuf,
    },
    Read {
        path: PathBuf,
        offset: u64,
        len: usize,
    },
    Write {
        path: PathBuf,
        offset: u64,
        len: usize,
    },
    Append {
        path: PathBuf,
        len: usize,
    },
    SetLen {
        path: PathBuf,
        len: u64,
    },
    Reserve {
        path: PathBuf,
        up_to: u64,
    },
    SetMode {
        path: PathBuf,
        mode: u32,
    },
    SyncData {
        path: PathBuf,
    },
    SyncAll {
        path: PathBuf,
    },
}

impl DiskOperation {
    /// Whether it changes nothing, neither on the disk nor in memory.
    pub fn only_looks(&self) -> bool {
        use DiskOperation::{List, Open as Opened, Read};
        match self {
            Opened { how, .. } => matches!(how, Open::Read | Open::Edit),
            Read { .. } | List { .. } => true,
            _ => false,
        }
    }

    /// Whether it writes bytes to a file.
    pub fn writes(&self) -> bool {
        matches!(
            self,
            DiskOperation::Write { .. } | DiskOperation::Append { .. }
        )
    }

    /// Whether it makes something durable.
    pub fn syncs(&self) -> bool {
        use DiskOperation::{SyncAll, SyncData, SyncDir};
        matches!(self, SyncData { .. } | SyncAll { .. } | SyncDir { .. })
    }
}

/// One entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEntry {
    /// An operation and how it ended.
    Operation {
        /// How many operations were before it.
        number: u64,
        /// What was asked.
        operation: DiskOperation,
        /// Nothing, or the operating system's code of the error.
        error: Option<i32>,
    },
    /// Something the test noted.
    Mark(String),
}

impl fmt::Display for JournalEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalEntry::Mark(text) => write!(f, "      -- {text}"),
            JournalEntry::Operation {
                number,
                operation,
                error,
            } => {
                write!(f, "{number:5} {operation:?}")?;
                error.map_or(Ok(()), |code| write!(f, ": error {code}"))
            }
        }
    }
}
