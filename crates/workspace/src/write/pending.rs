//! A change that waits to be settled: what it was about to do, and the bytes that it put aside.

use super::apply::remove;
use super::file_state::{FileState, content};
use super::journal::{self, ChangeOrigin, EntryState, JournalEntry, JournalError};
use candor_disk::{Disk, DiskFile, Open};
use std::io;

/// The maximum size of a file aside that is kept, in bytes.
const MAX_SAVED: usize = 256 * 1024 * 1024;

const MODE: u32 = 0o600;

/// A change that has not ended.
#[derive(Debug)]
pub(crate) struct PendingEntry {
    pub(crate) about: ChangeOrigin,
    pub(crate) files: Vec<PendingFile>,
    entry: JournalEntry,
}

/// One file of a change that has not ended.
#[derive(Debug)]
pub(crate) struct PendingFile {
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// The hash of the file that is there now, or what else is there.
    pub(crate) now: Result<String, &'static str>,
}

/// Returns the change that has not ended, if there is one.
pub(crate) fn pending<D: Disk>(root: &D, state: &D) -> Result<Option<PendingEntry>, JournalError> {
    let Some((entry, fate)) = journal::newest(state)? else {
        return Ok(None);
    };
    let is_aside = |path: &str| !matches!(content(root, path), Ok(FileState::Missing));
    if fate != EntryState::Open && !entry.steps.iter().any(|step| is_aside(&step.aside)) {
        return Ok(None);
    }
    let files = entry.steps.iter().map(|step| PendingFile {
        path: step.path.clone(),
        before: step.before.clone(),
        after: step.after.clone(),
        now: match content(root, &step.path) {
            Ok(FileState::File(hash)) => Ok(hash),
            Ok(FileState::Missing) => Err("missing"),
            Ok(FileState::Other) => Err("not a file, or behind a link"),
            Err(_) => Err("not readable"),
        },
    });
    Ok(Some(PendingEntry {
        about: entry.about.clone(),
        files: files.collect(),
        entry,
    }))
}

/// Copies the journal and the bytes that it put aside into a directory of the state directory, and
/// removes the latter from the tree. Files that cannot be reached are left.
pub(crate) fn save_aside<D: Disk>(
    root: &D,
    state: &D,
    entry: Option<&PendingEntry>,
    dir: &str,
) -> io::Result<usize> {
    let write = |name: &str, bytes: &[u8]| {
        let file = state.open(format!("{dir}/{name}"), Open::Create(MODE))?;
        file.set_len(0)?;
        file.append_all(bytes)?;
        file.sync_all()
    };
    for (name, bytes) in journal::files(state)? {
        write(name, &bytes)?;
    }
    let mut saved = 0;
    let steps = entry.map_or(&[][..], |entry| &entry.entry.steps);
    for (index, step) in steps.iter().enumerate() {
        let Ok(file) = root.open(&step.aside, Open::Read) else {
            continue;
        };
        write(&format!("{index}"), &file.read_all(MAX_SAVED)?)?;
        state.sync_dir(dir)?;
        remove(root, &step.aside)?;
        saved += 1;
    }
    state.sync_dir(dir)?;
    Ok(saved)
}

/// Forgets every change; durable when this returns.
pub(crate) fn clear<D: Disk>(state: &D) -> io::Result<()> {
    journal::clear(state)
}
