//! The real disk, below one directory that is held open.

use crate::disk::{Disk, DiskFile, FileStamp, FileStatus, Open};
use crate::names::names;
use rustix::fs::{AtFlags, CWD, Dir, FallocateFlags, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::{Errno, ReadWriteFlags};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions, TryLockError};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory tree below one directory.
///
/// The directory is held by handle, and the kernel resolves every path beneath it without following
/// links, so that neither a link nor a race leads to another file.
#[derive(Debug, Clone)]
pub struct RealDisk {
    root: Arc<OwnedFd>,
}

impl RealDisk {
    /// Opens the directory at this path, which may itself contain links.
    pub fn at(root: impl AsRef<Path>) -> io::Result<RealDisk> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, root.as_ref(), flags, Mode::empty())?;
        Ok(RealDisk::beneath(root))
    }

    /// Uses a directory that is already open.
    pub fn beneath(root: OwnedFd) -> RealDisk {
        let root = Arc::new(root);
        RealDisk { root }
    }

    fn resolve(&self, names: &[&OsStr], flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let path: PathBuf = match names {
            [] => PathBuf::from("."),
            names => names.iter().collect(),
        };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let mode = Mode::from_raw_mode(mode);
        let flags = flags | OFlags::CLOEXEC;
        let opened = rustix::io::retry_on_intr(|| {
            rustix::fs::openat2(&*self.root, &path, flags, mode, resolve)
        });
        Ok(opened?)
    }

    fn dir(&self, path: &Path) -> io::Result<OwnedFd> {
        self.resolve(&names(path)?, OFlags::RDONLY | OFlags::DIRECTORY, 0)
    }

    /// Opens the directory that contains the last name of a path. Returns it with that name.
    fn holder<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let names = names(path)?;
        let (last, parents) = names.split_last().ok_or(Errno::INVAL)?;
        let holder = self.resolve(parents, OFlags::PATH | OFlags::DIRECTORY, 0)?;
        Ok((holder, last))
    }

    fn rename_with(&self, from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
        let (from_dir, from) = self.holder(from)?;
        let (to_dir, to) = self.holder(to)?;
        Ok(rustix::fs::renameat_with(
            from_dir, from, to_dir, to, flags,
        )?)
    }
}

impl Disk for RealDisk {
    type File = RealFile;

    fn open(&self, path: impl AsRef<Path>, how: Open) -> io::Result<RealFile> {
        let names = names(path.as_ref())?;
        if names.is_empty() {
            return Err(Errno::INVAL.into());
        }
        let (flags, mode) = match how {
            Open::Read => (OFlags::RDONLY, 0),
            Open::Edit => (OFlags::RDWR, 0),
            Open::Create(mode) => (OFlags::RDWR | OFlags::CREATE, mode),
            Open::CreateNew(mode) => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode),
        };
        // Without NONBLOCK, opening a FIFO waits for its other end.
        let file = File::from(self.resolve(&names, flags | OFlags::NONBLOCK, mode)?);
        let kind = file.metadata()?.file_type();
        match (kind.is_file(), kind.is_dir()) {
            (true, _) => Ok(RealFile { file }),
            (_, true) => Err(Errno::ISDIR.into()),
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn create_dir(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        let (holder, name) = self.holder(path.as_ref())?;
        Ok(rustix::fs::mkdirat(
            holder,
            name,
            Mode::from_raw_mode(mode),
        )?)
    }

    fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.rename_with(from.as_ref(), to.as_ref(), RenameFlags::empty())
    }

    fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.rename_with(from.as_ref(), to.as_ref(), RenameFlags::NOREPLACE)
    }

    fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()> {
        self.rename_with(one.as_ref(), other.as_ref(), RenameFlags::EXCHANGE)
    }

    fn unlink(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let (holder, name) = self.holder(path.as_ref())?;
        Ok(rustix::fs::unlinkat(holder, name, AtFlags::empty())?)
    }

    fn remove_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let (holder, name) = self.holder(path.as_ref())?;
        Ok(rustix::fs::unlinkat(holder, name, AtFlags::REMOVEDIR)?)
    }

    fn sync_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let dir = self.dir(path.as_ref())?;
        Ok(rustix::io::retry_on_intr(|| rustix::fs::fsync(&dir))?)
    }

    fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::new(self.dir(path.as_ref())?)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }

    fn read_link(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        let (holder, name) = self.holder(path.as_ref())?;
        let target = rustix::fs::readlinkat(holder, name, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    fn symlink(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) -> io::Result<()> {
        let (holder, name) = self.holder(path.as_ref())?;
        Ok(rustix::fs::symlinkat(target.as_ref(), holder, name)?)
    }
}

/// A file that is open on a [`RealDisk`].
#[derive(Debug)]
pub struct RealFile {
    file: File,
}

impl AsFd for RealFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl DiskFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        // A file opened with O_APPEND would also append bytes that are written at an offset.
        let bytes = [IoSlice::new(bytes)];
        let written = rustix::io::pwritev2(&self.file, &bytes, 0, ReadWriteFlags::APPEND);
        Ok(written?)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn reserve(&self, up_to: u64) -> io::Result<()> {
        let reserve = || {
            let keep = FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(&self.file, keep, 0, up_to)
        };
        Ok(rustix::io::retry_on_intr(reserve)?)
    }

    fn mode(&self) -> io::Result<u32> {
        Ok(mode_of(&self.file.metadata()?))
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(mode))
    }

    fn stamp(&self) -> io::Result<Option<FileStamp>> {
        Ok(Some(stamp_of(&self.file.metadata()?)))
    }

    fn status(&self) -> io::Result<FileStatus> {
        let metadata = self.file.metadata()?;
        Ok(FileStatus {
            length: metadata.len(),
            mode: mode_of(&metadata),
            stamp: Some(stamp_of(&metadata)),
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn is_named(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() > 0)
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn mode_of(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o7777
}

fn stamp_of(metadata: &Metadata) -> FileStamp {
    FileStamp {
        inode: metadata.ino(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;
    use std::os::unix::fs::symlink;

    fn code<T: Debug>(result: io::Result<T>) -> i32 {
        result.unwrap_err().raw_os_error().unwrap()
    }

    fn fresh() -> (tempfile::TempDir, RealDisk) {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::at(dir.path()).unwrap();
        (dir, disk)
    }

    #[test]
    fn links_are_never_followed() {
        let (dir, disk) = fresh();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        symlink(outside.path(), dir.path().join("out")).unwrap();
        disk.create_dir("real", 0o700).unwrap();
        symlink("real", dir.path().join("in")).unwrap();
        symlink("../target", dir.path().join("real/file")).unwrap();

        assert_eq!(code(disk.open("out/secret", Open::Read)), 40);
        assert_eq!(code(disk.open("in/new", Open::CreateNew(0o600))), 40);
        assert_eq!(code(disk.open("real/file", Open::Create(0o600))), 40);
        assert_eq!(code(disk.list("in")), 40);
        assert_eq!(code(disk.sync_dir("out")), 40);
        assert_eq!(code(disk.unlink("out/secret")), 40);
        assert_eq!(code(disk.rename("real/file", "in/file")), 40);
        assert!(outside.path().join("secret").exists());
        // A link can be removed by its own name.
        disk.unlink("real/file").unwrap();
        assert_eq!(disk.list("real").unwrap(), Vec::<OsString>::new());
    }

    #[test]
    fn links_are_made_and_read_by_their_own_name() {
        let (_dir, disk) = fresh();
        disk.create_dir("d", 0o700).unwrap();
        disk.symlink("../far", "d/link").unwrap();
        assert_eq!(disk.read_link("d/link").unwrap(), Path::new("../far"));
        assert_eq!(code(disk.read_link("d")), 22);
        assert_eq!(code(disk.symlink("x", "d/link")), 17);
        disk.symlink("d", "way").unwrap();
        assert_eq!(code(disk.symlink("x", "way/link")), 40);
        assert_eq!(code(disk.read_link("way/link")), 40);
    }

    #[test]
    fn only_regular_files_are_opened() {
        let (dir, disk) = fresh();
        disk.create_dir("d", 0o700).unwrap();
        for how in [Open::Read, Open::Edit, Open::Create(0o600)] {
            assert_eq!(code(disk.open("d", how)), 21, "{how:?}");
        }
        assert_eq!(code(disk.open("d", Open::CreateNew(0o600))), 17);
        assert_eq!(code(disk.open("", Open::Read)), 22);
        assert_eq!(code(disk.open("../x", Open::Read)), 22);
        let fifo = std::ffi::CString::new("fifo").unwrap();
        let kind = rustix::fs::FileType::Fifo;
        let root = File::open(dir.path()).unwrap();
        rustix::fs::mknodat(&root, &fifo, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(code(disk.open("fifo", Open::Read)), 22);
        assert_eq!(code(disk.open("fifo", Open::Edit)), 22);
    }

    #[test]
    fn renamed_root_is_still_used() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        std::fs::create_dir(&old).unwrap();
        let disk = RealDisk::at(&old).unwrap();
        std::fs::rename(&old, &new).unwrap();
        disk.open("f", Open::CreateNew(0o600)).unwrap();
        assert!(new.join("f").exists());
    }

    #[test]
    fn appends_and_offset_writes_combine() {
        let (_dir, disk) = fresh();
        let file = disk.open("f", Open::CreateNew(0o640)).unwrap();
        let other = disk.open("f", Open::Edit).unwrap();
        file.append_all(b"one").unwrap();
        other.append_all(b"two").unwrap();
        file.append_all(b"three").unwrap();
        file.write_all_at(b"ONE", 0).unwrap();
        assert_eq!(other.read_all(100).unwrap(), b"ONEtwothree");
        assert_eq!(code(other.read_all(10)), 27);
        file.set_mode(0o4751).unwrap();
        assert_eq!(other.mode().unwrap(), 0o4751);
        let read = disk.open("f", Open::Read).unwrap();
        assert_eq!(code(read.append(b"x")), 9);
    }

    #[test]
    fn reserved_space_does_not_change_the_length() {
        let (_dir, disk) = fresh();
        let file = disk.open("f", Open::CreateNew(0o600)).unwrap();
        file.append_all(b"line").unwrap();
        file.reserve(256 * 1024).unwrap();
        assert_eq!(file.len().unwrap(), 4);
        assert!(file.file.metadata().unwrap().blocks() * 512 >= 256 * 1024);
        file.sync_all().unwrap();
        file.sync_data().unwrap();
        disk.sync_dir("").unwrap();
    }

    #[test]
    fn lock_belongs_to_one_handle() {
        let (_dir, disk) = fresh();
        let first = disk.open("lock", Open::Create(0o600)).unwrap();
        let second = disk.open("lock", Open::Create(0o600)).unwrap();
        assert!(first.try_lock().unwrap());
        assert!(first.try_lock().unwrap());
        assert!(!second.try_lock().unwrap());
        drop(first);
        assert!(second.try_lock().unwrap());
    }

    #[test]
    fn stamp_follows_every_change() {
        let (_dir, disk) = fresh();
        let file = disk.open("f", Open::CreateNew(0o600)).unwrap();
        let first = file.stamp().unwrap();
        assert!(first.is_some());
        assert_eq!(disk.open("f", Open::Read).unwrap().stamp().unwrap(), first);
        let other = disk.open("g", Open::CreateNew(0o600)).unwrap();
        assert_ne!(other.stamp().unwrap(), first);
    }

    #[test]
    fn second_rename_to_a_new_name_fails() {
        let (_dir, disk) = fresh();
        for name in ["a", "b"] {
            let file = disk.open(name, Open::CreateNew(0o600)).unwrap();
            file.append_all(name.as_bytes()).unwrap();
        }
        disk.rename_new("a", "c").unwrap();
        assert_eq!(code(disk.rename_new("b", "c")), 17);
        let won = disk.open("c", Open::Read).unwrap();
        assert_eq!(won.read_all(10).unwrap(), b"a");
        disk.rename("b", "c").unwrap();
        assert_eq!(disk.list("").unwrap(), ["c"]);
        assert_eq!(won.read_all(10).unwrap(), b"a");
    }
}
