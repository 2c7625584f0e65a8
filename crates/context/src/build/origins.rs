//! The origins of documents: path and stamp of each source, so that an update reads only what changed.

use crate::files::dir_handle::{DirHandle, read_file};
use crate::files::file_stamp::{FileStamp, STAMP_BYTES};
use crate::format::codec::{ByteReader, CorruptFile, append_checksum, put_bytes, verify_checksum};
use crate::format::digest::Digest;

/// The file of the origins in a cache.
pub(crate) const ORIGINS_FILE: &str = "accelerator.src";

const MAGIC: &[u8; 8] = b"candorso";
const LAYOUT: u32 = 2;

/// The most bytes of the file.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// The source of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) path: String,
    pub(crate) version: Digest,
    /// The stamp of the source when it was read, or `None` if it was changed too recently.
    pub(crate) stamp: Option<FileStamp>,
}

/// Returns the bytes of the file. The origins are in the order of ids.
pub(crate) fn write(cache_version: Digest, origins: &[Origin]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&LAYOUT.to_le_bytes());
    out.extend_from_slice(cache_version.raw());
    out.extend_from_slice(&(origins.len() as u32).to_le_bytes());
    for origin in origins {
        put_bytes(&mut out, origin.path.as_bytes());
        out.extend_from_slice(origin.version.raw());
        out.push(origin.stamp.is_some().into());
        if let Some(stamp) = origin.stamp {
            stamp.write(&mut out);
        }
    }
    append_checksum(&mut out, 0, cache_version.seed(), 0);
    out
}

/// Returns the origins of a cache of this version, or `None` if they are missing or corrupt.
pub(crate) fn find(cache: &DirHandle, cache_version: Digest) -> Option<Vec<Origin>> {
    let (bytes, _) = read_file(cache, ORIGINS_FILE, MAX_BYTES).ok()?;
    read(&bytes, cache_version).ok()
}

pub(crate) fn read(bytes: &[u8], cache_version: Digest) -> Result<Vec<Origin>, CorruptFile> {
    let body = verify_checksum(bytes, cache_version.seed(), 0)?;
    let mut reading = ByteReader(body);
    let magic: [u8; 8] = reading.array()?;
    let layout = reading.u32()?;
    let of = Digest::from_raw(reading.array()?);
    if &magic != MAGIC || layout != LAYOUT || of != cache_version {
        return Err(CorruptFile);
    }
    let count = reading.u32()? as usize;
    if count > bytes.len() / STAMP_BYTES {
        return Err(CorruptFile);
    }
    let mut documents = Vec::with_capacity(count);
    for _ in 0..count {
        let path = std::str::from_utf8(reading.bytes()?).map_err(|_| CorruptFile)?;
        documents.push(Origin {
            path: path.to_owned(),
            version: Digest::from_raw(reading.array()?),
            stamp: match reading.array()? {
                [0] => None,
                [1] => Some(FileStamp::read(&mut reading)?),
                _ => return Err(CorruptFile),
            },
        });
    }
    // Earlier versions have written listings of directories behind the documents.
    Ok(documents)
}
