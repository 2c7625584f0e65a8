//! Finds the checkpoints of a log: those that the state directory of its root lists, and those that
//! are named on the command line.

use super::NamedFile;
use crate::cli::CommandError;
use candor_audit::{CheckpointContent, KnownCheckpoint, LogAnchor, PublicKey};
use candor_workspace::log_checkpoints::LogCheckpoints;
use candor_workspace::path::Root;
use candor_workspace::state::{self, LOG};
use std::path::{Path, PathBuf};

/// The checkpoints of a log that are known.
pub(super) struct CheckpointSearch {
    /// The checkpoints that the state directory of the log's root lists, if there is such a directory.
    pub(super) remembered: Option<LogCheckpoints>,
    pub(super) known: Vec<KnownCheckpoint>,
}

impl CheckpointSearch {
    /// Finds the checkpoints of a log. Those that are named must exist.
    pub(super) fn new(
        log: &NamedFile,
        state: Option<&Path>,
        named: &[PathBuf],
    ) -> Result<CheckpointSearch, CommandError> {
        let remembered = match state.and_then(|state| state_of_log(log, state)) {
            None => None,
            Some(directory) => LogCheckpoints::load(&directory).map_err(|error| {
                let directory = directory.display();
                CommandError::new(format!(
                    "cannot read the state directory {directory}: {error}"
                ))
            })?,
        };
        let mut known = Vec::new();
        for path in named {
            let checkpoint = NamedFile::at(path)?.checkpoint()?;
            known.push(KnownCheckpoint {
                path: path.clone(),
                content: CheckpointContent::Checkpoint(Box::new(checkpoint)),
            });
        }
        let is_named = |path: &Path| {
            let real = std::fs::canonicalize(path).ok();
            let mut named = named.iter();
            real.is_some_and(|real| {
                named.any(|named| std::fs::canonicalize(named).ok().as_ref() == Some(&real))
            })
        };
        let found = remembered
            .iter()
            .flat_map(|remembered| remembered.read(&[]));
        known.extend(found.filter(|found| !is_named(&found.path)));
        Ok(CheckpointSearch { remembered, known })
    }

    /// Returns the key that is known to sign the checkpoints of the log.
    pub(super) fn remembered_key(&self) -> Option<&PublicKey> {
        self.remembered.as_ref().and_then(LogCheckpoints::key)
    }

    /// Returns the last line that was moved away from the log, if files were.
    pub(super) fn anchor(&self) -> Option<&LogAnchor> {
        self.remembered.as_ref().and_then(LogCheckpoints::anchor)
    }

    /// Returns true if at least one checkpoint file exists.
    pub(super) fn has_checkpoint(&self) -> bool {
        let is_there =
            |known: &KnownCheckpoint| !matches!(known.content, CheckpointContent::Unavailable(_));
        self.known.iter().any(is_there)
    }
}

/// Returns the directory about a log's root in a state directory. Only the log of a workspace has
/// one, whether it is in its root or in the state directory itself.
fn state_of_log(log: &NamedFile, state: &Path) -> Option<PathBuf> {
    if log.name != LOG {
        return None;
    }
    let dir = std::fs::canonicalize(log.dir()).ok()?;
    if let (Some(parent), Ok(state)) = (dir.parent(), std::fs::canonicalize(state))
        && parent == state
    {
        return Some(dir);
    }
    let root = Root::open(&dir).ok()?;
    Some(state::of_root(state, root.id()))
}
