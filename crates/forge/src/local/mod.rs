//! The backend `local`: bare git repositories below one directory, and a small database with pull
//! requests, statuses and protection rules. It uses no network.

mod auto_merge;
mod backend;
mod branch_swap;
mod branches;
mod code_search;
mod comments;
mod commit_changes;
mod commit_files;
mod comparison;
mod conflicts;
mod database;
mod discussion;
mod errors;
mod file_changes;
mod filtered_history;
mod find_pulls;
mod full_disk;
mod git_files;
mod history;
mod import;
mod interrupted_merges;
mod issue_search;
mod issues;
mod job_logs;
mod line_positions;
mod merge;
#[cfg(test)]
mod merge_agreement;
mod merge_commits;
mod mergeability;
mod new_repository;
mod object_cache;
mod object_copy;
mod object_files;
mod pack_index;
mod protection;
mod pull_attributes;
mod pull_branch;
mod pull_details;
mod pull_head;
mod pull_requests;
mod ref_cache;
mod releases;
mod repository;
mod repository_lock;
mod repository_pool;
mod repository_root;
mod revert;
mod reviews;
mod revision;
mod row_change;
mod sample;
mod search;
mod statuses;
mod stored_pulls;
mod tables;
mod times;
mod tree;
mod tree_entries;
mod tree_merge;
mod tree_size;
mod url;

use crate::WriteLog;
use candor_fault::Timestamp;
use candor_street::Clock;
use database::Database;
use repository_lock::RepositoryLocks;
use repository_root::RepositoryRoot;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use code_search::{MAX_MATCHES, MAX_SEARCHED_BYTES, SEARCH_TIME};
pub use errors::LocalForgeError;
pub use filtered_history::{HISTORY_TIME, MAX_SCANNED_COMMITS};
pub use history::MAX_POOLED_COMMITS;
pub use import::{ImportObserver, ImportProgress, import, import_observed};
pub use issue_search::MAX_SEARCHED_ISSUES;
pub use job_logs::StoredLog;
pub use merge_commits::MAX_COMMITS;
pub use object_cache::{MAX_CACHED_BYTES, MAX_CACHED_OBJECT};
pub use object_files::MAX_ALTERNATES;
pub use protection::{BranchProtection, BranchRules};
pub use pull_details::MAX_FILES;
pub use ref_cache::MAX_CACHED_REFS;
pub use repository_pool::{MAX_POOLED_HANDLES, MAX_POOLED_REPOSITORIES};
pub use reviews::MAX_REVIEWS;
pub use sample::init;
pub use tree::{MAX_ITEMS, MAX_SIMILAR};
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
    /// The log for merges that this backend makes by itself.
    own_writes: OnceLock<Arc<dyn WriteLog>>,
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
            own_writes: OnceLock::new(),
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
