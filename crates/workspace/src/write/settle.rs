//! Settles the change of a dead process: it is finished if the log has its line, else undone.

use super::apply::{self, UndoOutcome, dir_of};
use super::journal::{self, ChangeOrigin, EntryState, JournalEntry, JournalError};
use candor_audit::AppendError;
use candor_disk::Disk;
use std::collections::BTreeSet;
use std::io;

/// The outcome of settling the change of a dead process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settlement {
    /// The origin of the change.
    pub(crate) about: ChangeOrigin,
    /// The files.
    pub(crate) paths: Vec<String>,
    /// True if the change was finished; false if it was undone.
    pub(crate) finished: bool,
    /// The number of files that were left alone, because another process has changed them since.
    pub(crate) left: usize,
}

/// The reason why the changes of a dead process cannot be settled.
#[derive(Debug)]
pub(crate) enum SettleError {
    /// The disk failed.
    Io(io::Error),
    /// The journal was not written by this program.
    Foreign,
    /// The log has the line of a change that never happened.
    Contradiction,
    /// The log could not be read, or the settlement could not be recorded.
    Log(AppendError),
}

impl From<io::Error> for SettleError {
    fn from(error: io::Error) -> Self {
        SettleError::Io(error)
    }
}

impl From<JournalError> for SettleError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Io(error) => SettleError::Io(error),
            JournalError::Foreign => SettleError::Foreign,
        }
    }
}

/// Settles the newest entry. `recorded` returns true if the log has the line of a call. The
/// returned settlement must be recorded, and then `close`d.
pub(super) fn settle<D: Disk>(
    root: &D,
    entry: &JournalEntry,
    fate: EntryState,
    recorded: impl FnOnce(&ChangeOrigin) -> Result<bool, SettleError>,
) -> Result<Option<Settlement>, SettleError> {
    let finished = match fate {
        EntryState::Kept => true,
        EntryState::Undone => false,
        EntryState::Open => recorded(&entry.about)?,
    };
    let mut left = 0;
    if finished {
        if !apply::is_complete(root, entry)? {
            return Err(SettleError::Contradiction);
        }
        entry
            .steps
            .iter()
            .try_for_each(|step| apply::remove_reachable(root, &step.aside))?;
    } else if fate == EntryState::Undone {
        // It is back already, except perhaps for the removal of files put aside.
        entry
            .steps
            .iter()
            .try_for_each(|step| apply::remove_reachable(root, &step.aside))?;
    } else {
        UndoOutcome { left } = apply::undo(root, entry)?;
    }
    sweep(root, entry)?;
    Ok((fate == EntryState::Open).then(|| Settlement {
        about: entry.about.clone(),
        paths: entry.steps.iter().map(|step| step.path.clone()).collect(),
        finished,
        left,
    }))
}

/// Removes the files that earlier calls had put aside, in case their removal was lost.
fn sweep<D: Disk>(root: &D, entry: &JournalEntry) -> io::Result<()> {
    let mut dirs: BTreeSet<&str> = entry.steps.iter().map(|step| dir_of(&step.path)).collect();
    for path in &entry.sweep {
        apply::remove_reachable(root, path)?;
        dirs.insert(dir_of(path));
    }
    for dir in dirs {
        match apply::sync_if_exists(root, dir) {
            Err(error) if apply::is_unreachable(&error) => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Records that an entry is settled.
pub(super) fn close<D: Disk>(state: &D, entry: &JournalEntry, finished: bool) -> io::Result<()> {
    let fate = if finished {
        EntryState::Kept
    } else {
        EntryState::Undone
    };
    journal::note(state, entry, fate, true)
}
