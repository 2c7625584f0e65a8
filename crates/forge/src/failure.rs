//! What can go wrong, as typed facts. What code each becomes is decided in `faults.rs` alone.

use crate::RepoName;
use candor_fault::Cause;
use candor_street::CallStopped;
use serde_json::Value;
use std::time::Duration;

/// What is not there, or cannot be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingItem {
    /// The repository.
    Repository,
    /// A branch.
    Branch(String),
    /// A branch, tag or commit.
    Revision(String),
    /// A path at a revision.
    Path(String),
    /// A pull request.
    PullRequest(u64),
}

/// A rule of the repository's state that a well-formed call does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnmetPrecondition {
    /// A file was asked for, and there is a directory.
    IsDirectory(String),
    /// A directory was asked for, and there is something else.
    NotADirectory(String),
    /// A file was asked for, and there is another repository's commit.
    IsSubmodule(String),
    /// The file is larger than what is answered.
    TooLarge {
        /// Its path.
        path: String,
        /// Its size in bytes, where it is known.
        size: Option<u64>,
        /// The most that is answered.
        most: u64,
    },
    /// More than one commit begins with these digits.
    AmbiguousSha(String),
    /// The branch was moved by somebody else while the commit was made.
    BranchMoved(String),
    /// The branch is there already.
    BranchExists(String),
    /// The branch takes changes through pull requests only.
    BranchProtected(String),
    /// An open pull request for the same branches is there already.
    PullExists(u64),
    /// Git takes no file of this path: some system takes a part of it for `.git`.
    PathRefused(String),
    /// The two branches have nothing between them to merge.
    NothingToMerge {
        /// The branch that is brought.
        head: String,
        /// The branch that it is for.
        base: String,
    },
    /// The branches have no history in common.
    Unrelated,
    /// A pull request that was merged cannot be opened again, nor made a draft.
    AlreadyMerged(u64),
    /// Files of one commit that cannot stand side by side: one is a directory of the other.
    PathConflict(String),
    /// The files are what the branch has already.
    NothingToCommit,
}

/// Why a pull request cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmergeableReason {
    /// It conflicts with its base.
    Conflict,
    /// It is a draft.
    Draft,
    /// It is closed.
    Closed,
    /// It was merged already.
    Merged,
    /// Rules of the base branch forbid it, required checks among them.
    Blocked,
    /// Whether it can be merged is still not known.
    Undecided,
    /// GitHub refused to merge it.
    Refused,
    /// Its commits cannot be put on top of the base one by one.
    NotRebaseable,
}

/// A pull request that cannot be merged.
#[derive(Debug, Clone, PartialEq)]
pub struct UnmergeablePull {
    /// Its number.
    pub number: u64,
    /// Why.
    pub reason: UnmergeableReason,
    /// The last `mergeable_state` seen.
    pub state: Option<String>,
    /// The checks that fail or are missing.
    pub failing_checks: Vec<String>,
    /// GitHub's answer, where it refused.
    pub response: Option<Box<GithubErrorResponse>>,
}

/// Who may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenialReason {
    /// The server was started without the permission to write.
    WritesOff,
    /// The caller did not show the token that writing asks for.
    WriteToken,
    /// The repository is not on the allow-list.
    Repository(RepoName),
}

/// What was being done when GitHub answered; a status means different things in different steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Something was read.
    Read,
    /// Something was changed, but for the next one.
    Write,
    /// A pull request was merged.
    Merge,
}

/// An answer of GitHub that is no success.
#[derive(Debug, Clone, PartialEq)]
pub struct GithubErrorResponse {
    /// Its status.
    pub status: u16,
    /// What was being done.
    pub step: RequestKind,
    /// What is missing if the status says that something is.
    pub missing: MissingItem,
    /// GitHub's own message.
    pub message: Option<String>,
    /// GitHub's own `errors[]`.
    pub errors: Option<Box<Value>>,
    /// Whether headers or the documentation's address say that a rate limit was hit.
    pub limited: bool,
    /// How long GitHub asks to wait.
    pub retry_after: Option<Duration>,
}

/// Why GitHub could not be asked, or its answer not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreachableReason {
    /// No connection.
    Connect,
    /// The connection could not be made safe.
    Tls,
    /// The connection broke.
    Reset,
    /// It took too long.
    Timeout,
    /// The answer is not what GitHub documents.
    Garbled,
    /// The answer is larger than anything that is wanted.
    TooLarge,
    /// A redirect that leads elsewhere, or in circles.
    Redirect,
}

/// Why a backend could not do what it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// It is not there, or cannot be seen.
    Missing(MissingItem),
    /// The repository's state does not allow it.
    Unmet(UnmetPrecondition),
    /// The pull request cannot be merged.
    Unmergeable(UnmergeablePull),
    /// The head is not the one that the caller expected.
    HeadMoved {
        /// The expected one.
        expected: String,
        /// The one there is, where it is known.
        actual: Option<String>,
        /// The last `mergeable_state` seen.
        state: Option<String>,
    },
    /// It is forbidden.
    Denied(DenialReason),
    /// Too many calls, by this server's own count.
    Limited(Duration),
    /// GitHub answered, and it is no success.
    GithubErrorResponse(GithubErrorResponse),
    /// GitHub could not be asked, or its answer not be read.
    Unreachable(UnreachableReason, Cause),
    /// The repository has no commit yet.
    Empty,
    /// One part of a change was made, another was not.
    Partly {
        /// What was made.
        done: &'static str,
        /// Why the rest was not.
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
