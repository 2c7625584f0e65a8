//! The failures of this server as typed facts. Only `faults.rs` maps them to codes.

use crate::{ConflictReport, DiffSide, RepoName};
use candor_fault::Cause;
use candor_street::CallStopped;
use serde_json::Value;
use std::time::Duration;

/// An item that does not exist or that the token cannot see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingItem {
    /// The repository.
    Repository,
    Branch(String),
    /// A branch, tag or commit.
    Revision(String),
    /// A path at a revision.
    Path(String),
    /// A path at a revision that has others which differ in case only.
    PathInOtherCase {
        path: String,
        similar: Vec<String>,
    },
    PullRequest(u64),
    Issue(u64),
    /// An issue or a pull request, which share their numbers.
    IssueOrPull(u64),
    /// A comment on a line of the pull request.
    LineComment(u64),
    Job(u64),
    /// A run of a workflow.
    Run(u64),
    Tag(String),
    /// A user or an organisation.
    Account(String),
}

/// A precondition on the repository's state that a well-formed call does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnmetPrecondition {
    /// A file is expected, but the path is a directory.
    IsDirectory(String),
    /// A directory is expected, but the path is something else.
    NotADirectory(String),
    /// A file is expected, but the path is a submodule.
    IsSubmodule(String),
    /// The file is larger than the maximum.
    TooLarge {
        /// Its path.
        path: String,
        /// In bytes, if it is known.
        size: Option<u64>,
        /// The maximum in bytes.
        most: u64,
    },
    /// More than one commit begins with these digits.
    AmbiguousSha(String),
    /// Another writer moved the branch while the commit was created.
    BranchMoved(String),
    BranchExists(String),
    /// The branch changes through pull requests only.
    BranchProtected(String),
    /// An open pull request for the same branches exists.
    PullExists(u64),
    /// Git rejects the path: some system treats a part of it as `.git`.
    PathRefused(String),
    /// The head has no commits that the base does not have.
    NothingToMerge {
        head: String,
        /// The branch to merge into.
        base: String,
    },
    /// The branches have no common history.
    Unrelated,
    /// A merged pull request cannot be reopened or made a draft.
    AlreadyMerged(u64),
    /// Two files of one commit conflict: one path is a directory of the other.
    PathConflict(String),
    /// The branch already has these files with this content.
    NothingToCommit,
    /// Text is expected, but the file is not UTF-8.
    NotText(String),
    /// The file does not have the wanted lines.
    NoSuchLines {
        path: String,
        total_lines: usize,
    },
    /// The text to replace does not occur exactly once.
    NotOneOccurrence {
        path: String,
        occurrences: usize,
    },
    /// Only a plain file is executable or not.
    NotAPlainFile(String),
    /// A directory cannot be edited, deleted or moved as a whole.
    DirectoryChanged(String),
    /// A file cannot be moved to a path that exists.
    PathExists(String),
    /// GitHub takes one new file as the first commit of a repository.
    FirstCommitOfSeveral,
    /// Only an open pull request is brought up to date.
    NotOpen(u64),
    /// Only a merged pull request can be reverted.
    NotMerged(u64),
    /// An open pull request reverts the same one.
    RevertExists(u64),
    /// A review that does not approve needs a text.
    EmptyReview,
    /// Nobody approves their own pull request or requests changes of it.
    OwnPull(u64),
    /// The author of a pull request cannot be its reviewer.
    ReviewerIsAuthor(String),
    /// A comment is made on a line that the difference shows.
    LineOutsideDiff {
        path: String,
        line: u64,
        side: DiffSide,
    },
    /// A pull request that can be merged needs no auto-merge.
    MergeableNow(u64),
    /// A draft is not merged automatically.
    IsDraft(u64),
    /// An issue is expected, but the number is a pull request's.
    IsPullRequest(u64),
    /// No job has failed, so none is run again.
    NothingFailed,
    /// The default branch is never deleted.
    DefaultBranch(String),
    RepositoryExists(RepoName),
    /// A tag of this name leads to another commit, or has a name that excludes the new one.
    TagExists(String),
    ReleaseExists(String),
    /// A text has the form of a time and is none, such as the 31st of June.
    NotATime(String),
}

/// The reason why a pull request cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmergeableReason {
    Conflict,
    Draft,
    Closed,
    Merged,
    /// Rules of the base branch forbid it, for example required checks.
    Blocked,
    /// GitHub has not decided yet.
    Undecided,
    Refused,
    NotRebaseable,
    /// Later changes of the base conflict with undoing it.
    RevertConflict,
}

/// A pull request that cannot be merged.
#[derive(Debug, Clone, PartialEq)]
pub struct UnmergeablePull {
    pub number: u64,
    pub reason: UnmergeableReason,
    /// The last known `mergeable_state`.
    pub state: Option<String>,
    /// The checks that fail or are missing.
    pub failing_checks: Vec<String>,
    /// GitHub's response, if it refused.
    pub response: Option<Box<GithubErrorResponse>>,
    /// The paths that conflict, if they are known.
    pub conflicts: Option<Box<ConflictReport>>,
}

/// The part of a local repository that is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamagedItem {
    Object,
    Ref,
    Head,
}

/// The reason why a call is not permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenialReason {
    /// The server was started without permission to write.
    WritesOff,
    /// The caller did not send the token that writing requires.
    WriteToken,
    /// The repository is not on the allow-list.
    Repository(RepoName),
    /// The call has no token of the caller that could be passed on.
    CallerToken,
    /// The call is about no repository, and the app was given no installation.
    InstallationNeeded,
    /// The app is not installed for this owner, or no longer.
    NotInstalled(String),
    /// The app does not have this installation, or no longer.
    InstallationGone(u64),
}

/// The kind of a request to GitHub. The meaning of a status depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    Read,
    /// Any change but a merge.
    Write,
    Merge,
}

/// A response of GitHub that is not a success.
#[derive(Debug, Clone, PartialEq)]
pub struct GithubErrorResponse {
    pub status: u16,
    pub step: RequestKind,
    /// The item that a 404 refers to.
    pub missing: MissingItem,
    pub message: Option<String>,
    /// GitHub's `errors[]`.
    pub errors: Option<Box<Value>>,
    /// True if headers or the documentation URL indicate a rate limit.
    pub limited: bool,
    /// The wait that GitHub requires.
    pub retry_after: Option<Duration>,
    /// The page on which a person must authorise the token for an organisation.
    pub sso_url: Option<Box<str>>,
}

/// The reason why GitHub could not be reached or its response could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreachableReason {
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The connection was lost.
    Reset,
    Timeout,
    /// The response differs from GitHub's documentation.
    Garbled,
    /// The response is larger than its limit.
    TooLarge,
    /// A redirect out of the API, or too many redirects.
    Redirect,
}

/// The failures of this server and its backends.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    Missing(MissingItem),
    Unmet(UnmetPrecondition),
    Unmergeable(UnmergeablePull),
    /// The head is not the one that the caller expects.
    HeadMoved {
        expected: String,
        /// The current head, if it is known.
        actual: Option<String>,
        /// The last known `mergeable_state`.
        state: Option<String>,
    },
    /// The head of a branch is not the one that the caller expects.
    BranchHeadMoved {
        expected: String,
        /// The current head, if it is known. An empty repository has none.
        actual: Option<String>,
    },
    Denied(DenialReason),
    /// This server's own rate limit is exceeded.
    Limited(Duration),
    GithubErrorResponse(GithubErrorResponse),
    Unreachable(UnreachableReason, Cause),
    /// The repository has no commits.
    Empty,
    /// A part of a change was made, the rest failed.
    Partly {
        done: &'static str,
        rest: Box<Failure>,
    },
    /// The call was stopped before its change began.
    CallStopped(CallStopped),
    /// The disk has no room for a change.
    DiskFull(Cause),
    /// A part of a local repository is missing or cannot be read.
    Damaged(DamagedItem, Cause),
    /// Git, the database or the disk failed.
    Broken(&'static str, Cause),
}

impl From<CallStopped> for Failure {
    fn from(stopped: CallStopped) -> Self {
        Failure::CallStopped(stopped)
    }
}

impl From<MissingItem> for Failure {
    fn from(missing: MissingItem) -> Self {
        Failure::Missing(missing)
    }
}

impl From<UnmetPrecondition> for Failure {
    fn from(unmet: UnmetPrecondition) -> Self {
        Failure::Unmet(unmet)
    }
}
