//! The data of comparisons: changes of files, commits between two revisions, one commit.

use crate::Commit;
use serde::Serialize;

/// The change of one file between two commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// From the root of the repository.
    pub path: String,
    /// The path before a rename.
    pub previous_path: Option<String>,
    /// `added`, `removed`, `modified`, `renamed`, `copied` or `changed`.
    pub status: String,
    pub additions: u64,
    pub deletions: u64,
    /// `None` for binary files, and if it exceeds the limit.
    pub patch: Option<String>,
}

/// The changes of files between two commits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileChanges {
    /// In the byte order of paths.
    pub files: Vec<FileChange>,
    /// True if files or patches are left out.
    pub truncated: bool,
}

/// The position of a head relative to a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonStatus {
    Ahead,
    Behind,
    Diverged,
    Identical,
}

/// The two sides of a comparison as the caller names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedRevisions {
    /// A branch, tag or SHA.
    pub base: String,
    /// The owner of the head, if it is in a fork.
    pub head_owner: Option<String>,
    /// A branch, tag or SHA.
    pub head: String,
}

/// A head compared with a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub base_sha: String,
    pub head_sha: String,
    pub merge_base_sha: String,
    pub status: ComparisonStatus,
    /// The number of commits that only the head has.
    pub ahead_by: u64,
    /// The number of commits that only the base has.
    pub behind_by: u64,
    /// A page of the commits that only the head has, oldest first.
    pub commits: Vec<Commit>,
    /// True if there is a next page.
    pub more: bool,
    /// The changes from the merge base to the head, on the first page only.
    pub changes: FileChanges,
}

/// A commit with its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDetails {
    pub commit: Commit,
    /// The lines of all files, also of those that are left out.
    pub additions: u64,
    pub deletions: u64,
    /// The changes since the first parent.
    pub changes: FileChanges,
}
