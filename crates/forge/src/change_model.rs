//! The data of changes: operations on paths in one commit, conflicts, updated branches.

use crate::PullRequest;
use serde::Serialize;

/// An operation on one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathOperation {
    /// Writes a whole file. `executable` is `None` if an existing file keeps its mode.
    Write {
        bytes: Vec<u8>,
        executable: Option<bool>,
    },
    /// Replaces the only occurrence of a text.
    Edit {
        old_text: String,
        new_text: String,
    },
    Delete,
    /// Moves a file, with new content if there is one.
    Move {
        to: String,
        bytes: Option<Vec<u8>>,
    },
    Chmod {
        executable: bool,
    },
}

/// One change of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// From the root of the repository.
    pub path: String,
    pub operation: PathOperation,
}

/// The instruction to make one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInstruction {
    pub branch: String,
    pub message: String,
    /// No path occurs twice.
    pub changes: Vec<PathChange>,
    /// The first digits of the head that the branch must have.
    pub expected_head: Option<String>,
}

/// The result of a commit of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChanges {
    pub sha: String,
    /// `None` for the first commit of a repository.
    pub parent: Option<String>,
    pub url: String,
}

/// The kind of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    Content,
    AddAdd,
    DeleteModify,
    Rename,
    Mode,
}

/// A path that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Conflict {
    pub path: String,
    pub kind: ConflictKind,
}

/// The paths that stop a merge, as far as the backend knows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConflictReport {
    /// The conflicting paths, sorted.
    pub conflicts: Option<Vec<Conflict>>,
    /// The paths that both sides changed since the merge base, sorted.
    pub changed_on_both: Option<Vec<String>>,
}

/// The result of bringing the branch of a pull request up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdatedBranch {
    /// False if the head had the base already.
    pub updated: bool,
    /// True if the backend has accepted the update and not made it yet.
    pub pending: bool,
    pub previous_head_sha: String,
    pub head_sha: String,
}

/// The instruction to revert a merged pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertInstruction {
    pub pull: PullRequest,
    /// `None` leaves it to the backend.
    pub title: Option<String>,
    pub body: Option<String>,
    pub draft: bool,
}
