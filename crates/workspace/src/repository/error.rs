//! The reasons why a workspace has no repository with an identity.

use super::root_commits::MAX_ROOT_COMMITS;
use std::fmt;
use std::time::Duration;

/// The reason why the root commits are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryError {
    /// There is no `.git` in the workspace or above it.
    NoRepository,
    /// HEAD has no commit yet.
    NoCommit,
    /// The history is cut off, so the root commits are not there.
    Shallow,
    /// The `.git` above the workspace belongs to another user.
    OtherOwner,
    /// A file of the repository cannot be read, or is not what git writes.
    Unreadable { file: &'static str, why: String },
    /// There are more than [`MAX_ROOT_COMMITS`].
    TooManyRoots,
    /// The program `git` was not found.
    NoGit,
    /// Git did not end in time.
    TimedOut(Duration),
    /// Git failed.
    Git(String),
    /// The state directory cannot be used.
    State(String),
}

impl fmt::Display for RepositoryError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RepositoryError::NoRepository => out.write_str("it is not in a git repository"),
            RepositoryError::NoCommit => out.write_str("HEAD has no commit yet"),
            RepositoryError::Shallow => {
                out.write_str("the repository is a shallow clone, without its root commits")
            }
            RepositoryError::OtherOwner => {
                out.write_str("the repository around it belongs to another user")
            }
            RepositoryError::Unreadable { file, why } => {
                write!(out, "{file} of the repository cannot be read: {why}")
            }
            RepositoryError::TooManyRoots => write!(
                out,
                "the repository has more than {MAX_ROOT_COMMITS} root commits"
            ),
            RepositoryError::NoGit => out.write_str("the program git was not found"),
            RepositoryError::TimedOut(limit) => {
                write!(out, "git did not end within {} s", limit.as_secs())
            }
            RepositoryError::Git(why) => write!(out, "git failed: {why}"),
            RepositoryError::State(why) => {
                write!(out, "the state directory cannot be used: {why}")
            }
        }
    }
}

impl std::error::Error for RepositoryError {}
