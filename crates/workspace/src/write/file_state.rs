//! The state of a file, as a hash of its contents.

use crate::hex::hex;
use candor_disk::{Disk, DiskFile, Open};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::io;

/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Returns the SHA-256 of some bytes, in hex.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileState {
    Missing,
    /// A file with this hash.
    File(String),
    /// Not a file, or only reachable through a link.
    Other,
}

impl FileState {
    pub(super) fn is(&self, hash: &str) -> bool {
        matches!(self, FileState::File(own) if own == hash)
    }
}

/// Returns the state of a path.
pub(super) fn content<D: Disk>(disk: &D, path: &str) -> io::Result<FileState> {
    let other = [
        Errno::ISDIR,
        Errno::INVAL,
        Errno::LOOP,
        Errno::XDEV,
        Errno::NOTDIR,
    ];
    match disk.open(path, Open::Read) {
        Ok(file) => Ok(FileState::File(read_hash(&file)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FileState::Missing),
        Err(error) if Errno::from_io_error(&error).is_some_and(|code| other.contains(&code)) => {
            Ok(FileState::Other)
        }
        Err(error) => Err(error),
    }
}

/// Copies a file that must have this hash.
pub(crate) fn copy(from: &impl DiskFile, to: &impl DiskFile, hash: &str) -> io::Result<()> {
    let copied = read_chunks(from, &mut vec![0; CHUNK], |bytes| to.append_all(bytes))?;
    match copied == hash {
        true => Ok(()),
        // Another process has changed it since it was judged.
        false => Err(Errno::STALE.into()),
    }
}

/// Returns the SHA-256 of a whole file, in hex.
pub(crate) fn read_hash(file: &impl DiskFile) -> io::Result<String> {
    read_hash_with(file, &mut vec![0; CHUNK])
}

/// As [`read_hash`], through a buffer that must not be empty.
pub(crate) fn read_hash_with(file: &impl DiskFile, buffer: &mut [u8]) -> io::Result<String> {
    read_chunks(file, buffer, |_| Ok(()))
}

/// Reads a file in chunks. Returns the hash of all of them.
fn read_chunks(
    file: &impl DiskFile,
    buffer: &mut [u8],
    mut use_chunk: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut offset = 0;
    loop {
        match file.read_at(buffer, offset) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(read) => {
                let chunk = &buffer[..read];
                hasher.update(chunk);
                use_chunk(chunk)?;
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
