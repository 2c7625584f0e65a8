//! The root of a workspace, held open.

use candor_disk::RealDisk;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of tries if another process interferes.
const TRIES: usize = 16;

/// A directory that is a workspace: held by handle, so that no later change of names leads elsewhere.
#[derive(Debug, Clone)]
pub struct Root {
    handle: Arc<OwnedFd>,
    disk: RealDisk,
    canonical: PathBuf,
    spelled: PathBuf,
    id: RootId,
    device: u64,
    inode: u64,
}

impl Root {
    /// Opens the directory at an absolute path, which may lead through links.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Root> {
        let spelled = path.as_ref();
        if !spelled.is_absolute() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the workspace root must be an absolute path",
            ));
        }
        let canonical = std::fs::canonicalize(spelled)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let handle = rustix::fs::openat2(CWD, &canonical, flags, Mode::empty(), straight)?;
        let stat = rustix::fs::fstat(&handle)?;
        Ok(Root {
            disk: RealDisk::beneath(handle.try_clone()?),
            handle: Arc::new(handle),
            id: RootId::of(&canonical),
            spelled: spelled.to_path_buf(),
            canonical,
            device: stat.st_dev,
            inode: stat.st_ino,
        })
    }

    /// Returns the path of the root, without links.
    pub fn path(&self) -> &Path {
        &self.canonical
    }

    /// Returns the id of the root in names of files about it.
    pub fn id(&self) -> RootId {
        self.id
    }

    /// Returns the disk beneath the root. It follows no links, so it takes only paths that
    /// [`resolve_path`](super::resolve_path) has resolved.
    pub fn disk(&self) -> RealDisk {
        self.disk.clone()
    }

    /// Returns true if the path of the root still leads to the same directory.
    pub fn unchanged(&self) -> io::Result<bool> {
        match rustix::fs::stat(&self.canonical) {
            Ok(stat) => Ok((stat.st_dev, stat.st_ino) == (self.device, self.inode)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Returns the rest of an absolute path below the root, compared by names and not by
    /// characters.
    ///
    /// Accepts the canonical path of the root and the path that it was opened with, because a
    /// client that started the server with a path through a link goes on using that path.
    pub(super) fn strip<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let by = |root: &Path| path.strip_prefix(root).ok();
        by(&self.canonical).or_else(|| by(&self.spelled))
    }

    /// Opens a directory beneath the root without following any link.
    pub(crate) fn open_dir(&self, real: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let path = match real.as_os_str().is_empty() {
            true => Path::new("."),
            false => real,
        };
        let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let beneath =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let open = || rustix::fs::openat2(&*self.handle, path, flags, Mode::empty(), beneath);
        let mut tries = TRIES;
        loop {
            match open() {
                Err(Errno::AGAIN | Errno::INTR) if tries > 1 => tries -= 1,
                other => return other,
            }
        }
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The first 64 bits of the SHA-256 of a root's canonical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootId([u8; 8]);

impl RootId {
    fn of(canonical: &Path) -> RootId {
        let hash: [u8; 32] = Sha256::digest(canonical.as_os_str().as_bytes()).into();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        RootId(first)
    }
}

impl fmt::Display for RootId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", u64::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_an_absolute_path_of_a_directory_is_a_root() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let kind = |path: &Path| Root::open(path).unwrap_err().kind();
        assert_eq!(kind(Path::new("relative")), io::ErrorKind::InvalidInput);
        assert_eq!(kind(Path::new("")), io::ErrorKind::InvalidInput);
        assert_eq!(kind(&file), io::ErrorKind::NotADirectory);
        assert_eq!(kind(&dir.path().join("none")), io::ErrorKind::NotFound);
    }

    #[test]
    fn root_behind_a_link_has_its_real_path() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::fs::create_dir(dir.join("ws")).unwrap();
        symlink("ws", dir.join("link")).unwrap();
        let root = Root::open(dir.join("link")).unwrap();
        assert_eq!(root.path(), dir.join("ws"));
        assert_eq!(root.id(), Root::open(dir.join("ws")).unwrap().id());
        assert_ne!(root.id(), Root::open(&dir).unwrap().id());
        for twin in ["ws-evil", "link-evil", "w"] {
            assert_eq!(root.strip(&dir.join(twin).join("a")), None, "{twin}");
        }
        for known in ["ws", "link"] {
            let path = dir.join(known).join("a/b");
            assert_eq!(root.strip(&path), Some(Path::new("a/b")), "{known}");
        }
    }

    #[test]
    fn id_is_the_start_of_the_hash_of_the_path() {
        assert_eq!(RootId::of(Path::new("/ws")).to_string(), "0c65a812b078db67");
    }

    #[test]
    fn replaced_directory_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let (ws, away) = (dir.path().join("ws"), dir.path().join("away"));
        std::fs::create_dir(&ws).unwrap();
        let root = Root::open(&ws).unwrap();
        assert!(root.unchanged().unwrap());
        std::fs::rename(&ws, &away).unwrap();
        assert!(!root.unchanged().unwrap());
        std::fs::create_dir(&ws).unwrap();
        assert!(!root.unchanged().unwrap());
        std::fs::remove_dir(&ws).unwrap();
        symlink(&ws, &ws).unwrap();
        assert!(!root.unchanged().unwrap());
        std::fs::remove_file(&ws).unwrap();
        // The very same directory by way of a link is still the same directory.
        symlink(&away, &ws).unwrap();
        assert!(root.unchanged().unwrap());
    }
}
