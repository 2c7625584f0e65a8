//! A file before it is changed.

use crate::failure::Failure;
use crate::reading::{MAX_WHOLE_BYTES, ReadError};
use crate::write::{hash_of, read_hash};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use std::io;

pub(super) fn read_text(disk: &RealDisk, path: &str) -> Option<String> {
    let file = disk.open(path, Open::Read).ok()?;
    String::from_utf8(file.read_all(MAX_WHOLE_BYTES as usize).ok()?).ok()
}

/// Checks that the file is the one that the caller saw.
pub(super) fn require_hash(
    expected: Option<&String>,
    actual: Option<&String>,
) -> Result<(), Failure> {
    match expected {
        Some(expected) if actual != Some(expected) => Err(Failure::Changed {
            expected: expected.clone(),
            actual: actual.cloned(),
        }),
        _ => Ok(()),
    }
}

/// A file before it is changed.
pub(super) struct OldFile {
    pub(super) hash: String,
    pub(super) mode: u32,
    pub(super) length: u64,
    /// `None` if the file is too large to be read at once.
    pub(super) bytes: Option<Vec<u8>>,
}

impl OldFile {
    pub(super) fn read(disk: &RealDisk, path: &str) -> Result<OldFile, Failure> {
        let read = |error: io::Error| Failure::Read(ReadError::from(error));
        let file = disk.open(path, Open::Read).map_err(read)?;
        let mode = file.mode().map_err(read)?;
        let length = file.len().map_err(read)?;
        if length > MAX_WHOLE_BYTES {
            return Ok(OldFile {
                hash: read_hash(&file).map_err(read)?,
                mode,
                length,
                bytes: None,
            });
        }
        let bytes = file.read_all(MAX_WHOLE_BYTES as usize).map_err(read)?;
        Ok(OldFile {
            hash: hash_of(&bytes),
            mode,
            length: bytes.len() as u64,
            bytes: Some(bytes),
        })
    }

    /// Returns the old bytes, which a partial change needs.
    pub(super) fn bytes(&self) -> Result<&[u8], Failure> {
        let too_large = ReadError::TooLarge {
            size: MAX_WHOLE_BYTES + 1,
            limit: MAX_WHOLE_BYTES,
        };
        self.bytes.as_deref().ok_or(Failure::Read(too_large))
    }

    /// Returns the old text.
    pub(super) fn text(&self) -> Result<&str, Failure> {
        std::str::from_utf8(self.bytes()?).map_err(|error| {
            Failure::Read(ReadError::NotText {
                at: error.valid_up_to() as u64,
            })
        })
    }
}
