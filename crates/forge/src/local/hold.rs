//! One change at a time in one repository: a mutex between the calls of this process, a lock on a
//! file between processes. Whoever pushes with git takes neither; refs are compared and swapped.

use super::LocalForge;
use super::failing::{Or, off};
use super::place::Home;
use crate::Failure;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

const LOCK_FILE: &str = "candor.lock";

/// The mutex of each repository that was changed.
#[derive(Default)]
pub(super) struct Holds(Mutex<BTreeMap<String, Arc<AsyncMutex<()>>>>);

/// While it lives, no other call changes the repository.
pub(super) struct Hold {
    _file: File,
    _mutex: OwnedMutexGuard<()>,
}

impl LocalForge {
    pub(super) async fn hold(&self, home: &Home) -> Result<Hold, Failure> {
        let mutex = {
            let mut held = self.holds.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(held.entry(home.name.folded()).or_default())
        };
        let mutex = mutex.lock_owned().await;
        let path = home.path.join(LOCK_FILE);
        let file = off(move || {
            let file = File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .and_then(|file| file.lock().map(|()| file));
            file.or_broken("the repository could not be locked")
        });
        Ok(Hold {
            _file: file.await?,
            _mutex: mutex,
        })
    }
}
