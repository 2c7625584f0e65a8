//! The trait of a backend. The tools are written once, against this trait. Its parts for the further
//! toolsets are traits of their own, by subject.

use crate::{
    Branch, BranchPage, ChangeForge, CommitChecks, CommitPage, CreatedCommit, Directory,
    DiscussionForge, Failure, File, HistoryForge, IssueForge, JobForge, MergeInstruction,
    MergedPull, NewFile, NewPullRequest, Paging, PullDetails, PullFilter, PullPage, PullRequest,
    PullRequestChange, ReleaseForge, RepoName, Repository, RepositoryForge, RepositoryPage,
    Revision, Tree,
};
use candor_guard::Deadline;
use candor_street::{CallerToken, EffectMark};
use futures_util::future::BoxFuture;

/// The future that a backend's method returns.
pub type BackendFuture<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// The part of a call's context that a backend needs.
#[derive(Debug, Clone)]
pub struct BackendContext {
    /// The deadline of the whole call.
    pub deadline: Deadline,
    /// Must be set around every change: `begins` before the first irreversible step, `done` after the
    /// last, `undone` if it is certain that nothing was changed.
    pub mark: EffectMark,
    /// The caller's own token for GitHub, if the server passes it on.
    pub caller: Option<CallerToken>,
    /// The repository of the call. An app has a token for each owner of repositories.
    pub repo: Option<RepoName>,
}

impl BackendContext {
    /// Returns the context of a call that has no caller's token and no repository.
    pub fn new(deadline: Deadline, mark: EffectMark) -> BackendContext {
        BackendContext {
            deadline,
            mark,
            caller: None,
            repo: None,
        }
    }
}

/// A backend with repositories: GitHub, or a directory of them.
///
/// The future of a reading call is dropped if the call is cancelled. The future of a writing call is
/// polled to its end after its mark has begun.
pub trait Forge:
    HistoryForge
    + ChangeForge
    + DiscussionForge
    + IssueForge
    + JobForge
    + RepositoryForge
    + ReleaseForge
    + Send
    + Sync
    + 'static
{
    /// Searches repositories.
    fn search<'a>(
        &'a self,
        context: &'a BackendContext,
        query: &'a str,
        paging: Paging,
    ) -> BackendFuture<'a, RepositoryPage>;

    /// Returns one repository.
    fn repository<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
    ) -> BackendFuture<'a, Repository>;

    /// Returns the first `most` bytes of the README and whether there are more. Returns `None` if the
    /// repository has no README.
    fn readme<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        most: u64,
    ) -> BackendFuture<'a, Option<(Vec<u8>, bool)>>;

    /// Lists a directory. The path of the root is empty.
    fn directory<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> BackendFuture<'a, Directory>;

    /// Reads a file of at most `most` bytes.
    fn file<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> BackendFuture<'a, File>;

    /// Lists a whole tree, at most `most` entries.
    fn tree<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> BackendFuture<'a, Tree>;

    /// Lists commits from a revision backwards.
    fn commits<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> BackendFuture<'a, CommitPage>;

    /// Lists branches.
    fn branches<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, BranchPage>;

    /// Lists pull requests.
    fn pull_requests<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        wanted: PullFilter,
        paging: Paging,
    ) -> BackendFuture<'a, PullPage>;

    /// Returns the current state of a pull request without waiting for `mergeable` to be decided.
    fn pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
    ) -> BackendFuture<'a, PullRequest>;

    /// Returns all checks of a commit. `sha` is the beginning of its SHA.
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

    /// Merges a pull request if its head is still the one of the instruction.
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

    /// Creates one commit on a branch with all files or none. Never forces.
    fn commit_files<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> BackendFuture<'a, CreatedCommit>;

    /// Creates a branch at a revision.
    fn create_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        from: &'a Revision,
    ) -> BackendFuture<'a, Branch>;

    /// Returns reviews and files of a pull request, with patches of at most `most` bytes in total.
    fn details<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> BackendFuture<'a, PullDetails>;
}
