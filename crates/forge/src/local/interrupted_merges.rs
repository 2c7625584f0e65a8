//! Settles interrupted merges: their base branch shows whether they happened.

use super::LocalForge;
use super::errors::run_blocking;
use super::mergeability::settled;
use super::repository_root::RepositoryLocation;
use super::stored_pulls::{self, StoredPull, StoredState};
use crate::{Failure, RepoName};
use std::sync::Arc;

const WRITE: &str = "an interrupted merge could not be settled";

impl LocalForge {
    /// Settles every interrupted merge.
    pub(super) async fn settle_all(&self) -> Result<(), Failure> {
        let mut reading = self.database.read().await?;
        let interrupted = stored_pulls::interrupted(&mut reading).await?;
        drop(reading);
        for pull in interrupted {
            // A removed repository has nothing to settle.
            let Some(repo) = RepoName::parse(&pull.repo) else {
                continue;
            };
            let location = match self.location(&repo).await {
                Ok(location) => location,
                Err(Failure::Missing(_)) => continue,
                Err(failure) => return Err(failure),
            };
            // A merge that holds the lock is not interrupted, so its row is read again under the lock.
            let _lock = self.lock(&location).await?;
            let pull = self.row(&repo, pull.number).await?;
            self.settle(&location, pull).await?;
        }
        Ok(())
    }

    /// Settles the interrupted merge of a pull request. The caller must hold the repository's lock.
    pub(super) async fn settle(
        &self,
        location: &RepositoryLocation,
        pull: StoredPull,
    ) -> Result<StoredPull, Failure> {
        if pull.state != StoredState::Merging {
            return Ok(pull);
        }
        let (root, at, seen) = (Arc::clone(&self.root), location.clone(), pull.clone());
        let state = run_blocking(move || settled(&root.open_at(at)?, &seen)).await?;
        let mut writing = self.database.write().await?;
        match state {
            StoredState::Merged => {
                let now = self.now().as_microsecond();
                stored_pulls::end_merge(&mut writing, &pull, now).await?;
            }
            _ => stored_pulls::give_up_merge(&mut writing, &pull).await?,
        }
        writing.commit(WRITE).await?;
        self.row(&location.name, pull.number).await
    }
}
