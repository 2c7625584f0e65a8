//! The trait `DiscussionForge` for the local backend, and the commands that speak for somebody else.

use super::LocalForge;
use super::errors::LocalForgeError;
use super::pull_attributes;
use crate::{
    AutoMerge, BackendContext, BackendFuture, Comment, CommentPage, DiscussionForge, Failure,
    FoundPulls, LineComment, MergeMethod, MissingItem, NewReview, Paging, PullQuery, PullRequest,
    RepoName, RequestedReviewers, ReviewEvent, SubmittedReview, UnmetPrecondition, WriteLog,
};
use candor_street::EffectMark;
use std::sync::Arc;

const WRITE: &str = "the request could not be written";

impl LocalForge {
    async fn request(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        number: u64,
        wanted: &RequestedReviewers,
    ) -> Result<RequestedReviewers, Failure> {
        self.location(repo).await?;
        let pull = self.row(repo, number).await?;
        let author = pull.author.unwrap_or_default().to_lowercase();
        let mut reviewers = wanted.requested_reviewers.iter();
        if let Some(name) = reviewers.find(|name| name.to_lowercase() == author) {
            return Err(UnmetPrecondition::ReviewerIsAuthor(name.clone()).into());
        }
        let (folded, now) = (repo.folded(), self.now().as_microsecond());
        let mut change = self.change_rows(&context.mark).await?;
        let connection = change.connection();
        pull_attributes::request(connection, &folded, number, wanted, now).await?;
        let requested = pull_attributes::requested(connection, &folded, number).await?;
        change.commit(WRITE).await?;
        Ok(requested)
    }

    /// Comments on an issue or a pull request in the name of somebody. Returns the id of the comment.
    pub async fn comment_as(
        &self,
        repo: &RepoName,
        number: u64,
        name: &str,
        body: &str,
    ) -> Result<u64, LocalForgeError> {
        let mark = EffectMark::unstoppable();
        let comment = self.write_comment(&mark, repo, number, name, body).await;
        Ok(comment?.id)
    }

    /// Reviews the present head of a pull request in the name of somebody.
    pub async fn review_as(
        &self,
        repo: &RepoName,
        number: u64,
        name: &str,
        event: ReviewEvent,
        body: Option<String>,
        comments: Vec<LineComment>,
    ) -> Result<SubmittedReview, LocalForgeError> {
        let pull = self.one(repo, number).await?;
        let review = NewReview {
            event,
            body,
            comments,
            head_sha: pull.head_sha,
        };
        let mark = EffectMark::unstoppable();
        let submitted = self.write_review(&mark, repo, number, name, &review);
        Ok(submitted.await?)
    }

    /// Replaces the labels of an issue or a pull request.
    pub async fn set_labels(
        &self,
        repo: &RepoName,
        number: u64,
        labels: &[String],
    ) -> Result<(), LocalForgeError> {
        self.location(repo).await?;
        let now = self.now().as_microsecond();
        let mut writing = self.database.write().await?;
        let folded = repo.folded();
        let there = super::comments::touch(&mut writing, &folded, number, now).await?;
        there.ok_or(Failure::Missing(MissingItem::IssueOrPull(number)))?;
        let table = pull_attributes::NameTable::Labels;
        pull_attributes::replace_names(&mut writing, table, &folded, number, labels).await?;
        writing.commit("the labels could not be written").await?;
        Ok(())
    }
}

impl DiscussionForge for LocalForge {
    fn comments<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        paging: Paging,
    ) -> BackendFuture<'a, CommentPage> {
        Box::pin(self.comments_of(repo, number, paging))
    }

    fn add_comment<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        body: &'a str,
    ) -> BackendFuture<'a, Comment> {
        let author = &self.identity.name;
        Box::pin(self.write_comment(&context.mark, repo, number, author, body))
    }

    fn find_pulls<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a PullQuery,
        paging: Paging,
    ) -> BackendFuture<'a, FoundPulls> {
        Box::pin(self.found_pulls(repo, query, paging))
    }

    fn submit_review<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        review: &'a NewReview,
    ) -> BackendFuture<'a, SubmittedReview> {
        let author = &self.identity.name;
        Box::pin(self.write_review(&context.mark, repo, number, author, review))
    }

    fn reply<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        comment: u64,
        body: &'a str,
    ) -> BackendFuture<'a, Comment> {
        Box::pin(self.write_reply(&context.mark, repo, number, comment, body))
    }

    fn request_reviewers<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        wanted: &'a RequestedReviewers,
    ) -> BackendFuture<'a, RequestedReviewers> {
        Box::pin(self.request(context, repo, number, wanted))
    }

    fn set_auto_merge<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        method: Option<MergeMethod>,
    ) -> BackendFuture<'a, Option<AutoMerge>> {
        Box::pin(self.change_auto_merge(context, repo, pull, method))
    }

    fn record_own_writes(&self, log: Arc<dyn WriteLog>) {
        // The first log stays: a forge belongs to one server.
        let _ = self.own_writes.set(log);
    }
}
