//! The steps of one entry: forward, back, and to their end.

use super::file_state::{FileState, content, copy};
use super::journal::{JournalEntry, JournalStep};
use super::{ChangeKind, FileChange, NewMode, file_mode};
use candor_disk::{Disk, DiskFile, Open};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io;

/// The mode of new files, before the umask.
const NEW_MODE: u32 = 0o644;

/// The mode of new directories, before the umask.
const DIR_MODE: u32 = 0o755;

/// Returns the directory of a path.
pub(crate) fn dir_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Makes every change of an entry; durable when this returns.
pub(super) fn forward<D: Disk>(
    root: &D,
    entry: &JournalEntry,
    changes: &[FileChange],
) -> io::Result<()> {
    for dir in &entry.made_dirs {
        root.create_dir(dir, DIR_MODE)?;
        root.sync_dir(dir_of(dir))?;
    }
    for (step, change) in entry.steps.iter().zip(changes) {
        prepare(root, step, &change.what)?;
    }
    for (step, change) in entry.steps.iter().zip(changes) {
        match change.what {
            ChangeKind::Create { .. } | ChangeKind::Copy { .. } => {
                root.rename_new(&step.aside, &step.path)?;
            }
            ChangeKind::Modify { .. } => root.exchange(&step.aside, &step.path)?,
            ChangeKind::Delete { .. } => root.rename_new(&step.path, &step.aside)?,
        }
    }
    sync_dirs(root, entry)
}

/// Writes the new bytes beside the file.
fn prepare<D: Disk>(root: &D, step: &JournalStep, what: &ChangeKind) -> io::Result<()> {
    if matches!(what, ChangeKind::Delete { .. }) {
        return Ok(());
    }
    let file = root.open(&step.aside, Open::CreateNew(NEW_MODE))?;
    match what {
        ChangeKind::Create { bytes, mode } => {
            match mode {
                NewMode::Usual { executable: false } => {}
                NewMode::Usual { executable: true } => {
                    file.set_mode(file_mode(file.mode()?, Some(true)))?;
                }
                NewMode::Exact(mode) => file.set_mode(*mode)?,
            }
            file.append_all(bytes)?;
        }
        ChangeKind::Copy {
            from, hash, mode, ..
        } => {
            file.set_mode(*mode)?;
            copy(&root.open(from, Open::Read)?, &file, hash)?;
        }
        ChangeKind::Modify { bytes, mode, .. } => {
            file.set_mode(*mode)?;
            file.append_all(bytes)?;
        }
        ChangeKind::Delete { .. } => {}
    }
    file.sync_all()
}

fn dirs_of(entry: &JournalEntry) -> BTreeSet<&str> {
    entry.steps.iter().map(|step| dir_of(&step.path)).collect()
}

fn sync_dirs<D: Disk>(root: &D, entry: &JournalEntry) -> io::Result<()> {
    let dirs = dirs_of(entry);
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
    for dir in dirs_of(entry) {
        sync_if_exists(root, dir)?;
    }
    remove_aside(root, entry)?;
    remove_made_dirs(root, entry)?;
    Ok(back)
}

/// Removes the directories that an entry made, unless another process has put something there.
fn remove_made_dirs<D: Disk>(root: &D, entry: &JournalEntry) -> io::Result<()> {
    for dir in entry.made_dirs.iter().rev() {
        match root.remove_dir(dir) {
            Err(error) if is_left_alone(&error) => continue,
            removed => removed?,
        }
        sync_if_exists(root, dir_of(dir))?;
    }
    Ok(())
}

/// Returns true if a directory is gone, or is not the empty directory that was made.
fn is_left_alone(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::NotFound,
        io::ErrorKind::DirectoryNotEmpty,
        io::ErrorKind::NotADirectory,
    ];
    kinds.contains(&error.kind())
}

/// Makes the names in a directory durable, unless the directory is gone.
pub(crate) fn sync_if_exists<D: Disk>(root: &D, dir: &str) -> io::Result<()> {
    match root.sync_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced,
    }
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
        (Some(before), Some(after)) if aside.is(before) && now.is(after) => {
            // Both have the same bytes, so only the modes show whether they were exchanged.
            let modes = [mode(root, &step.aside)?, mode(root, &step.path)?];
            if step.modes.is_some_and(|changed| modes == changed) {
                root.exchange(&step.aside, &step.path)?;
            }
            true
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

fn mode<D: Disk>(root: &D, path: &str) -> io::Result<u32> {
    root.open(path, Open::Read)?.mode()
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

/// Removes a file that no longer matters. It is left if its directory was replaced: then it went with the
/// directory.
pub(super) fn remove_reachable<D: Disk>(root: &D, path: &str) -> io::Result<()> {
    match remove(root, path) {
        Err(error) if is_unreachable(&error) => Ok(()),
        removed => removed,
    }
}

/// Returns true if something on the way is a link, or not a directory.
pub(crate) fn is_unreachable(error: &io::Error) -> bool {
    let codes = [Errno::LOOP, Errno::XDEV, Errno::NOTDIR];
    Errno::from_io_error(error).is_some_and(|code| codes.contains(&code))
}
