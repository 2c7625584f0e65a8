//! The part of a backend for the discussion of issues and pull requests.

use crate::{
    AutoMerge, BackendContext, BackendFuture, Comment, CommentPage, FoundPulls, MergeMethod,
    NewReview, Paging, PullQuery, PullRequest, RepoName, RequestedReviewers, SubmittedReview,
    WriteLog,
};
use std::sync::Arc;

/// A backend that keeps comments and reviews.
pub trait DiscussionForge {
    /// Lists the comments of a pull request, those on lines too, oldest first.
    fn comments<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        paging: Paging,
    ) -> BackendFuture<'a, CommentPage>;

    /// Comments on an issue or a pull request.
    fn add_comment<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        body: &'a str,
    ) -> BackendFuture<'a, Comment>;

    /// Finds pull requests without a search index.
    fn find_pulls<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a PullQuery,
        paging: Paging,
    ) -> BackendFuture<'a, FoundPulls>;

    /// Submits a review with all its comments or none.
    fn submit_review<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        review: &'a NewReview,
    ) -> BackendFuture<'a, SubmittedReview>;

    /// Replies to a comment on a line of a pull request.
    fn reply<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        comment: u64,
        body: &'a str,
    ) -> BackendFuture<'a, Comment>;

    /// Requests reviews of a pull request, and returns everybody whose review is awaited.
    fn request_reviewers<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        wanted: &'a RequestedReviewers,
    ) -> BackendFuture<'a, RequestedReviewers>;

    /// Enables auto-merge with a method, or disables it.
    fn set_auto_merge<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        method: Option<MergeMethod>,
    ) -> BackendFuture<'a, Option<AutoMerge>>;

    /// Gives the backend the log for writes that it makes by itself. Without a log it makes none.
    fn record_own_writes(&self, _: Arc<dyn WriteLog>) {}
}
