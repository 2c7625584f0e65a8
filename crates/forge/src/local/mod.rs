//! The backend `local`: bare git repositories below one directory, and a small database with pull
//! requests, statuses and protection rules. It uses no network.

mod backend;
mod branch_swap;
mod branches;
mod commit_files;
mod database;
mod errors;
mod git_files;
mod history;
mod import;
mod interrupted_merges;
mod merge;
mod merge_commits;
mod mergeability;
mod object_copy;
mod protection;
mod pull_details;
mod pull_head;
mod pull_requests;
mod repository;
mod repository_lock;
mod repository_root;
mod revision;
mod sample;
mod search;
mod statuses;
mod stored_pulls;
mod times;
mod tree;
mod tree_size;
mod url;

use candor_fault::Timestamp;
use candor_street::Clock;
use database::Database;
use repository_lock::RepositoryLocks;
use repository_root::RepositoryRoot;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use errors::LocalForgeError;
pub use import::import;
pub use merge_commits::MAX_COMMITS;
pub use protection::{BranchProtection, BranchRules};
pub use pull_details::MAX_FILES;
pub use sample::init;
pub use tree::MAX_ITEMS;
pub use tree_size::MAX_DEPTH;

/// The author of the commits and pull requests of this forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

/// A point in a change at which a test may look, interfere, or stop the change as a crash would.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangePoint {
    /// The objects of a commit are written, its branch is not moved.
    CommitBuilt,
    /// The merge is recorded, the base is not moved.
    MergeRecorded,
    /// The base is moved, that is not recorded.
    MergeMoved,
}

/// Returns true if the change continues.
#[doc(hidden)]
pub type ChangeProbe = dyn Fn(ChangePoint) -> bool + Send + Sync;

/// The backend `local`.
pub struct LocalForge {
    root: Arc<RepositoryRoot>,
    database: Database,
    clock: Arc<dyn Clock>,
    identity: Identity,
    locks: RepositoryLocks,
    probe: Option<Arc<ChangeProbe>>,
}

impl LocalForge {
    /// Opens the forge in `dir` and settles interrupted merges.
    pub async fn open(
        dir: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        identity: Identity,
    ) -> Result<LocalForge, LocalForgeError> {
        let dir = dir.into();
        let database = Database::open(&dir).await?;
        let root = Arc::new(RepositoryRoot::new(dir)?);
        merge_commits::signature(&identity, Timestamp::UNIX_EPOCH)?;
        let forge = LocalForge {
            root,
            database,
            clock,
            identity,
            locks: RepositoryLocks::default(),
            probe: None,
        };
        forge.settle_all().await?;
        Ok(forge)
    }

    /// Adds a probe of a test.
    #[doc(hidden)]
    pub fn with_probe(mut self, probe: Arc<ChangeProbe>) -> LocalForge {
        self.probe = Some(probe);
        self
    }

    /// Returns the directory of the repositories.
    pub fn root(&self) -> &Path {
        self.root.root()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn check_probe(&self, moment: ChangePoint) -> Result<(), crate::Failure> {
        match self.probe.as_ref().is_none_or(|probe| probe(moment)) {
            true => Ok(()),
            false => Err(errors::stopped()),
        }
    }
}
