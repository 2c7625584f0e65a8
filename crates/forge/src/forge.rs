//! What a backend has to do. The tools are written once, against this trait.

use crate::{
    Branch, BranchPage, CommitChecks, CommitPage, CreatedCommit, Directory, Failure, File,
    MergeInstruction, MergedPull, NewFile, NewPullRequest, Paging, PullDetails, PullFilter,
    PullPage, PullRequest, PullRequestChange, RepoName, Repository, RepositoryPage, Revision, Tree,
};
use candor_guard::Deadline;
use candor_street::EffectMark;
use futures_util::future::BoxFuture;

/// What a backend's method comes to.
pub type BackendFuture<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// What a backend has of the call that it works for.
#[derive(Debug, Clone)]
pub struct BackendContext {
    /// Until when the whole call may take.
    pub deadline: Deadline,
    /// To be set around every change: `begins` before the first step that cannot be taken back,
    /// `done` after the last, `undone` where it is known that nothing was changed after all.
    pub mark: EffectMark,
}

/// A place that has repositories: GitHub, or a directory of them.
///
/// Nobody polls a method's future for the caller once a reading call was given up; a writing one is
/// polled to its end once its mark has begun.
pub trait Forge: Send + Sync + 'static {
    /// Repositories that a query finds.
    fn search<'a>(
        &'a self,
        context: &'a BackendContext,
        query: &'a str,
        paging: Paging,
    ) -> BackendFuture<'a, RepositoryPage>;

    /// One repository.
    fn repository<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
    ) -> BackendFuture<'a, Repository>;

    /// The bytes of a repository's README, the first `most` of them; nothing where it has none.
    fn readme<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        most: u64,
    ) -> BackendFuture<'a, Option<(Vec<u8>, bool)>>;

    /// What stands in a directory; the path of the root is empty.
    fn directory<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> BackendFuture<'a, Directory>;

    /// A file of at most so many bytes.
    fn file<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> BackendFuture<'a, File>;

    /// A whole tree, at most so many entries of it.
    fn tree<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> BackendFuture<'a, Tree>;

    /// Commits from a revision backwards.
    fn commits<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> BackendFuture<'a, CommitPage>;

    /// Branches.
    fn branches<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, BranchPage>;

    /// Pull requests.
    fn pull_requests<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        wanted: PullFilter,
        paging: Paging,
    ) -> BackendFuture<'a, PullPage>;

    /// One pull request, as far as the backend knows it now: it waits for nothing.
    fn pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
    ) -> BackendFuture<'a, PullRequest>;

    /// All checks of a commit of which `sha` are the first digits.
    fn checks<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        sha: &'a str,
    ) -> BackendFuture<'a, CommitChecks>;

    /// Opens a pull request.
    fn create_pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewPullRequest,
    ) -> BackendFuture<'a, PullRequest>;

    /// Changes a pull request.
    fn update_pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        change: &'a PullRequestChange,
    ) -> BackendFuture<'a, PullRequest>;

    /// Merges a pull request whose head is still the one of the order.
    fn merge<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a MergeInstruction,
    ) -> BackendFuture<'a, MergedPull>;

    /// Deletes a branch.
    fn delete_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
    ) -> BackendFuture<'a, ()>;

    /// Makes one commit on a branch, all files or none; never forced.
    fn commit_files<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> BackendFuture<'a, CreatedCommit>;

    /// Makes a branch at a revision.
    fn create_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        from: &'a Revision,
    ) -> BackendFuture<'a, Branch>;

    /// Reviews and files of a pull request, patches of at most so many bytes in all.
    fn details<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> BackendFuture<'a, PullDetails>;
}
