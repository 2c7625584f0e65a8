//! Directories of sources as they were listed: one that has not changed since has the same names in
//! it, and need not be listed again.

use crate::files::file_stamp::FileStamp;
use crate::format::codec::{ByteReader, CorruptFile, put_bytes};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// A directory as it was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirectorySnapshot {
    /// Below the sources; empty for the sources themselves.
    path: OsString,
    signature: FileStamp,
    /// Files and directories in it, one after the other: a byte for what it is, and the name.
    entries: Vec<u8>,
}

const FILE: u8 = 0;
const DIRECTORY: u8 = 1;

impl DirectorySnapshot {
    /// A directory that had this signature before these names were read from it.
    pub(crate) fn new(
        path: &OsStr,
        signature: FileStamp,
        names: &[(OsString, FileType)],
    ) -> DirectorySnapshot {
        let mut entries = Vec::new();
        for (name, kind) in names {
            entries.push(match kind {
                FileType::RegularFile => FILE,
                FileType::Directory => DIRECTORY,
                _ => continue,
            });
            put_bytes(&mut entries, name.as_bytes());
        }
        DirectorySnapshot {
            path: path.to_owned(),
            signature,
            entries,
        }
    }

    pub(crate) fn signature(&self) -> FileStamp {
        self.signature
    }

    /// The files and directories in it.
    pub(crate) fn names(&self) -> Vec<(OsString, FileType)> {
        let mut names = Vec::new();
        let mut reading = ByteReader(&self.entries);
        while let Ok((name, kind)) = entry(&mut reading) {
            names.push((name.to_owned(), kind));
        }
        names
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.path.as_bytes());
        self.signature.write(out);
        put_bytes(out, &self.entries);
    }

    pub(crate) fn read(reading: &mut ByteReader<'_>) -> Result<DirectorySnapshot, CorruptFile> {
        let path = OsStr::from_bytes(reading.bytes()?).to_owned();
        let signature = FileStamp::read(reading)?;
        let entries = reading.bytes()?;
        let mut inside = ByteReader(entries);
        while !inside.is_empty() {
            entry(&mut inside)?;
        }
        Ok(DirectorySnapshot {
            path,
            signature,
            entries: entries.to_vec(),
        })
    }
}

fn entry<'e>(reading: &mut ByteReader<'e>) -> Result<(&'e OsStr, FileType), CorruptFile> {
    let kind = match reading.array()? {
        [FILE] => FileType::RegularFile,
        [DIRECTORY] => FileType::Directory,
        _ => return Err(CorruptFile),
    };
    match reading.bytes()? {
        b"" | b"." | b".." => Err(CorruptFile),
        name if name.contains(&b'/') || name.contains(&0) => Err(CorruptFile),
        name => Ok((OsStr::from_bytes(name), kind)),
    }
}

/// All directories that were listed.
#[derive(Debug, Default)]
pub(crate) struct DirectorySnapshots(HashMap<OsString, DirectorySnapshot, FixedState>);

impl DirectorySnapshots {
    pub(crate) fn get(&self, path: &OsStr) -> Option<&DirectorySnapshot> {
        self.0.get(path)
    }
}

impl FromIterator<DirectorySnapshot> for DirectorySnapshots {
    fn from_iter<I: IntoIterator<Item = DirectorySnapshot>>(all: I) -> DirectorySnapshots {
        let by_path = |one: DirectorySnapshot| (one.path.clone(), one);
        DirectorySnapshots(all.into_iter().map(by_path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_name_that_leaves_its_directory_is_corrupt() {
        let signature = FileStamp::read(&mut ByteReader(&[7; 32])).unwrap();
        let surveyed = |name: &[u8]| {
            let name = OsStr::from_bytes(name).to_owned();
            let kinds = [FileType::RegularFile, FileType::Symlink];
            let names = kinds.map(|kind| (name.clone(), kind));
            let mut out = Vec::new();
            DirectorySnapshot::new(OsStr::new("a"), signature, &names).write(&mut out);
            DirectorySnapshot::read(&mut ByteReader(&out))
        };
        let names = surveyed(b"b\xff.md").unwrap().names();
        let wanted = OsStr::from_bytes(b"b\xff.md").to_owned();
        assert_eq!(names, [(wanted, FileType::RegularFile)]);
        for wrong in [&b""[..], b".", b"..", b"../x", b"/x", b"x\0"] {
            assert_eq!(surveyed(wrong), Err(CorruptFile));
        }
    }
}
