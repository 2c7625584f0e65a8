//! Listings of source directories. A directory that has not changed since need not be listed again.

use crate::files::file_stamp::FileStamp;
use crate::format::codec::{ByteReader, CorruptFile, put_bytes};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The listing of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirectorySnapshot {
    /// The path below the sources, empty for the source directory itself.
    path: OsString,
    stamp: FileStamp,
    /// The encoded entries: for each file or directory a byte for its type, then its name.
    entries: Vec<u8>,
}

const FILE: u8 = 0;
const DIRECTORY: u8 = 1;

impl DirectorySnapshot {
    /// Takes the stamp from before the names were read.
    pub(crate) fn new(
        path: &OsStr,
        stamp: FileStamp,
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
            stamp,
            entries,
        }
    }

    pub(crate) fn stamp(&self) -> FileStamp {
        self.stamp
    }

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
        self.stamp.write(out);
        put_bytes(out, &self.entries);
    }

    pub(crate) fn read(reading: &mut ByteReader<'_>) -> Result<DirectorySnapshot, CorruptFile> {
        let path = OsStr::from_bytes(reading.bytes()?).to_owned();
        let stamp = FileStamp::read(reading)?;
        let entries = reading.bytes()?;
        let mut inside = ByteReader(entries);
        while !inside.is_empty() {
            entry(&mut inside)?;
        }
        Ok(DirectorySnapshot {
            path,
            stamp,
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

/// The listings of all source directories, by path.
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
        let stamp = FileStamp::read(&mut ByteReader(&[7; 32])).unwrap();
        let round_trip = |name: &[u8]| {
            let name = OsStr::from_bytes(name).to_owned();
            let kinds = [FileType::RegularFile, FileType::Symlink];
            let names = kinds.map(|kind| (name.clone(), kind));
            let mut out = Vec::new();
            DirectorySnapshot::new(OsStr::new("a"), stamp, &names).write(&mut out);
            DirectorySnapshot::read(&mut ByteReader(&out))
        };
        let names = round_trip(b"b\xff.md").unwrap().names();
        let expected = OsStr::from_bytes(b"b\xff.md").to_owned();
        assert_eq!(names, [(expected, FileType::RegularFile)]);
        for wrong in [&b""[..], b".", b"..", b"../x", b"/x", b"x\0"] {
            assert_eq!(round_trip(wrong), Err(CorruptFile));
        }
    }
}
