//! The journal of a disk: its operations in order, and the marks that the test made in between.

use candor_disk::Open;
use std::fmt;
use std::path::PathBuf;

/// One operation of a disk.
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
    RemoveDir {
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
    /// Returns true if it changes nothing, neither on the disk nor in memory.
    pub fn only_reads(&self) -> bool {
        use DiskOperation::{List, Open as Opened, Read};
        match self {
            Opened { how, .. } => matches!(how, Open::Read | Open::Edit),
            Read { .. } | List { .. } => true,
            _ => false,
        }
    }

    /// Returns true if it writes bytes to a file.
    pub fn writes(&self) -> bool {
        matches!(
            self,
            DiskOperation::Write { .. } | DiskOperation::Append { .. }
        )
    }

    /// Returns true if it makes something durable.
    pub fn syncs(&self) -> bool {
        use DiskOperation::{SyncAll, SyncData, SyncDir};
        matches!(self, SyncData { .. } | SyncAll { .. } | SyncDir { .. })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskEvent {
    /// An operation and its result.
    Operation {
        /// The number of operations before it.
        number: u64,
        operation: DiskOperation,
        /// The error code of the operating system, or `None` if it succeeded.
        error: Option<i32>,
    },
    /// A mark that the test made.
    Mark(String),
}

impl fmt::Display for DiskEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskEvent::Mark(text) => write!(f, "      -- {text}"),
            DiskEvent::Operation {
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
