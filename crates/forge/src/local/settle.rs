//! Merges that were interrupted: whether they happened is told by their base branch.

use super::LocalForge;
use super::failing::{Or, off};
use super::mergeability::settled;
use super::place::Home;
use super::pulls::{self, Pull, State};
use crate::{Failure, RepoName};
use std::sync::Arc;

const WRITE: &str = "an interrupted merge could not be settled";

impl LocalForge {
    /// Settles every interrupted merge.
    pub(super) async fn settle_all(&self) -> Result<(), Failure> {
        let mut reading = self.database.read().await?;
        let interrupted = pulls::interrupted(&mut reading).await?;
        drop(reading);
        for pull in interrupted {
            // A repository that is gone has nothing to settle.
            let Some(repo) = RepoName::read(&pull.repo) else {
                continue;
            };
            let home = match self.home(&repo).await {
                Ok(home) => home,
                Err(Failure::Missing(_)) => continue,
                Err(failure) => return Err(failure),
            };
            // Whoever holds it is not interrupted: look again once it is free.
            let _hold = self.hold(&home).await?;
            let pull = self.row(&repo, pull.number).await?;
            self.settle(&home, pull).await?;
        }
        Ok(())
    }

    /// A pull request that is not being merged. To be called while the repository is held.
    pub(super) async fn settle(&self, home: &Home, pull: Pull) -> Result<Pull, Failure> {
        if pull.state != State::Merging {
            return Ok(pull);
        }
        let (place, at, seen) = (Arc::clone(&self.place), home.clone(), pull.clone());
        let state = off(move || settled(&place.open_home(at)?, &seen)).await?;
        let mut writing = self.database.write().await?;
        match state {
            State::Merged => {
                let now = self.now().as_microsecond();
                pulls::end_merge(&mut writing, &pull, now).await?;
            }
            _ => pulls::give_up_merge(&mut writing, &pull).await?,
        }
        writing.commit().await.or_broken(WRITE)?;
        self.row(&home.name, pull.number).await
    }
}
