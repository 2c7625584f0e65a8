//! The failures of this server as typed facts. Only `faults.rs` maps them to codes.

use crate::RepoName;
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
    PullRequest(u64),
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
