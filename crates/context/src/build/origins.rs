//! Where the documents of a cache came from: for each, the source's path and signature, and the
//! directories that were walked through, so that an update reads only what changed.

use crate::build::directory_snapshot::DirectorySnapshot;
use crate::files::dir_handle::{DirHandle, read_file};
use crate::files::file_stamp::{FileStamp, STAMP_BYTES};
use crate::format::codec::{ByteReader, CorruptFile, checked, put_bytes, seal};
use crate::format::digest::Digest;

/// Where that is kept in a cache.
pub(crate) const ORIGINS_FILE: &str = "accelerator.src";

const MAGIC: &[u8; 8] = b"candorso";
const LAYOUT: u32 = 2;

/// The most bytes of the file.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Everything that is known of the sources of a cache.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    /// In the order of ids.
    pub(crate) documents: Vec<Origin>,
    pub(crate) folders: Vec<DirectorySnapshot>,
}

/// The source of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) path: String,
    pub(crate) version: Digest,
    /// Of the source, when it was read; none where it was too fresh to prove anything.
    pub(crate) signature: Option<FileStamp>,
}

/// The file of these origins.
pub(crate) fn write(cache_version: Digest, origins: &Origins) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&LAYOUT.to_le_bytes());
    out.extend_from_slice(cache_version.raw());
    out.extend_from_slice(&(origins.documents.len() as u32).to_le_bytes());
    for origin in &origins.documents {
        put_bytes(&mut out, origin.path.as_bytes());
        out.extend_from_slice(origin.version.raw());
        out.push(origin.signature.is_some().into());
        if let Some(signature) = origin.signature {
            signature.write(&mut out);
        }
    }
    for folder in &origins.folders {
        folder.write(&mut out);
    }
    seal(&mut out, 0, cache_version.seed(), 0);
    out
}

/// The origins of a cache of this version, if they are known.
pub(crate) fn find(cache: &DirHandle, cache_version: Digest) -> Option<Origins> {
    let (bytes, _) = read_file(cache, ORIGINS_FILE, MAX_BYTES).ok()?;
    read(&bytes, cache_version).ok()
}

pub(crate) fn read(bytes: &[u8], cache_version: Digest) -> Result<Origins, CorruptFile> {
    let body = checked(bytes, cache_version.seed(), 0)?;
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
            signature: match reading.array()? {
                [0] => None,
                [1] => Some(FileStamp::read(&mut reading)?),
                _ => return Err(CorruptFile),
            },
        });
    }
    let mut folders = Vec::new();
    while !reading.is_empty() {
        folders.push(DirectorySnapshot::read(&mut reading)?);
    }
    Ok(Origins { documents, folders })
}
