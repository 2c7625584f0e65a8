//! Locks a repository for changes: a mutex between the calls of this process, a file lock between
//! processes. Pushes with git take neither, so refs are moved by compare and swap.
//!
//! The file has one byte while the lock is held. If a process finds the byte, the last holder has
//! died, and the process removes the `.lock` files that git left beside the refs: otherwise the
//! refs could never be moved again.

use super::LocalForge;
use super::errors::{OrBroken, run_blocking};
use super::repository_root::RepositoryLocation;
use crate::Failure;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

const LOCK_FILE: &str = "candor.lock";

/// The mutexes of the changed repositories.
#[derive(Default)]
pub(super) struct RepositoryLocks(Mutex<BTreeMap<String, Arc<AsyncMutex<()>>>>);

/// No other call changes the repository while this guard exists.
pub(super) struct RepositoryLock {
    file: File,
    _mutex: OwnedMutexGuard<()>,
}

impl Drop for RepositoryLock {
    fn drop(&mut self) {
        // If the file cannot be emptied, the next holder only looks for stale locks and finds none.
        let _ = self.file.set_len(0);
    }
}

impl LocalForge {
    pub(super) async fn lock(
        &self,
        location: &RepositoryLocation,
    ) -> Result<RepositoryLock, Failure> {
        let mutex = {
            let mut lock_file = self.locks.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(lock_file.entry(location.name.folded()).or_default())
        };
        let mutex = mutex.lock_owned().await;
        let location = location.path.clone();
        let file = run_blocking(move || {
            lock_file(&location).or_broken("the repository could not be locked")
        });
        Ok(RepositoryLock {
            file: file.await?,
            _mutex: mutex,
        })
    }
}

/// Locks a repository and removes the stale locks of a holder that died.
fn lock_file(location: &Path) -> io::Result<File> {
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(location.join(LOCK_FILE))?;
    file.lock()?;
    let before = file.metadata()?;
    if before.len() > 0 {
        unlock_refs(location, before.modified()?)?;
    }
    file.write_all(b"+")?;
    file.sync_data()?;
    Ok(file)
}

/// Removes the lock files of refs that were created since then.
fn unlock_refs(location: &Path, since: SystemTime) -> io::Result<()> {
    let mut locks = vec![location.join("packed-refs.lock")];
    let mut waiting: Vec<PathBuf> = vec![location.join("refs")];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let path = entry.path();
            match entry.file_type()?.is_dir() {
                true => waiting.push(path),
                false => locks.push(path),
            }
        }
    }
    // No ref ends with `.lock`.
    locks.retain(|path| path.extension().is_some_and(|ending| ending == "lock"));
    for lock in locks {
        let created = fs::metadata(&lock).and_then(|lock| lock.modified());
        match created {
            Ok(created) if created >= since => fs::remove_file(&lock)?,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
