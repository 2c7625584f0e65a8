//! The steps of one entry: forward, back, and to their end.

use super::file_state::{FileState, content};
use super::journal::{JournalEntry, JournalStep};
use super::{ChangeKind, FileChange};
use candor_disk::{Disk, DiskFile, Open};
use std::collections::BTreeSet;
use std::io;

/// The mode of new files, before the umask.
const NEW_MODE: u32 = 0o644;

/// Returns the directory of a path.
pub(super) fn dir_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Makes every change of an entry; durable when this returns.
pub(super) fn forward<D: Disk>(
    root: &D,
    entry: &JournalEntry,
    changes: &[FileChange],
) -> io::Result<()> {
    for (step, change) in entry.steps.iter().zip(changes) {
        if let Some(bytes) = change.what.bytes() {
            prepare(root, step, &change.what, bytes)?;
        }
    }
    for (step, change) in entry.steps.iter().zip(changes) {
        match change.what {
            ChangeKind::Create { .. } => root.rename_new(&step.aside, &step.path)?,
            ChangeKind::Modify { .. } => root.exchange(&step.aside, &step.path)?,
            ChangeKind::Delete { .. } => root.rename_new(&step.path, &step.aside)?,
        }
    }
    sync_dirs(root, entry)
}

/// Writes the new bytes beside the file.
fn prepare<D: Disk>(
    root: &D,
    step: &JournalStep,
    what: &ChangeKind,
    bytes: &[u8],
) -> io::Result<()> {
    let file = root.open(&step.aside, Open::CreateNew(NEW_MODE))?;
    if let ChangeKind::Modify { mode, .. } = what {
        file.set_mode(*mode)?;
    }
    file.append_all(bytes)?;
    file.sync_all()
}

fn sync_dirs<D: Disk>(root: &D, entry: &JournalEntry) -> io::Result<()> {
    let dirs: BTreeSet<&str> = entry.steps.iter().map(|step| dir_of(&step.path)).collect();
    dirs.into_iter().try_for_each(|dir| root.sync_dir(dir))
}

/// The outcome of undoing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct UndoOutcome {
    /// The number of files that were left alone, because another process has changed them.
    pub(super) left: usize,
}

/// Undoes everything that was changed, wherever it stopped; durable when this returns, except for
/// the removal of files put aside.
pub(super) fn undo<D: Disk>(root: &D, entry: &JournalEntry) -> io::Result<UndoOutcome> {
    let mut back = UndoOutcome::default();
    for step in entry.steps.iter().rev() {
        if !step_back(root, step)? {
            back.left += 1;
        }
    }
    // A file aside may contain the old bytes: it is removed only when they are durably back.
    sync_dirs(root, entry)?;
    remove_aside(root, entry)?;
    Ok(back)
}

/// Undoes one step. Returns false if another process has changed the file since.
fn step_back<D: Disk>(root: &D, step: &JournalStep) -> io::Result<bool> {
    let now = content(root, &step.path)?;
    let aside = content(root, &step.aside)?;
    Ok(match (&step.before, &step.after) {
        (None, Some(after)) if aside == FileState::Missing => {
            let ours = now.is(after);
            if ours {
                root.unlink(&step.path)?;
            }
            ours || now == FileState::Missing
        }
        (Some(before), Some(after)) if aside.is(before) && before != after => {
            let ours = now.is(after);
            if ours {
                root.exchange(&step.aside, &step.path)?;
            }
            // A part of the new bytes that was written aside can be the same as the old bytes.
            ours || now.is(before)
        }
        (Some(_), None) if aside != FileState::Missing => {
            let gone = now == FileState::Missing;
            if gone {
                root.rename_new(&step.aside, &step.path)?;
            }
            gone
        }
        // It was never changed.
        _ => true,
    })
}

/// Returns true if the change of an entry is complete: its new bytes must not still be aside.
pub(super) fn is_complete<D: Disk>(root: &D, entry: &JournalEntry) -> io::Result<bool> {
    for step in &entry.steps {
        let aside = content(root, &step.aside)?;
        let waits = |after: &String| step.before.as_ref() != Some(after) && aside.is(after);
        if step.after.as_ref().is_some_and(waits) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the files that an entry put aside.
pub(super) fn remove_aside<D: Disk>(root: &D, entry: &JournalEntry) -> io::Result<()> {
    entry
        .steps
        .iter()
        .try_for_each(|step| remove(root, &step.aside))
}

/// Removes a file that may be gone already.
pub(super) fn remove<D: Disk>(root: &D, path: &str) -> io::Result<()> {
    match root.unlink(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
