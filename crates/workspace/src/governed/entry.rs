//! The entry in the state directory that says which governed files the commands of a call may be changing.

use super::snapshot::{GovernedFile, Snapshot};
use crate::plan::durable::{self, IfExists};
use crate::write::{ChangeOrigin, SettleError, hash_of, read_hash};
use candor_disk::{Disk, DiskFile, Open};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The file of the entry, in the directory of saved bytes.
pub(super) const NAME: &str = "entry";

const PATH: &str = "governed/entry";

const FILE_MODE: u32 = 0o600;

/// The maximum size of an entry, in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The governed files of a call before its commands ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GovernedEntry {
    pub(super) v: u64,
    pub(crate) about: ChangeOrigin,
    pub(super) writable: Vec<String>,
    /// The path of the saved bytes, in the state directory.
    pub(super) saved: String,
    pub(super) files: BTreeMap<String, SavedFile>,
    pub(super) dirs: BTreeSet<String>,
    /// Governed files that a rule of git ignores, because they are in its index.
    pub(super) tracked: BTreeSet<String>,
}

/// A governed file and the place of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedFile {
    pub(super) file: GovernedFile,
    pub(super) offset: u64,
}

impl GovernedEntry {
    /// Returns the writable paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        self.writable.iter().cloned()
    }

    /// Returns the files that are not as they were: path, hash before and what is there now.
    pub(crate) fn differences<D: Disk>(&self, root: &D) -> Vec<(String, String, String)> {
        let mut differences = Vec::new();
        for (path, saved) in &self.files {
            let GovernedFile::File { hash, .. } = &saved.file else {
                continue;
            };
            let now = match root
                .open(path, Open::Read)
                .and_then(|file| read_hash(&file))
            {
                Ok(now) => now,
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::from("missing"),
                Err(_) => String::from("not a file, or behind a link"),
            };
            if now != *hash {
                differences.push((path.clone(), hash.clone(), now));
            }
        }
        differences
    }

    /// Returns the files as they were.
    pub(super) fn snapshot(&self) -> Snapshot {
        let files = self.files.iter();
        Snapshot {
            files: files
                .map(|(path, saved)| (path.clone(), saved.file.clone()))
                .collect(),
            stamps: BTreeMap::new(),
            dirs: self.dirs.clone(),
            odd: Vec::new(),
            is_too_large: false,
        }
    }
}

/// Writes an entry, in place of an earlier one; durable when this returns.
pub(super) fn write_entry<D: Disk>(state: &D, entry: &GovernedEntry) -> io::Result<()> {
    let body = serde_json::to_vec(entry)?;
    let mut bytes = hash_of(&body).into_bytes();
    bytes.push(b'\n');
    bytes.extend_from_slice(&body);
    if bytes.len() > MAX_BYTES {
        return Err(rustix::io::Errno::FBIG.into());
    }
    let dir = super::saved_bytes::DIR;
    durable::ensure_dir(state, "", dir, 0o700)?;
    durable::write(state, dir, NAME, FILE_MODE, &bytes, IfExists::Replace)
}

/// Returns the entry, if there is one.
pub(crate) fn pending_entry<D: Disk>(state: &D) -> Result<Option<GovernedEntry>, SettleError> {
    let file = match state.open(PATH, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let bytes = file.read_all(MAX_BYTES)?;
    let body = memchr::memchr(b'\n', &bytes).map(|end| bytes.split_at(end));
    let (hash, body) = body.ok_or(SettleError::Foreign)?;
    let body = body.get(1..).unwrap_or_default();
    if hash_of(body).as_bytes() != hash {
        return Err(SettleError::Foreign);
    }
    let entry: GovernedEntry = serde_json::from_slice(body).map_err(|_| SettleError::Foreign)?;
    match entry.v {
        1 => Ok(Some(entry)),
        _ => Err(SettleError::Foreign),
    }
}

/// Removes the entry. If `durable`, it is gone from the disk when this returns.
pub(crate) fn remove_entry<D: Disk>(state: &D, durable: bool) -> io::Result<()> {
    match state.unlink(PATH) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        removed => removed?,
    }
    match durable {
        true => state.sync_dir(super::saved_bytes::DIR),
        false => Ok(()),
    }
}

/// Copies the entry and the saved bytes into a directory of the state directory, for a person.
pub(crate) fn save_entry<D: Disk>(state: &D, dir: &str) -> io::Result<()> {
    let saved = match pending_entry(state) {
        Ok(Some(entry)) => Some(entry.saved),
        _ => None,
    };
    for (from, to) in [
        (Some(PATH), "governed-entry"),
        (saved.as_deref(), "governed-bytes"),
    ] {
        let Some(from) = from else {
            continue;
        };
        let file = match state.open(from, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let copy = state.open(format!("{dir}/{to}"), Open::Create(FILE_MODE))?;
        copy.set_len(0)?;
        super::saved_bytes::copy_back::<D>(&file, 0, file.len()?, &copy)?;
        copy.sync_all()?;
    }
    state.sync_dir(dir)
}
