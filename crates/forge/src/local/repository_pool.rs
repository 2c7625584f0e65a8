//! Repositories that were found and opened before.
//!
//! A name is found again without listing directories while the directories above the repository are the
//! same ones, unchanged. An opened repository is used again while its own directory is the same one,
//! unchanged: git changes it when it packs refs or collects garbage, and whoever replaces `objects`, `refs`
//! or `HEAD` changes it too. The files of refs are looked at by every call.

use super::object_cache::{ObjectCache, RepositoryObjects};
use super::repository_root::RepositoryLocation;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum number of repositories that are kept open.
pub const MAX_POOLED_REPOSITORIES: usize = 32;

/// The maximum number of unused handles of one repository.
pub const MAX_POOLED_HANDLES: usize = 8;

/// The identity and the last change of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectoryStamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl DirectoryStamp {
    fn of(metadata: &Metadata) -> io::Result<DirectoryStamp> {
        match metadata.is_dir() {
            true => Ok(DirectoryStamp {
                device: metadata.dev(),
                inode: metadata.ino(),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Reads the stamp of a directory that is not a link.
    pub(super) fn read(path: &Path) -> io::Result<DirectoryStamp> {
        DirectoryStamp::of(&fs::symlink_metadata(path)?)
    }

    /// Reads the stamp of a directory, or of the directory that a link leads to.
    pub(super) fn follow(path: &Path) -> io::Result<DirectoryStamp> {
        DirectoryStamp::of(&fs::metadata(path)?)
    }
}

/// The directories that decide which repository has a name: the one of all owners and the owner's.
pub(super) type ParentStamps = [DirectoryStamp; 2];

/// A repository that was found by its name.
pub(super) struct FoundRepository {
    pub(super) location: RepositoryLocation,
    /// The state of its directory when this call began.
    pub(super) stamp: DirectoryStamp,
    pub(super) objects: RepositoryObjects,
}

struct PooledRepository {
    location: RepositoryLocation,
    parents: ParentStamps,
    stamp: DirectoryStamp,
    handles: Vec<git2::Repository>,
    objects: RepositoryObjects,
    last_use: u64,
}

#[derive(Default)]
struct PoolState {
    /// By folded name.
    repositories: BTreeMap<String, PooledRepository>,
    uses: u64,
}

/// The found and opened repositories of a forge.
#[derive(Default)]
pub(super) struct RepositoryPool {
    state: Mutex<PoolState>,
    cache: Arc<ObjectCache>,
}

impl RepositoryPool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the location that a name had, with the stamps of the directories above it.
    pub(super) fn known(&self, name: &str) -> Option<(RepositoryLocation, ParentStamps)> {
        let state = self.lock();
        let known = state.repositories.get(name)?;
        Some((known.location.clone(), known.parents))
    }

    /// Records where a repository was found. Its handles are closed and its objects are cached anew if its
    /// directory is another one or has changed.
    pub(super) fn found(
        &self,
        name: &str,
        location: RepositoryLocation,
        parents: ParentStamps,
        stamp: DirectoryStamp,
    ) -> FoundRepository {
        let mut state = self.lock();
        state.uses += 1;
        let uses = state.uses;
        let new_objects = || RepositoryObjects {
            cache: Arc::clone(&self.cache),
            repository: uses,
            refs: Arc::default(),
        };
        let mut closed = Vec::new();
        let objects = match state.repositories.get_mut(name) {
            Some(pooled) => {
                if pooled.location.path != location.path || pooled.stamp != stamp {
                    closed = std::mem::take(&mut pooled.handles);
                    pooled.objects = new_objects();
                }
                pooled.location.clone_from(&location);
                (pooled.parents, pooled.stamp, pooled.last_use) = (parents, stamp, uses);
                pooled.objects.clone()
            }
            None => {
                let objects = new_objects();
                let pooled = PooledRepository {
                    location: location.clone(),
                    parents,
                    stamp,
                    handles: Vec::new(),
                    objects: objects.clone(),
                    last_use: uses,
                };
                state.repositories.insert(name.to_owned(), pooled);
                closed = state.remove_oldest();
                objects
            }
        };
        drop(state);
        // Closed without the lock.
        drop(closed);
        FoundRepository {
            location,
            stamp,
            objects,
        }
    }

    /// Forgets a repository that is not there any more.
    pub(super) fn forget(&self, name: &str) {
        let forgotten = self.lock().repositories.remove(name);
        drop(forgotten);
    }

    /// Returns a repository with an unused handle, if `is_unchanged` says so of its path, the directories above
    /// it and itself. The pool is not locked meanwhile.
    pub(super) fn take_unchanged(
        &self,
        name: &str,
        is_unchanged: impl FnOnce(&Path, &ParentStamps, &DirectoryStamp) -> bool,
    ) -> Option<(FoundRepository, git2::Repository)> {
        let found = {
            let state = self.lock();
            let pooled = state.repositories.get(name)?;
            if pooled.handles.is_empty() {
                return None;
            }
            (pooled.location.clone(), pooled.parents, pooled.stamp)
        };
        let (location, parents, stamp) = found;
        if !is_unchanged(&location.path, &parents, &stamp) {
            return None;
        }
        let mut state = self.lock();
        state.uses += 1;
        let uses = state.uses;
        let pooled = state.repositories.get_mut(name)?;
        if pooled.stamp != stamp || pooled.location.path != location.path {
            return None;
        }
        pooled.last_use = uses;
        let handle = pooled.handles.pop()?;
        let found = FoundRepository {
            location,
            stamp,
            objects: pooled.objects.clone(),
        };
        Some((found, handle))
    }

    /// Takes an unused handle of a repository that is unchanged.
    pub(super) fn take(&self, name: &str, found: &FoundRepository) -> Option<git2::Repository> {
        let mut state = self.lock();
        let pooled = state.repositories.get_mut(name)?;
        let handles = (pooled.stamp == found.stamp).then_some(&mut pooled.handles)?;
        handles.pop()
    }

    /// Keeps a handle for the next call if the repository is known to be unchanged.
    pub(super) fn give_back(&self, name: &str, stamp: &DirectoryStamp, handle: git2::Repository) {
        let mut state = self.lock();
        let pooled = state.repositories.get_mut(name);
        match pooled.filter(|pooled| pooled.stamp == *stamp) {
            Some(pooled) if pooled.handles.len() < MAX_POOLED_HANDLES => {
                pooled.handles.push(handle);
            }
            _ => {
                drop(state);
                drop(handle);
            }
        }
    }
}

impl PoolState {
    /// Removes the repository that was not used for the longest time if there are too many.
    fn remove_oldest(&mut self) -> Vec<git2::Repository> {
        if self.repositories.len() <= MAX_POOLED_REPOSITORIES {
            return Vec::new();
        }
        let oldest = self.repositories.iter();
        let oldest = oldest.min_by_key(|(_, pooled)| pooled.last_use);
        let oldest = oldest.map(|(name, _)| name.clone());
        let removed = oldest.and_then(|name| self.repositories.remove(&name));
        removed.map(|pooled| pooled.handles).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RepoName;
    use tempfile::TempDir;

    fn handles(pool: &RepositoryPool, name: &str) -> usize {
        let state = pool.lock();
        let pooled = state.repositories.get(name);
        pooled.map_or(0, |pooled| pooled.handles.len())
    }

    #[test]
    fn open_repositories_and_handles_are_bounded() {
        let (pool, dir) = (RepositoryPool::default(), TempDir::new().unwrap());
        let git = || git2::Repository::init_bare(dir.path().join("git")).unwrap();
        git();
        let stamp = DirectoryStamp::read(dir.path()).unwrap();
        let find = |number: usize| {
            let name = format!("o/r{number}");
            let location = RepositoryLocation {
                name: RepoName::parse(&name).unwrap(),
                path: dir.path().to_path_buf(),
            };
            (pool.found(&name, location, [stamp; 2], stamp), name)
        };
        for number in 0..2 * MAX_POOLED_REPOSITORIES {
            // The first one stays in use.
            find(0);
            let (found, name) = find(number);
            pool.give_back(&name, &found.stamp, git());
        }
        let state = pool.lock();
        assert_eq!(state.repositories.len(), MAX_POOLED_REPOSITORIES);
        assert!(state.repositories.contains_key("o/r0"));
        drop(state);
        let (found, name) = find(0);
        for _ in 0..2 * MAX_POOLED_HANDLES {
            pool.give_back(&name, &found.stamp, git());
        }
        assert_eq!(handles(&pool, &name), MAX_POOLED_HANDLES);
        assert!(pool.take(&name, &found).is_some());
        assert_eq!(handles(&pool, &name), MAX_POOLED_HANDLES - 1);
    }

    #[test]
    fn handles_of_a_changed_directory_are_closed() {
        let (pool, dir) = (RepositoryPool::default(), TempDir::new().unwrap());
        let git = git2::Repository::init_bare(dir.path()).unwrap();
        let location = RepositoryLocation {
            name: RepoName::parse("o/r").unwrap(),
            path: dir.path().to_path_buf(),
        };
        let old = DirectoryStamp::read(dir.path()).unwrap();
        let found = pool.found("o/r", location.clone(), [old; 2], old);
        pool.give_back("o/r", &found.stamp, git);
        fs::write(dir.path().join("packed-refs"), "").unwrap();
        let new = DirectoryStamp::read(dir.path()).unwrap();
        assert_ne!(old, new);
        let changed = pool.found("o/r", location, [old; 2], new);
        assert!(pool.take("o/r", &changed).is_none());
        assert_ne!(changed.objects.repository, found.objects.repository);
        // A call that began before the change gives its handle back too late.
        let late = git2::Repository::open_bare(dir.path()).unwrap();
        pool.give_back("o/r", &found.stamp, late);
        assert_eq!(handles(&pool, "o/r"), 0);
    }
}
