//! The part of a backend that compares commits and searches files.

use crate::{
    BackendContext, BackendFuture, CodePage, CodeQuery, CommitDetails, ComparedRevisions,
    Comparison, Paging, RepoName, Revision,
};

/// A backend that compares commits and searches files. The bounds of the changed files are those of [`MAX_COMPARED_FILES`]
/// and [`crate::MAX_PATCH_BYTES`].
pub trait HistoryForge {
    /// Compares a head with a base. The page is one of commits.
    fn compare<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        revisions: &'a ComparedRevisions,
        paging: Paging,
    ) -> BackendFuture<'a, Comparison>;

    /// Returns a commit with its changes since its first parent.
    fn commit_details<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        at: &'a Revision,
    ) -> BackendFuture<'a, CommitDetails>;

    /// Searches the files of the default branch.
    fn search_code<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a CodeQuery,
        paging: Paging,
    ) -> BackendFuture<'a, CodePage>;
}

/// The maximum number of changed files of a comparison or a commit.
pub const MAX_COMPARED_FILES: usize = 300;
