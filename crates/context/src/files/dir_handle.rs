//! Handles of directories: files are reached through the handle, links are not followed, and only
//! regular files are read.

use crate::faults;
use crate::files::file_stamp::FileStamp;
use crate::format::cache_problem::CacheProblemKind;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open directory.
#[derive(Debug)]
pub(crate) struct DirHandle(OwnedFd);

/// An entry of a directory, as a listing reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedEntry {
    pub(crate) name: OsString,
    /// `FileType::Unknown` on some file systems.
    pub(crate) kind: FileType,
    pub(crate) inode: u64,
}

const STAY: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// Without NONBLOCK, opening a FIFO blocks until another process opens its other end.
const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl AsFd for DirHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl DirHandle {
    pub(crate) fn new(handle: OwnedFd) -> DirHandle {
        DirHandle(handle)
    }

    /// Opens a subdirectory, for lookups only.
    pub(crate) fn open_dir(&self, name: impl AsRef<Path>) -> Result<DirHandle, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        self.resolve(name.as_ref(), flags).map(DirHandle)
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        retry_on_intr(|| rustix::fs::openat2(&self.0, path, flags, Mode::empty(), STAY))
    }

    /// Opens a regular file for reading.
    pub(crate) fn open(&self, path: impl AsRef<Path>) -> Result<File, Errno> {
        self.open_stamped(path).map(|(file, _)| file)
    }

    /// Opens a regular file for reading and returns its stamp.
    pub(crate) fn open_stamped(&self, path: impl AsRef<Path>) -> Result<(File, FileStamp), Errno> {
        let file = File::from(self.resolve(path.as_ref(), READING)?);
        let stat = fstat(&file)?;
        match kind(&stat) {
            FileType::RegularFile => Ok((file, FileStamp::of(&stat))),
            FileType::Directory => Err(Errno::ISDIR),
            _ => Err(Errno::NXIO),
        }
    }

    /// Opens a subdirectory for reading.
    pub(crate) fn open_readable_dir(&self, name: impl AsRef<Path>) -> Result<DirHandle, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        self.resolve(name.as_ref(), flags).map(DirHandle)
    }

    /// Returns all entries, in no order. The directory must be open for reading.
    pub(crate) fn listing(&self) -> Result<Vec<ListedEntry>, Errno> {
        let mut room = Vec::with_capacity(32 * 1024);
        let mut entries = RawDir::new(&self.0, room.spare_capacity_mut());
        let mut listed = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                listed.push(ListedEntry {
                    name: OsString::from_vec(name.to_vec()),
                    kind: entry.file_type(),
                    inode: entry.ino(),
                });
            }
        }
        Ok(listed)
    }

    /// Returns the metadata of an entry, without following a link.
    pub(crate) fn stat(&self, name: impl AsRef<Path>) -> Result<Stat, Errno> {
        #[cfg(test)]
        STAT_CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        rustix::fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns the stamp of an entry.
    pub(crate) fn stamp(&self, name: &str) -> Result<FileStamp, Errno> {
        self.stat(name).map(|stat| FileStamp::of(&stat))
    }

    /// Returns the stamp of the directory itself.
    pub(crate) fn own_stamp(&self) -> Result<FileStamp, Errno> {
        fstat(&self.0).map(|stat| FileStamp::of(&stat))
    }

    /// Device and inode of the directory itself.
    pub(crate) fn identity(&self) -> Result<(u64, u64), Errno> {
        fstat(&self.0).map(|stat| (stat.st_dev, stat.st_ino))
    }

    /// Returns the names and types of all entries, sorted by bytes.
    pub(crate) fn list(&self) -> Result<Vec<(OsString, FileType)>, Errno> {
        let readable = self.open_readable_dir(".")?;
        let listing = readable.listing()?.into_iter();
        let mut names: Vec<_> = listing.map(|entry| (entry.name, entry.kind)).collect();
        for (name, of_kind) in &mut names {
            // Some file systems do not report the type.
            if *of_kind == FileType::Unknown {
                *of_kind = self
                    .stat(&*name)
                    .map_or(FileType::Unknown, |stat| kind(&stat));
            }
        }
        names.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(names)
    }
}

/// Returns the type of a file.
pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Reads a whole file, and returns the stamp that belongs to exactly these bytes.
pub(crate) fn read_file(
    directory: &DirHandle,
    name: &str,
    limit: u64,
) -> Result<(Vec<u8>, FileStamp), CacheProblemKind> {
    let mut bytes = Vec::new();
    let stamp = read_into(directory, name, limit, &mut bytes)?;
    Ok((bytes, stamp))
}

/// Reads a whole file into a buffer that is reused.
pub(crate) fn read_into(
    directory: &DirHandle,
    name: &str,
    limit: u64,
    bytes: &mut Vec<u8>,
) -> Result<FileStamp, CacheProblemKind> {
    let (file, before) = directory.open_stamped(name).map_err(faults::problem_kind)?;
    if before.size() > limit {
        return Err(CacheProblemKind::Large);
    }
    bytes.clear();
    // The size is not trusted: if memory for it cannot be reserved, that is an error and not an abort.
    let size = usize::try_from(before.size()).unwrap_or(usize::MAX);
    bytes
        .try_reserve_exact(size)
        .map_err(|error| CacheProblemKind::Unreadable(error.to_string()))?;
    bytes.resize(size, 0);
    let read = file.read_exact_at(bytes, 0);
    let after = stamp_of(&file).map_err(faults::problem_kind)?;
    // If the file became shorter, its stamp differs.
    match before == after {
        true => read
            .map(|()| after)
            .map_err(|error| CacheProblemKind::Unreadable(error.to_string())),
        false => Err(CacheProblemKind::Unreadable(String::from(
            "it changed while it was read",
        ))),
    }
}

/// Reads `size` bytes of an entry and returns its stamp afterwards. The bytes are meaningful only if the
/// caller expects that stamp.
pub(crate) fn read_expected(
    directory: &DirHandle,
    name: &str,
    size: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<FileStamp> {
    let file = File::from(directory.resolve(Path::new(name), READING)?);
    bytes.clear();
    let size = usize::try_from(size).map_err(io::Error::other)?;
    bytes.try_reserve(size).map_err(io::Error::other)?;
    bytes.resize(size, 0);
    file.read_exact_at(bytes, 0)?;
    Ok(stamp_of(&file)?)
}

pub(crate) fn stamp_of(file: &File) -> Result<FileStamp, Errno> {
    fstat(file).map(|stat| FileStamp::of(&stat))
}

fn fstat(handle: impl AsFd) -> Result<Stat, Errno> {
    #[cfg(test)]
    STAT_CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    rustix::fs::fstat(handle)
}

/// The number of `stat` calls of this process.
#[cfg(test)]
pub(crate) static STAT_CALLS: std::sync::atomic::AtomicUsize =
    std::sync::atomic::AtomicUsize::new(0);
