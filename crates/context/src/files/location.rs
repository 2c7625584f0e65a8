//! Lookup of caches: anywhere, or confined to one root.

use crate::failure::{Failure, shown};
use crate::faults::lookup_failure;
use crate::files::dir_handle::DirHandle;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The start of relative paths, and the limit of what can be reached.
#[derive(Debug)]
pub enum Location {
    /// Relative paths start at the working directory, and nothing is confined.
    Anywhere,
    /// Relative paths start at a root, and nothing outside it is reached.
    Below(RootDirectory),
}

/// A directory that confines lookups.
#[derive(Debug)]
pub struct RootDirectory {
    handle: OwnedFd,
    /// The prefixes by which an absolute path may name it.
    names: Vec<PathBuf>,
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The most tries of a lookup that a concurrent rename made uncertain.
const TRIES: usize = 16;

impl Location {
    /// Returns the location below this directory.
    pub fn below(root: &Path) -> Result<Location, Failure> {
        let lost = |error| match lookup_failure(&root.to_string_lossy(), error) {
            Failure::Lookup { path, error } => Failure::Root { path, error },
            other => other,
        };
        let handle = rustix::fs::openat(CWD, root, DIRECTORY, Mode::empty()).map_err(lost)?;
        let names = [std::path::absolute(root), root.canonicalize()];
        Ok(Location::Below(RootDirectory {
            handle,
            names: names.into_iter().flatten().collect(),
        }))
    }

    /// Finds a directory. Its path is resolved; the directory itself need not be readable.
    pub(crate) fn find(&self, path: &Path) -> Result<DirHandle, Failure> {
        let lost = |error| lookup_failure(&path.to_string_lossy(), error);
        match self {
            Location::Anywhere => {
                let open = || rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty());
                retry_on_intr(open).map(DirHandle::new).map_err(lost)
            }
            Location::Below(root) => root.find(path).map(DirHandle::new).map_err(lost),
        }
    }

    /// Returns the path of a directory that was found at `path`, without links.
    pub(crate) fn real_path(&self, directory: &DirHandle, path: &Path) -> Result<PathBuf, Failure> {
        let by_name = || match self {
            Location::Anywhere => path.canonicalize(),
            Location::Below(root) => match root.names.last() {
                Some(name) => name.join(path).canonicalize(),
                None => Err(Errno::NOENT.into()),
            },
        };
        // By handle: the path may lead to another directory by now. Some systems have no `/proc`.
        let handle = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
        let found = std::fs::read_link(handle).or_else(|_| by_name());
        found.map_err(|error| Failure::System {
            doing: format!("look up `{}`", shown(&path.to_string_lossy())),
            error,
        })
    }

    /// Calls `work` with the directory at a path. If the result is not `good` and the directory was
    /// replaced or changed in the meantime, calls `work` again with the new one.
    pub(crate) fn with<T>(
        &self,
        path: &Path,
        good: impl Fn(&T) -> bool,
        work: impl Fn(DirHandle) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut tries = 0;
        loop {
            let directory = self.find(path)?;
            let found = directory.own_stamp();
            let done = work(directory);
            tries += 1;
            let is_good = done.as_ref().is_ok_and(&good);
            // A directory that is renamed, or in which a file is created, has a new stamp.
            let same = || {
                self.find(path)
                    .map(|directory| directory.own_stamp() == found)
            };
            if is_good || tries == TRIES || same().unwrap_or(true) {
                return done;
            }
        }
    }
}

impl RootDirectory {
    pub(crate) fn open_dir(&self) -> Result<DirHandle, Errno> {
        self.find(Path::new(".")).map(DirHandle::new)
    }

    fn find(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let inside = self.relative(path)?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let open = || rustix::fs::openat2(&self.handle, inside, DIRECTORY, Mode::empty(), resolve);
        for _ in 0..TRIES {
            // The kernel returns AGAIN if `..` met a rename, so that the path may have left the root.
            match retry_on_intr(open) {
                Err(Errno::AGAIN) => {}
                found => return found,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Returns the path relative to the root. An absolute path must start with the root's own path.
    fn relative<'p>(&self, path: &'p Path) -> Result<&'p Path, Errno> {
        if !path.is_absolute() {
            return Ok(path);
        }
        let strip = |name: &PathBuf| path.strip_prefix(name).ok();
        let inside = self.names.iter().find_map(strip).ok_or(Errno::XDEV)?;
        match inside.as_os_str().is_empty() {
            true => Ok(Path::new(".")),
            false => Ok(inside),
        }
    }
}
