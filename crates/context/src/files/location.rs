//! Where caches are looked for: anywhere, or below one root that nothing leads out of.

use crate::failure::Failure;
use crate::faults::on_the_way;
use crate::files::dir_handle::DirHandle;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Where relative paths begin, and what can be reached at all.
#[derive(Debug)]
pub enum Location {
    /// Relative paths begin at the working directory, and nothing is confined.
    Anywhere,
    /// Everything lies below a root.
    Below(RootDirectory),
}

/// A directory that confines.
#[derive(Debug)]
pub struct RootDirectory {
    handle: OwnedFd,
    /// The ways in which an absolute path may name it.
    names: Vec<PathBuf>,
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How often a lookup is tried again that a rename elsewhere made uncertain.
const TRIES: usize = 16;

impl Location {
    /// Below this directory.
    pub fn below(root: &Path) -> Result<Location, Failure> {
        let lost = |error| match on_the_way(&root.to_string_lossy(), error) {
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

    /// Finds a directory: the way is gone, but the directory itself needs no permission yet.
    pub(crate) fn find(&self, path: &Path) -> Result<DirHandle, Failure> {
        let lost = |error| on_the_way(&path.to_string_lossy(), error);
        match self {
            Location::Anywhere => {
                let open = || rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty());
                retry_on_intr(open).map(DirHandle::new).map_err(lost)
            }
            Location::Below(root) => root.find(path).map(DirHandle::new).map_err(lost),
        }
    }

    /// Works with the directory at a path. Where the result is not `good` and another directory has
    /// taken the place meanwhile, or the same one has come back, works with that: what was replaced
    /// says nothing.
    pub(crate) fn with<T>(
        &self,
        path: &Path,
        good: impl Fn(&T) -> bool,
        work: impl Fn(DirHandle) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut tries = 0;
        loop {
            let folder = self.find(path)?;
            let found = folder.own_signature();
            let done = work(folder);
            tries += 1;
            let is_good = done.as_ref().is_ok_and(&good);
            // A directory that is renamed, or gets another file, has other times.
            let same = || {
                self.find(path)
                    .map(|folder| folder.own_signature() == found)
            };
            if is_good || tries == TRIES || same().unwrap_or(true) {
                return done;
            }
        }
    }
}

impl RootDirectory {
    /// The handle of the root itself.
    pub(crate) fn folder(&self) -> Result<DirHandle, Errno> {
        self.find(Path::new(".")).map(DirHandle::new)
    }

    fn find(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let inside = self.relative(path)?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let open = || rustix::fs::openat2(&self.handle, inside, DIRECTORY, Mode::empty(), resolve);
        for _ in 0..TRIES {
            // The kernel says AGAIN where `..` met a rename and it cannot know whether it left.
            match retry_on_intr(open) {
                Err(Errno::AGAIN) => {}
                found => return found,
            }
        }
        Err(Errno::AGAIN)
    }

    /// The path from the root on. An absolute path must begin with the root's own.
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
