//! What a backend has to do. The tools are written once, against this trait.

use crate::{
    Branch, Branches, Checks, Commits, Committed, Details, Directory, Failure, File, Found,
    MergeOrder, Merged, NewFile, NewPull, Paging, PullChange, PullRequest, Pulls, RepoName,
    Repository, Revision, Tree, Wanted,
};
use candor_guard::Deadline;
use candor_street::EffectMark;
use futures_util::future::BoxFuture;

/// What a backend's method comes to.
pub type Answering<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// What a backend has of the call that it works for.
#[derive(Debug, Clone)]
pub struct Turn {
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
    fn search<'a>(&'a self, turn: &'a Turn, query: &'a str, paging: Paging)
    -> Answering<'a, Found>;

    /// One repository.
    fn repository<'a>(&'a self, turn: &'a Turn, repo: &'a RepoName) -> Answering<'a, Repository>;

    /// The bytes of a repository's README, the first `most` of them; nothing where it has none.
    fn readme<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        most: u64,
    ) -> Answering<'a, Option<(Vec<u8>, bool)>>;

    /// What stands in a directory; the path of the root is empty.
    fn directory<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> Answering<'a, Directory>;

    /// A file of at most so many bytes.
    fn file<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> Answering<'a, File>;

    /// A whole tree, at most so many entries of it.
    fn tree<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> Answering<'a, Tree>;

    /// Commits from a revision backwards.
    fn commits<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> Answering<'a, Commits>;

    /// Branches.
    fn branches<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        paging: Paging,
    ) -> Answering<'a, Branches>;

    /// Pull requests.
    fn pull_requests<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        wanted: Wanted,
        paging: Paging,
    ) -> Answering<'a, Pulls>;

    /// One pull request, as far as the backend knows it now: it waits for nothing.
    fn pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        number: u64,
    ) -> Answering<'a, PullRequest>;

    /// All checks of a commit of which `sha` are the first digits.
    fn checks<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        sha: &'a str,
    ) -> Answering<'a, Checks>;

    /// Opens a pull request.
    fn create_pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        new: &'a NewPull,
    ) -> Answering<'a, PullRequest>;

    /// Changes a pull request.
    fn update_pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        number: u64,
        change: &'a PullChange,
    ) -> Answering<'a, PullRequest>;

    /// Merges a pull request whose head is still the one of the order.
    fn merge<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        order: &'a MergeOrder,
    ) -> Answering<'a, Merged>;

    /// Deletes a branch.
    fn delete_branch<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
    ) -> Answering<'a, ()>;

    /// Makes one commit on a branch, all files or none; never forced.
    fn commit_files<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> Answering<'a, Committed>;

    /// Makes a branch at a revision.
    fn create_branch<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
        from: &'a Revision,
    ) -> Answering<'a, Branch>;

    /// Reviews and files of a pull request, patches of at most so many bytes in all.
    fn details<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> Answering<'a, Details>;
}
