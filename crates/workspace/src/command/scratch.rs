//! The temporary directory of one command. It is removed without recursion, because the command may
//! have made it deeper than any stack.

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time limit of the removal. Files that are left then stay for the system's own clean-up.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// A directory that is removed on drop.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates the directory with `home` and `tmp` in it, for this user alone. Fails if it exists.
    pub(super) fn create(path: &Path) -> io::Result<Scratch> {
        mkdirat(CWD, path, Mode::RWXU)?;
        let scratch = Scratch {
            path: path.canonicalize()?,
        };
        for name in ["home", "tmp"] {
            mkdirat(CWD, scratch.path.join(name), Mode::RWXU)?;
        }
        Ok(scratch)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes a directory in which commands have written. Nested directories are moved up into the top one,
/// where each is removed in turn.
pub(super) fn remove_tree(path: &Path) -> Result<(), Errno> {
    let top = open(CWD, path)?;
    let mut moved = 0u64;
    let until = Instant::now() + REMOVAL_TIMEOUT;
    loop {
        let names = names(&top)?;
        if names.is_empty() {
            return unlinkat(CWD, path, AtFlags::REMOVEDIR);
        }
        for name in names {
            if Instant::now() > until {
                return Err(Errno::TIMEDOUT);
            }
            if unlink(&top, &name)? {
                continue;
            }
            // The command may have removed its own permissions.
            let _ = chmodat(&top, &name, Mode::RWXU, AtFlags::empty());
            let inner = open(&top, &name)?;
            for child in self::names(&inner)? {
                if !unlink(&inner, &child)? {
                    // A directory that moves must be writable itself: it names its parent.
                    let _ = chmodat(&inner, &child, Mode::RWXU, AtFlags::empty());
                    lift(&inner, &child, &top, &mut moved)?;
                }
            }
            unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Moves a directory up under a free name; the command may have used some.
fn lift(from: &OwnedFd, name: &CString, top: &OwnedFd, moved: &mut u64) -> Result<(), Errno> {
    loop {
        *moved += 1;
        match renameat(from, name, top, format!("moved.{moved}")) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            moved => return moved,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a temporary directory was left behind");
        }
    }
}

fn open(above: impl std::os::fd::AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, how, Mode::empty())
}

fn names(directory: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

/// Removes a file or an empty directory. Returns false for a directory that is not empty.
fn unlink(above: &OwnedFd, name: &CString) -> Result<bool, Errno> {
    match unlinkat(above, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => match unlinkat(above, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn everything_in_the_directory_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let outside = base.path().join("kept");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "").unwrap();
        let path = base.path().join("scratch");
        let scratch = Scratch::create(&path).unwrap();
        assert!(path.join("home").is_dir() && path.join("tmp").is_dir());
        symlink(&outside, path.join("tmp/link")).unwrap();
        for taken in ["moved.1", "moved.2/full", "a/b/c", "a/d/e"] {
            fs::create_dir_all(path.join(taken)).unwrap();
        }
        fs::write(path.join("moved.3"), "").unwrap();
        fs::write(path.join("a/b/c/file"), "").unwrap();
        fs::set_permissions(path.join("a/b"), Permissions::from_mode(0o000)).unwrap();
        drop(scratch);
        assert!(!path.exists());
        assert!(outside.join("file").exists());
    }

    #[test]
    fn a_directory_deeper_than_any_stack_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&base.path().join("scratch")).unwrap();
        let mut here = open(CWD, scratch.path()).unwrap();
        for _ in 0..1000 {
            mkdirat(&here, "d", Mode::RWXU).unwrap();
            here = open(&here, "d").unwrap();
        }
        let small = std::thread::Builder::new().stack_size(64 * 1024);
        small.spawn(|| drop(scratch)).unwrap().join().unwrap();
        assert!(!base.path().join("scratch").exists());
    }

    #[test]
    fn an_existing_directory_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let error = Scratch::create(base.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(base.path().exists());
    }
}
