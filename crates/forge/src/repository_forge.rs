//! The parts of a backend that filter history, make repositories and delete branches, and that have tags
//! and releases.

use crate::{
    BackendContext, BackendFuture, CommitFilter, CreatedTag, FilteredCommits, NewRelease,
    NewRepository, NewTag, Paging, Release, ReleasePage, RepoName, Repository, Revision, TagPage,
};

/// A backend that filters history, makes repositories and deletes branches.
pub trait RepositoryForge {
    /// Lists the commits that a filter admits, from a revision backwards.
    fn filtered_commits<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        from: &'a Revision,
        filter: &'a CommitFilter,
        paging: Paging,
    ) -> BackendFuture<'a, FilteredCommits>;

    /// Deletes a branch that is neither the default branch nor protected, and returns its last head. With
    /// `expected`, the beginning of a SHA, another head is refused.
    fn delete_branch_at<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        expected: Option<&'a str>,
    ) -> BackendFuture<'a, String>;

    /// Makes a repository.
    fn create_repository<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewRepository,
    ) -> BackendFuture<'a, Repository>;
}

/// A backend that has tags and releases.
pub trait ReleaseForge {
    /// Lists tags.
    fn tags<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, TagPage>;

    /// Makes a tag. One that leads to the same commit already is left as it is.
    fn create_tag<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewTag,
    ) -> BackendFuture<'a, CreatedTag>;

    /// Lists releases.
    fn releases<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, ReleasePage>;

    /// Makes a release of a tag that exists.
    fn create_release<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewRelease,
    ) -> BackendFuture<'a, Release>;
}
