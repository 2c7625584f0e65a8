//! The bytes of governed files, saved in the state directory before commands run. Bytes that were saved for
//! an earlier call of the session are not saved again.

use super::snapshot::GovernedFile;
use crate::plan::durable;
use crate::write::copy;
use candor_disk::{Disk, DiskFile, Open};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::io;

/// The directory of the files with saved bytes, in the state directory of a root.
pub(super) const DIR: &str = "governed";

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A file that is longer than this starts anew with the next call.
const MAX_LENGTH: u64 = 512 << 20;

/// The number of bytes that are copied at once.
const CHUNK: u64 = 64 * 1024;

/// The saved bytes of one session.
pub(crate) struct SavedBytes<D: Disk> {
    state: D,
    /// The path of the file, in the state directory.
    path: String,
    /// Open and locked once something was saved.
    file: Option<D::File>,
    /// The offset of the bytes with a hash.
    offsets: HashMap<String, u64>,
    length: u64,
}

impl<D: Disk> SavedBytes<D> {
    pub(crate) fn new(state: D, session: &str) -> SavedBytes<D> {
        SavedBytes {
            state,
            path: format!("{DIR}/{session}"),
            file: None,
            offsets: HashMap::new(),
            length: 0,
        }
    }

    /// Returns the path of the file, in the state directory.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Saves the bytes of these files; durable when this returns. Returns the offset of each.
    pub(super) fn save(
        &mut self,
        root: &D,
        files: &BTreeMap<String, GovernedFile>,
    ) -> io::Result<BTreeMap<String, u64>> {
        if self.length > MAX_LENGTH {
            self.remove()?;
        }
        let before = self.length;
        let mut offsets = BTreeMap::new();
        for (path, file) in files {
            let GovernedFile::File { hash, .. } = file else {
                continue;
            };
            let offset = match self.offsets.get(hash) {
                Some(offset) => *offset,
                None => {
                    let offset = self.copy(root, path, hash)?;
                    self.offsets.insert(hash.clone(), offset);
                    offset
                }
            };
            offsets.insert(path.clone(), offset);
        }
        if self.length > before
            && let Some(file) = &self.file
        {
            let synced = file.sync_all();
            if synced.is_err() {
                // Whatever a failed sync left is never sure again.
                self.remove()?;
            }
            synced?;
        }
        Ok(offsets)
    }

    fn open(&mut self) -> io::Result<&D::File> {
        if self.file.is_none() {
            durable::ensure_dir(&self.state, "", DIR, DIR_MODE)?;
            let file = self.state.open(&self.path, Open::Create(FILE_MODE))?;
            if !file.try_lock()? {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            file.set_len(0)?;
            self.state.sync_dir(DIR)?;
            self.file = Some(file);
        }
        self.file.as_ref().ok_or_else(|| Errno::IO.into())
    }

    /// Appends a file that must have this hash. Returns the offset of its bytes.
    fn copy(&mut self, root: &D, path: &str, hash: &str) -> io::Result<u64> {
        let offset = self.length;
        let from = root.open(path, Open::Read)?;
        let to = self.open()?;
        let copied = copy(&from, to, hash).and_then(|()| to.len());
        if copied.is_err() {
            to.set_len(offset)?;
        }
        self.length = copied?;
        Ok(offset)
    }

    /// Removes the file.
    pub(crate) fn remove(&mut self) -> io::Result<()> {
        self.offsets.clear();
        self.length = 0;
        match self.file.take() {
            Some(_) => self.state.unlink(&self.path),
            None => Ok(()),
        }
    }
}

/// Copies saved bytes to a file.
pub(super) fn copy_back<D: Disk>(
    saved: &D::File,
    offset: u64,
    length: u64,
    to: &D::File,
) -> io::Result<()> {
    let mut copied = 0;
    while copied < length {
        let part = (length - copied).min(CHUNK);
        let bytes = read_back(saved, offset + copied, part)?;
        to.write_all_at(&bytes, copied)?;
        copied += part;
    }
    Ok(())
}

/// Reads saved bytes.
pub(super) fn read_back(saved: &impl DiskFile, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        match saved.read_at(rest, offset + filled as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// Removes the saved bytes of sessions whose processes have died. The caller has the turn to write, so no
/// entry refers to them.
pub(crate) fn remove_abandoned<D: Disk>(state: &D) -> io::Result<()> {
    let names = match state.list(DIR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names?,
    };
    for name in names.into_iter().filter_map(|name| name.into_string().ok()) {
        let path = format!("{DIR}/{name}");
        let file = match state.open(&path, Open::Edit) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        if name != super::entry::NAME && file.try_lock()? {
            match state.unlink(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}
