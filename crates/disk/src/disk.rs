//! The traits of a disk with names, and of a file that is open on it.

use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The mode of opening a file. Except with `Read` the file can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// The file must exist.
    Read,
    /// The file must exist.
    Edit,
    /// The file is created with this mode if it is missing.
    Create(u32),
    /// The file is created with this mode; EEXIST if the name is taken.
    CreateNew(u32),
}

/// A directory tree that contains durable files.
///
/// Paths are relative to its root, as [`names`](crate::names) parses them; a symbolic link anywhere
/// in a path is ELOOP. Errors carry the code of the operating system.
///
/// After a crash, the content of a file survives if the file was synced, and a change of a name
/// (create, rename, unlink) survives if [`sync_dir`](Disk::sync_dir) was called for its directory.
/// Nothing else does. After a failed sync the state of the disk is unknown, and a later sync that
/// succeeds does not change that.
pub trait Disk: Send + Sync + 'static {
    type File: DiskFile;

    /// Opens a regular file. A directory is EISDIR; anything else that is not a file is EINVAL.
    fn open(&self, path: impl AsRef<Path>, how: Open) -> io::Result<Self::File>;

    /// Creates a directory with this mode.
    fn create_dir(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()>;

    /// Renames a file atomically. A file that has the new name is replaced.
    fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()>;

    /// Renames a file atomically; EEXIST if the new name is taken.
    fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()>;

    /// Swaps the names of two files atomically; both must exist.
    fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()>;

    /// Removes the name of a file.
    fn unlink(&self, path: impl AsRef<Path>) -> io::Result<()>;

    /// Removes an empty directory; ENOTEMPTY if it contains anything.
    fn remove_dir(&self, path: impl AsRef<Path>) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: impl AsRef<Path>) -> io::Result<()>;

    /// Returns the names in a directory, sorted.
    fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<OsString>>;

    /// Returns the target of a symbolic link; EINVAL if the path is not a link. A disk without links has
    /// none.
    fn read_link(&self, _path: impl AsRef<Path>) -> io::Result<PathBuf> {
        Err(Errno::INVAL.into())
    }

    /// Creates a symbolic link; EPERM on a disk without links.
    fn symlink(&self, _target: impl AsRef<Path>, _path: impl AsRef<Path>) -> io::Result<()> {
        Err(Errno::PERM.into())
    }
}

/// A mark of one state of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    pub inode: u64,
    /// The time of the last change of the bytes or the metadata, in seconds and nanoseconds.
    pub changed: (i64, i64),
}

/// The properties of a file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    /// In bytes.
    pub length: u64,
    /// The permission bits.
    pub mode: u32,
    /// See [`DiskFile::stamp`].
    pub stamp: Option<FileStamp>,
}

/// A file that is open on a [`Disk`].
pub trait DiskFile: Send + Sync + 'static {
    /// Returns the length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Returns true if the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads bytes at an offset. Returns how many were read, which may be fewer than requested, and
    /// 0 at the end.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes at an offset. Returns how many were written, which may be fewer than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Writes bytes at the current end. Returns how many were written, which may be fewer than
    /// given.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Truncates the file, or extends it with zeros, to this length.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Reserves space up to this length without changing the length, so that writes within it
    /// succeed on a full disk. Truncating the file releases the space.
    fn reserve(&self, up_to: u64) -> io::Result<()>;

    /// Returns the permission bits.
    fn mode(&self) -> io::Result<u32>;

    /// Sets the permission bits; durable after [`sync_all`](DiskFile::sync_all).
    fn set_mode(&self, mode: u32) -> io::Result<()>;

    /// Returns a mark that is different after every change of the file, or `None` if the disk has none.
    fn stamp(&self) -> io::Result<Option<FileStamp>> {
        Ok(None)
    }

    /// Returns length, permission bits and stamp.
    fn status(&self) -> io::Result<FileStatus> {
        Ok(FileStatus {
            length: self.len()?,
            mode: self.mode()?,
            stamp: self.stamp()?,
        })
    }

    /// Makes bytes and length durable.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes bytes, length and mode durable.
    fn sync_all(&self) -> io::Result<()>;

    /// Returns true if the file still has a name.
    fn is_named(&self) -> io::Result<bool>;

    /// Releases the advisory lock if this handle holds it.
    fn unlock(&self) -> io::Result<()>;

    /// Takes the advisory lock until it is released or this handle is dropped. Returns false if
    /// another handle holds it.
    fn try_lock(&self) -> io::Result<bool>;

    /// Writes all bytes at an offset. After an error some of them may have been written.
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = progress(self.write_at(bytes, offset))?;
            bytes = bytes.get(written..).unwrap_or_default();
            offset += written as u64;
        }
        Ok(())
    }

    /// Writes all bytes at the end. After an error some of them may have been written.
    fn append_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = progress(self.append(bytes))?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Reads the whole file; EFBIG if it is longer than `limit` bytes.
    fn read_all(&self, limit: usize) -> io::Result<Vec<u8>> {
        let expected = usize::try_from(self.len()?).unwrap_or(usize::MAX);
        if expected > limit {
            return Err(Errno::FBIG.into());
        }
        // One byte more than expected, to detect a file that grows meanwhile.
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

/// Returns how much was written: 0 if the write was interrupted, EIO if it made no progress.
fn progress(written: io::Result<usize>) -> io::Result<usize> {
    match written {
        Ok(0) => Err(Errno::IO.into()),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        other => other,
    }
}
