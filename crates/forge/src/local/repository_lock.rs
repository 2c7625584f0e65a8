//! One change at a time in one repository: a mutex between the calls of this process, a lock on a
//! file between processes. Whoever pushes with git takes neither; refs are compared and swapped.
//!
//! The file has a byte in it while somebody holds it. Whoever finds that byte knows that the one
//! before died, and takes away the `.lock` files that git left beside the refs: nobody else ever
//! would, and the refs could not be moved again.

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

/// The mutex of each repository that was changed.
#[derive(Default)]
pub(super) struct RepositoryLocks(Mutex<BTreeMap<String, Arc<AsyncMutex<()>>>>);

/// While it lives, no other call changes the repository.
pub(super) struct RepositoryLock {
    file: File,
    _mutex: OwnedMutexGuard<()>,
}

impl Drop for RepositoryLock {
    fn drop(&mut self) {
        // Where it cannot be emptied the next looks for what was left, and finds nothing.
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

/// Locks a repository, and makes good what a process that died with the lock has left.
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

/// Takes away the lock files of refs that were made since then.
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
    // No ref ends with this.
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
