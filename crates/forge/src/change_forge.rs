//! The part of a backend that changes branches and explains conflicts.

use crate::{
    BackendContext, BackendFuture, CommitInstruction, CommittedChanges, ConflictReport,
    PullRequest, RepoName, RevertInstruction, UpdatedBranch,
};

/// A backend that changes branches.
pub trait ChangeForge {
    /// Makes one commit with all changes or none. Never forces.
    fn commit_changes<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a CommitInstruction,
    ) -> BackendFuture<'a, CommittedChanges>;

    /// Returns the paths that stop the merge of a pull request, as far as the backend knows them.
    fn conflicts<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
    ) -> BackendFuture<'a, ConflictReport>;

    /// Merges the base of an open pull request into its head branch, if that still has the given head.
    fn update_pull_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
    ) -> BackendFuture<'a, UpdatedBranch>;

    /// Opens a pull request that undoes a merged one.
    fn revert_pull<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a RevertInstruction,
    ) -> BackendFuture<'a, PullRequest>;
}
