//! The state directory of a workspace, out of the agent's reach.

use crate::path::RootId;
use candor_disk::RealDisk;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The log of calls that were refused before there was a session.
pub const REFUSALS: &str = "refusals.jsonl";

/// The log of a workspace, in its root.
pub const LOG: &str = "audit-log.jsonl";

const MODE: u32 = 0o700;

/// Returns true if a path from the root is the log or one of its further files.
pub(crate) fn is_log_path(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(LOG))
}

/// Returns the state directory of a root.
pub fn of_root(state: &Path, root: RootId) -> PathBuf {
    state.join(root.to_string())
}

/// Opens a state directory, and creates it if it is missing; only its owner may read it.
pub fn open(path: &Path) -> io::Result<RealDisk> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(MODE)
        .create(path)?;
    RealDisk::at(path)
}
