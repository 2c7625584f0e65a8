//! The journal: the changes that a call is about to make, on the disk before it changes anything.
//!
//! Two files take turns, so that an entry that was torn while it was written leaves the one before
//! it whole. A torn entry is ignored: nothing had been changed by then.

use super::file_state::hash_of;
use candor_disk::{Disk, DiskFile, Open};
use serde::{Deserialize, Serialize};
use std::io;

/// The files, written in turns.
const FILES: [&str; 2] = ["journal.0", "journal.1"];

const MODE: u32 = 0o600;

/// The beginning of the first line, with the version of the format.
const MAGIC: &str = "candor-journal/1 ";

/// The beginning of the first line in every version.
const FAMILY: &str = "candor-journal/";

/// The maximum size of an entry, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The call that made a change, with enough facts to find its line in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeOrigin {
    pub(crate) session_id: String,
    pub(crate) request_id: String,
    pub(crate) tool_name: String,
    pub(crate) args_hash: String,
    /// The line comes after the one with this number.
    pub(crate) after_seq: u64,
}

/// One file of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalStep {
    pub(super) path: String,
    /// The path of the new bytes before the change, and of the old ones after it.
    pub(super) aside: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// The mode before and after, if the change replaces a file and its mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) modes: Option<[u32; 2]>,
}

/// The changes that one call is about to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalEntry {
    /// Entries are counted; the newest one counts.
    pub(super) number: u64,
    pub(super) about: ChangeOrigin,
    pub(super) steps: Vec<JournalStep>,
    /// The directories that the call makes, from the root down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) made_dirs: Vec<String>,
    /// Files aside that earlier calls removed, if the removal may not be durable yet.
    pub(super) sweep: Vec<String>,
}

/// The recorded state of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryState {
    /// It may be at any step.
    Open,
    /// Its line is in the log.
    Kept,
    /// Everything was undone.
    Undone,
}

impl EntryState {
    fn mark(self) -> u8 {
        match self {
            EntryState::Open => b'o',
            EntryState::Kept => b'k',
            EntryState::Undone => b'u',
        }
    }

    fn of(mark: u8) -> Option<EntryState> {
        [EntryState::Open, EntryState::Kept, EntryState::Undone]
            .into_iter()
            .find(|fate| fate.mark() == mark)
    }
}

/// A flaw of a journal.
#[derive(Debug)]
pub(crate) enum JournalError {
    /// The disk failed.
    Io(io::Error),
    /// An entry is whole, but this program did not write it.
    Foreign,
}

impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> Self {
        JournalError::Io(error)
    }
}

/// Returns the newest entry, if there is one.
pub(super) fn newest<D: Disk>(
    state: &D,
) -> Result<Option<(JournalEntry, EntryState)>, JournalError> {
    let mut newest: Option<(JournalEntry, EntryState)> = None;
    for name in FILES {
        let found = read(state, name)?;
        let number = newest.as_ref().map(|(entry, _)| entry.number);
        if let Some((entry, fate)) = found.filter(|(entry, _)| Some(entry.number) > number) {
            newest = Some((entry, fate));
        }
    }
    Ok(newest)
}

fn read<D: Disk>(
    state: &D,
    name: &str,
) -> Result<Option<(JournalEntry, EntryState)>, JournalError> {
    let file = match state.open(name, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let bytes = file.read_all(MAX_BYTES)?;
    if bytes.starts_with(FAMILY.as_bytes()) && !bytes.starts_with(MAGIC.as_bytes()) {
        return Err(JournalError::Foreign);
    }
    let Some((fate, body)) = whole(&bytes) else {
        return Ok(None);
    };
    match serde_json::from_slice(body) {
        Ok(entry) => Ok(Some((entry, fate))),
        Err(_) => Err(JournalError::Foreign),
    }
}

/// Returns the body of an entry that was written to its end.
fn whole(bytes: &[u8]) -> Option<(EntryState, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let (fate, rest) = rest.split_first()?;
    let end = memchr::memchr(b'\n', rest)?;
    let mut words = std::str::from_utf8(&rest[..end]).ok()?.split(' ').skip(1);
    let (hash, length) = (words.next()?, words.next()?.parse::<usize>().ok()?);
    let body = rest.get(end + 1..)?.get(..length)?;
    (hash_of(body) == hash).then_some(())?;
    Some((EntryState::of(*fate)?, body))
}

fn name(number: u64) -> &'static str {
    FILES[usize::from(number % 2 == 1)]
}

/// Puts an entry into the journal; it is on the disk when this returns.
pub(super) fn write<D: Disk>(state: &D, entry: &JournalEntry) -> io::Result<()> {
    let body = serde_json::to_vec(entry)?;
    let head = format!(
        "{MAGIC}{} {} {}\n",
        char::from(EntryState::Open.mark()),
        hash_of(&body),
        body.len()
    );
    if head.len() + body.len() > MAX_BYTES {
        return Err(rustix::io::Errno::FBIG.into());
    }
    let name = name(entry.number);
    let (file, is_new) = match state.open(name, Open::Edit) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (state.open(name, Open::Create(MODE))?, true)
        }
        opened => (opened?, false),
    };
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&body);
    let written = file
        .write_all_at(&bytes, 0)
        .and_then(|()| file.sync_data())
        .and_then(|()| if is_new { state.sync_dir("") } else { Ok(()) });
    if written.is_err() && is_new {
        // A name whose sync failed is never sure again: the next entry makes it anew.
        let _ = state.unlink(name);
    }
    written
}

/// Removes the journal; durable when this returns.
pub(super) fn clear<D: Disk>(state: &D) -> io::Result<()> {
    for name in FILES {
        super::apply::remove(state, name)?;
    }
    state.sync_dir("")
}

/// Returns the files of the journal, to keep a copy.
pub(super) fn files<D: Disk>(state: &D) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = Vec::new();
    for name in FILES {
        match state.open(name, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => files.push((name, opened?.read_all(MAX_BYTES)?)),
        }
    }
    Ok(files)
}

/// Records how the call of an entry ended. If `durable`, that is on the disk when this returns.
pub(super) fn note<D: Disk>(
    state: &D,
    entry: &JournalEntry,
    fate: EntryState,
    durable: bool,
) -> io::Result<()> {
    let file = state.open(name(entry.number), Open::Edit)?;
    file.write_all_at(&[fate.mark()], MAGIC.len() as u64)?;
    if durable { file.sync_data() } else { Ok(()) }
}
