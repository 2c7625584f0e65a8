//! What the tools and a backend tell each other: repositories, trees, commits, pull requests, checks.
//! Full SHAs are 40 lowercase hex digits; times are what the backend says, in RFC 3339.

use crate::RepoName;
use serde::{Deserialize, Serialize};

/// Which part of a long list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    /// From 1.
    pub page: u32,
    /// From 1 to 100.
    pub per_page: u32,
}

/// What a caller means by a branch, a ref or a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    /// The default branch.
    Default,
    /// A branch, even where a tag has the same name.
    Branch(String),
    /// A branch, else a tag, else a commit of which these are the first digits.
    Named(String),
    /// A commit of which these are the first digits, 7 at least.
    Commit(String),
}

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its name as the backend spells it.
    pub name: RepoName,
    /// What it is about.
    pub description: Option<String>,
    /// Its default branch.
    pub default_branch: String,
    /// How many like it.
    pub stars: u64,
    /// What it is mostly written in.
    pub language: Option<String>,
    /// Where it can be looked at.
    pub url: String,
}

/// A page of repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryPage {
    /// The repositories of this page.
    pub repositories: Vec<Repository>,
    /// How many there are in all.
    pub total_count: u64,
    /// Whether the search gave up before its end.
    pub incomplete: bool,
}

/// What stands in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// Another repository's commit.
    Submodule,
}

/// One thing in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryItem {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ItemKind,
    /// Its path from the root.
    pub path: String,
    /// Its size in bytes; 0 for what has none.
    pub size: u64,
    /// Where it can be looked at.
    pub url: String,
}

/// A directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The revision's name: as asked for, else the default branch.
    pub at: String,
    /// What stands in it, in the byte order of names.
    pub items: Vec<DirectoryItem>,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The revision's name: as asked for, else the default branch.
    pub at: String,
    /// Exactly its bytes.
    pub bytes: Vec<u8>,
    /// Where it can be looked at.
    pub url: String,
}

/// One entry of a whole tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeItem {
    /// Its path from the root.
    pub path: String,
    /// `blob`, `tree` or `commit`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The size of a blob.
    pub size: Option<u64>,
    /// Its mode in six octal digits.
    pub mode: String,
}

/// A whole tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The revision's name: as asked for, else the default branch.
    pub at: String,
    /// The SHA of the commit's tree.
    pub sha: String,
    /// How many entries there are, as far as the backend counted.
    pub total: u64,
    /// Whether entries are left out.
    pub truncated: bool,
    /// The entries in tree order, parents before children.
    pub entries: Vec<TreeItem>,
}

/// Who did something and when; each part may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CommitPerson {
    /// The name.
    pub name: Option<String>,
    /// The address.
    pub email: Option<String>,
    /// When.
    pub date: Option<String>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its SHA.
    pub sha: String,
    /// Its message.
    pub message: String,
    /// Who wrote it.
    pub author: Option<CommitPerson>,
    /// Who committed it.
    pub committer: Option<CommitPerson>,
    /// Its parents.
    pub parents: Vec<String>,
    /// Where it can be looked at.
    pub url: String,
}

/// A page of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPage {
    /// The commits of this page, newest first.
    pub commits: Vec<Commit>,
    /// Whether there are more behind it.
    pub more: bool,
}

/// A branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// Whether rules protect it.
    pub protected: bool,
    /// Its head.
    pub sha: String,
}

/// A page of branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchPage {
    /// The branches of this page.
    pub branches: Vec<Branch>,
    /// The default branch.
    pub default: String,
    /// Whether there are more behind it.
    pub more: bool,
}

/// Whether a pull request is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    /// It is open.
    Open,
    /// It is closed or merged.
    Closed,
}

/// Which pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullFilter {
    /// Open ones.
    #[default]
    Open,
    /// Closed and merged ones.
    Closed,
    /// All.
    All,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: Option<String>,
    /// Open or closed.
    pub state: PullState,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether it was merged.
    pub merged: bool,
    /// The branch that it brings.
    pub head: String,
    /// The repository of that branch; nothing where it was deleted.
    pub head_repo: Option<RepoName>,
    /// The head of that branch.
    pub head_sha: String,
    /// The branch that it is for.
    pub base: String,
    /// Whether it can be merged; nothing while that is not known. Only told where one pull request is
    /// asked for.
    pub mergeable: Option<bool>,
    /// GitHub's word for it: clean, dirty, blocked, behind, unstable, draft, unknown, has_hooks. Only
    /// told where one pull request is asked for.
    pub mergeable_state: Option<String>,
    /// Who opened it; nothing where the account was deleted.
    pub author: Option<String>,
    /// When it was opened.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// Where it can be looked at.
    pub url: String,
    /// The id under which GraphQL knows it.
    pub node_id: Option<String>,
}

/// A page of pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullPage {
    /// The pull requests of this page, the last opened first.
    pub pulls: Vec<PullRequest>,
    /// Whether there are more behind it.
    pub more: bool,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// Well, or it does not matter.
    Passed,
    /// Badly.
    Failed,
    /// Not yet.
    Pending,
}

/// One check of a commit: a status, or a check run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitCheck {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub state: CheckState,
    /// The backend's own word for how it ended.
    pub conclusion: String,
    /// Where it can be looked at.
    pub url: Option<String>,
}

/// All checks of a commit, the last word of each, in the byte order of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitChecks {
    /// The commit.
    pub sha: String,
    /// Its checks.
    pub checks: Vec<CommitCheck>,
}

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// Its title.
    pub title: String,
    /// The owner of the branch that it brings, where that is another repository of the same network.
    pub head_owner: Option<String>,
    /// The branch that it brings.
    pub head: String,
    /// The branch that it is for.
    pub base: String,
    /// Its description.
    pub body: Option<String>,
    /// Whether it is a draft.
    pub draft: bool,
}

/// What is to become of a pull request; nothing stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PullRequestChange {
    /// Its new title.
    pub title: Option<String>,
    /// Its new description; an empty one clears it.
    pub body: Option<String>,
    /// Open or closed.
    pub state: Option<PullState>,
    /// Whether it is a draft.
    pub draft: Option<bool>,
}

/// How a pull request is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeMethod {
    /// A commit with two parents.
    #[default]
    Merge,
    /// One commit with the whole change.
    Squash,
    /// Every commit again, on top of the base.
    Rebase,
}

/// The order to merge a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeInstruction {
    /// The pull request.
    pub number: u64,
    /// How.
    pub method: MergeMethod,
    /// The first line of the message; nothing leaves it to the backend.
    pub title: Option<String>,
    /// The rest of the message; nothing leaves it to the backend.
    pub message: Option<String>,
    /// The head that is merged; any other is refused. Always a full SHA.
    pub head_sha: String,
}

/// A pull request that was merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedPull {
    /// The commit that the base branch is at now.
    pub sha: String,
}

/// A file that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its path from the root.
    pub path: String,
    /// Exactly its bytes.
    pub bytes: Vec<u8>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedCommit {
    /// Its SHA.
    pub sha: String,
    /// The commit before it.
    pub parent: String,
    /// Where it can be looked at.
    pub url: String,
}

/// A review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Review {
    /// Who; nothing where the account was deleted.
    pub author: Option<String>,
    /// GitHub's word: APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING.
    pub state: String,
    /// What was said.
    pub body: String,
}

/// What a pull request does to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PullFileChange {
    /// Its path from the root.
    pub path: String,
    /// `added`, `removed`, `modified`, `renamed` or `changed`.
    pub status: String,
    /// Lines that came.
    pub additions: u64,
    /// Lines that went.
    pub deletions: u64,
    /// The difference as a patch; nothing for binary files, and where it did not fit.
    pub patch: Option<String>,
}

/// What a pull request says beyond its summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullDetails {
    /// Its reviews, the oldest first.
    pub reviews: Vec<Review>,
    /// What it does to files, in the byte order of paths.
    pub files: Vec<PullFileChange>,
    /// Whether reviews, files or patches are left out.
    pub truncated: bool,
}
