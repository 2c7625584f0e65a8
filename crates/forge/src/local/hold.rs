//! One change at a time in one repository: a mutex between the calls of this process, a lock on a
//! file between processes. Whoever pushes with git takes neither; refs are compared and swapped.
//!
//! The file has a byte in it while somebody holds it. Whoever finds that byte knows that the one
//! before died, and takes away the `.lock` files that git left beside the refs: nobody else ever
//! would, and the refs could not be moved again.

use super::LocalForge;
use super::failing::{Or, off};
use super::place::Home;
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
pub(super) struct Holds(Mutex<BTreeMap<String, Arc<AsyncMutex<()>>>>);

/// While it lives, no other call changes the repository.
pub(super) struct Hold {
    file: File,
    _mutex: OwnedMutexGuard<()>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Where it cannot be emptied the next looks for what was left, and finds nothing.
        let _ = self.file.set_len(0);
    }
}

impl LocalForge {
    pub(super) async fn hold(&self, home: &Home) -> Result<Hold, Failure> {
        let mutex = {
            let mut held = self.holds.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(held.entry(home.name.folded()).or_default())
        };
        let mutex = mutex.lock_owned().await;
        let home = home.path.clone();
        let file = off(move || held(&home).or_broken("the repository could not be locked"));
        Ok(Hold {
            file: file.await?,
            _mutex: mutex,
        })
    }
}

/// Locks a repository, and makes good what a process that died with the lock has left.
fn held(home: &Path) -> io::Result<File> {
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(home.join(LOCK_FILE))?;
    file.lock()?;
    let before = file.metadata()?;
    if before.len() > 0 {
        unlock_refs(home, before.modified()?)?;
    }
    file.write_all(b"+")?;
    file.sync_data()?;
    Ok(file)
}

/// Takes away the lock files of refs that were made since then.
fn unlock_refs(home: &Path, since: SystemTime) -> io::Result<()> {
    let mut locks = vec![home.join("packed-refs.lock")];
    let mut waiting: Vec<PathBuf> = vec![home.join("refs")];
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
        let made = fs::metadata(&lock).and_then(|lock| lock.modified());
        match made {
            Ok(made) if made >= since => fs::remove_file(&lock)?,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
