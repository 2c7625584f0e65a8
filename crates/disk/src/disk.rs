//! The two traits: a disk with names, and a file that is open on it.

use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// To read; it must exist.
    Read,
    /// To read and write; it must exist.
    Edit,
    /// To read and write; made with this mode where it is missing.
    Create(u32),
    /// To read and write; made with this mode, EEXIST where it is not missing.
    CreateNew(u32),
}

/// A directory tree in which durable things are kept.
///
/// Paths are relative to its root, as [`names`](crate::names) takes them; a symbolic link anywhere
/// on the way is ELOOP. Errors carry the operating system's code.
///
/// What survives a crash: the contents of a file after a sync of the file, and the fact that a
/// name stands for a file (made, renamed or unlinked) after [`sync_dir`](Disk::sync_dir) of the
/// directory that holds the name. Nothing else. After a sync that failed nobody knows what is on
/// the disk, and a second one that succeeds does not change that.
pub trait Disk: Send + Sync + 'static {
    /// A file that is open on this disk.
    type File: DiskFile;

    /// Opens a regular file. A directory is EISDIR, anything else that is no file EINVAL.
    fn open(&self, path: impl AsRef<Path>, how: Open) -> io::Result<Self::File>;

    /// Makes a directory with this mode.
    fn create_dir(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()>;

    /// Gives a file another name, in one step, replacing what had it.
    fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()>;

    /// Gives a file another name, in one step; EEXIST where something has it.
    fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()>;

    /// Gives each of two files the other's name, in one step; both must exist.
    fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()>;

    /// Removes the name of a file.
    fn unlink(&self, path: impl AsRef<Path>) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: impl AsRef<Path>) -> io::Result<()>;

    /// The names in a directory, sorted.
    fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<OsString>>;
}

/// A file that is open on a [`Disk`].
pub trait DiskFile: Send + Sync + 'static {
    /// Its length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether it holds no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads bytes at an offset; fewer than asked for, and none at the end.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes at an offset; perhaps fewer than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes at the end, wherever that is by now; perhaps fewer than given.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts it off, or fills it up with zeros, to this length.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Reserves room up to this length without changing it, so that a disk that fills up does not
    /// stop writes within it. Cutting the file off gives the room back.
    fn reserve(&self, up_to: u64) -> io::Result<()>;

    /// Its permission bits.
    fn mode(&self) -> io::Result<u32>;

    /// Sets its permission bits; durable after [`sync_all`](DiskFile::sync_all).
    fn set_mode(&self, mode: u32) -> io::Result<()>;

    /// Makes bytes and length durable.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes bytes, length and mode durable.
    fn sync_all(&self) -> io::Result<()>;

    /// Whether a name still stands for it.
    fn is_named(&self) -> io::Result<bool>;

    /// Gives the file's advisory lock back, where this handle has it.
    fn unlock(&self) -> io::Result<()>;

    /// Takes the file's advisory lock until it is given back or this is dropped; false where another
    /// handle has it.
    fn try_lock(&self) -> io::Result<bool>;

    /// Writes all bytes at an offset. After an error some of them may be there.
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = progress(self.write_at(bytes, offset))?;
            bytes = bytes.get(written..).unwrap_or_default();
            offset += written as u64;
        }
        Ok(())
    }

    /// Writes all bytes at the end. After an error some of them may be there.
    fn append_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = progress(self.append(bytes))?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Reads the whole file; EFBIG where it is longer than `limit` bytes.
    fn read_all(&self, limit: usize) -> io::Result<Vec<u8>> {
        let expected = usize::try_from(self.len()?).unwrap_or(usize::MAX);
        if expected > limit {
            return Err(Errno::FBIG.into());
        }
        // One byte more than expected: a file that grows meanwhile is noticed.
        let mut bytes = vec![0; expected + 1];
        let mut filled = 0;
        loop {
            let rest = bytes.get_mut(filled..).unwrap_or_default();
            match self.read_at(rest, filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if filled > limit {
                return Err(Errno::FBIG.into());
            }
            if filled == bytes.len() {
                bytes.resize(filled * 2, 0);
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// How far a write came; one that was interrupted came nowhere, one that stands still is EIO.
fn progress(written: io::Result<usize>) -> io::Result<usize> {
    match written {
        Ok(0) => Err(Errno::IO.into()),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        other => other,
    }
}
