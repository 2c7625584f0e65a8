//! The forge on this machine: bare git repositories below one directory, and a small database beside
//! them with pull requests, statuses and protection rules. No network.

mod branches;
mod build;
mod commit;
mod database;
mod details;
mod failing;
mod fork;
mod git_files;
mod history;
mod hold;
mod import;
mod measure;
mod merge;
mod mergeability;
mod methods;
mod pack;
mod place;
mod protection;
mod pull_requests;
mod pulls;
mod repository;
mod revision;
mod sample;
mod search;
mod settle;
mod statuses;
mod swap;
mod times;
mod tree;
mod url;

use candor_fault::Timestamp;
use candor_street::Clock;
use database::Database;
use hold::Holds;
use place::Place;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use build::MAX_COMMITS;
pub use details::MAX_FILES;
pub use failing::Refused;
pub use import::import;
pub use measure::MAX_DEPTH;
pub use protection::{Protection, Rules};
pub use sample::init;
pub use tree::MAX_ITEMS;

/// Who makes the commits and opens the pull requests of this forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// A point on the way of a change at which a test may look, interfere, or end the change as a crash
/// would.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The objects of a commit are written, its branch is not moved.
    CommitBuilt,
    /// It is on record that a pull request is being merged, its base is not moved.
    MergeRecorded,
    /// The base is moved, that is not on record.
    MergeMoved,
}

/// Says at each moment whether the change goes on.
#[doc(hidden)]
pub type Probe = dyn Fn(Moment) -> bool + Send + Sync;

/// The forge on this machine.
pub struct LocalForge {
    place: Arc<Place>,
    database: Database,
    clock: Arc<dyn Clock>,
    identity: Identity,
    holds: Holds,
    probe: Option<Arc<Probe>>,
}

impl LocalForge {
    /// Opens the forge in `dir` and settles what an interrupted merge has left there.
    pub async fn open(
        dir: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        identity: Identity,
    ) -> Result<LocalForge, Refused> {
        let dir = dir.into();
        let database = Database::open(&dir).await?;
        let place = Arc::new(Place::new(dir)?);
        build::signature(&identity, Timestamp::UNIX_EPOCH)?;
        let forge = LocalForge {
            place,
            database,
            clock,
            identity,
            holds: Holds::default(),
            probe: None,
        };
        forge.settle_all().await?;
        Ok(forge)
    }

    /// The same forge, watched by a test.
    #[doc(hidden)]
    pub fn watched(mut self, probe: Arc<Probe>) -> LocalForge {
        self.probe = Some(probe);
        self
    }

    /// Where the repositories are.
    pub fn root(&self) -> &Path {
        self.place.root()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn goes_on(&self, moment: Moment) -> Result<(), crate::Failure> {
        match self.probe.as_ref().is_none_or(|probe| probe(moment)) {
            true => Ok(()),
            false => Err(failing::stopped()),
        }
    }
}
