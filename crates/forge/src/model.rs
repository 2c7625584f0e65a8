//! The data that tools and backends exchange: repositories, trees, commits, pull requests, checks.
//! Full SHAs are 40 lowercase hex digits. Times are those of the backend, in RFC 3339.

use crate::{PullAttributes, RepoName, ReviewDecision};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A page of a long list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    /// From 1.
    pub page: u32,
    /// From 1 to 100.
    pub per_page: u32,
}

/// A branch, ref or commit as the caller names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    Default,
    /// A branch, even if a tag has the same name.
    Branch(String),
    /// A branch, else a tag, else the commit whose SHA begins with these digits.
    Named(String),
    /// The commit whose SHA begins with these digits, at least 7.
    Commit(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// As the backend spells it.
    pub name: RepoName,
    pub description: Option<String>,
    pub default_branch: String,
    pub stars: u64,
    pub language: Option<String>,
    pub url: String,
}

/// A page of repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryPage {
    pub repositories: Vec<Repository>,
    /// The number of matches on all pages.
    pub total_count: u64,
    /// True if the search ended before it was complete.
    pub incomplete: bool,
}

/// The kind of a directory's item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    File,
    Dir,
    Symlink,
    /// Another repository's commit.
    Submodule,
}

/// An item of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryItem {
    pub name: String,
    pub kind: ItemKind,
    /// From the root of the repository.
    pub path: String,
    /// In bytes. 0 for directories and submodules.
    pub size: u64,
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The revision as the caller named it, else the default branch.
    pub at: String,
    /// In the byte order of names.
    pub items: Vec<DirectoryItem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The revision as the caller named it, else the default branch.
    pub at: String,
    /// The SHA of the blob.
    pub sha: String,
    pub bytes: Vec<u8>,
    pub url: String,
}

/// An item of a whole tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeItem {
    /// From the root of the repository.
    pub path: String,
    /// `blob`, `tree` or `commit`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Only for blobs.
    pub size: Option<u64>,
    /// Six octal digits.
    pub mode: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The revision as the caller named it, else the default branch.
    pub at: String,
    /// The SHA of the commit's tree.
    pub sha: String,
    /// The number of entries that the backend counted.
    pub total: u64,
    /// True if entries are left out.
    pub truncated: bool,
    /// The entries in tree order, parents before children.
    pub entries: Arc<[TreeItem]>,
}

/// The author or committer of a commit. Each part may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CommitPerson {
    pub name: Option<String>,
    pub email: Option<String>,
    pub date: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    pub sha: String,
    pub message: String,
    pub author: Option<CommitPerson>,
    pub committer: Option<CommitPerson>,
    pub parents: Vec<String>,
    pub url: String,
}

/// A page of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPage {
    /// Newest first.
    pub commits: Vec<Commit>,
    /// True if there is a next page.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Branch {
    pub name: String,
    /// True if rules protect the branch.
    pub protected: bool,
    /// The commit of the branch.
    pub sha: String,
}

/// A page of branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchPage {
    pub branches: Vec<Branch>,
    pub default: String,
    /// True if there is a next page.
    pub more: bool,
}

/// The state of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    Open,
    /// Closed or merged.
    Closed,
}

/// A filter of pull requests by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullFilter {
    #[default]
    Open,
    /// Closed or merged.
    Closed,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub state: PullState,
    pub draft: bool,
    pub merged: bool,
    /// The branch with the new commits.
    pub head: String,
    /// The repository of that branch. `None` if it was deleted.
    pub head_repo: Option<RepoName>,
    pub head_sha: String,
    /// The branch to merge into.
    pub base: String,
    /// `None` while it is not known, and in lists.
    pub mergeable: Option<bool>,
    /// One of clean, dirty, blocked, behind, unstable, draft, unknown, has_hooks. `None` in lists.
    pub mergeable_state: Option<String>,
    /// `None` if the account was deleted.
    pub author: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    pub url: String,
    /// The id in GraphQL.
    pub node_id: Option<String>,
    pub attributes: PullAttributes,
}

/// A page of pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullPage {
    /// Newest first.
    pub pulls: Vec<PullRequest>,
    /// True if there is a next page.
    pub more: bool,
}

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// It passed, or its result is neutral.
    Passed,
    Failed,
    Pending,
}

/// One check of a commit: a status, or a check run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitCheck {
    pub name: String,
    pub state: CheckState,
    /// The backend's word for the state.
    pub conclusion: String,
    pub url: Option<String>,
}

/// The latest state of every check of a commit, in the byte order of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitChecks {
    pub sha: String,
    pub checks: Vec<CommitCheck>,
    /// The sources that refused to be read.
    pub unavailable: Vec<CheckSource>,
    /// True if a list ended before it was complete.
    pub truncated: bool,
}

/// A source of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckSource {
    Statuses,
    CheckRuns,
}

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    pub title: String,
    /// The owner of the head branch, if it is in a fork.
    pub head_owner: Option<String>,
    /// The branch with the new commits.
    pub head: String,
    /// The branch to merge into.
    pub base: String,
    pub body: Option<String>,
    pub draft: bool,
}

/// Changes of a pull request. `None` leaves a field unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PullRequestChange {
    pub title: Option<String>,
    /// An empty text clears the description.
    pub body: Option<String>,
    pub state: Option<PullState>,
    pub draft: Option<bool>,
}

/// The way in which a pull request is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeMethod {
    /// A commit with two parents.
    #[default]
    Merge,
    /// One commit with the whole change.
    Squash,
    /// Every commit, repeated on top of the base.
    Rebase,
}

/// The instruction to merge a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeInstruction {
    pub number: u64,
    pub method: MergeMethod,
    /// The first line of the message. `None` leaves it to the backend.
    pub title: Option<String>,
    /// The rest of the message. `None` leaves it to the backend.
    pub message: Option<String>,
    /// The full SHA of the head to merge. Another head is refused.
    pub head_sha: String,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedPull {
    /// The new commit of the base branch.
    pub sha: String,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// From the root of the repository.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedCommit {
    pub sha: String,
    pub parent: String,
    pub url: String,
}

/// A review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Review {
    /// `None` if the account was deleted.
    pub author: Option<String>,
    /// One of APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING.
    pub state: String,
    pub body: String,
}

/// The change of one file in a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PullFileChange {
    /// From the root of the repository.
    pub path: String,
    /// `added`, `removed`, `modified`, `renamed` or `changed`.
    pub status: String,
    pub additions: u64,
    pub deletions: u64,
    /// `None` for binary files, and if it exceeds the limit.
    pub patch: Option<String>,
}

/// Reviews and files of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullDetails {
    /// Oldest first.
    pub reviews: Vec<Review>,
    /// `None` if nobody has approved or requested changes.
    pub review_decision: Option<ReviewDecision>,
    /// In the byte order of paths.
    pub files: Vec<PullFileChange>,
    /// True if reviews, files or patches are left out.
    pub truncated: bool,
}
