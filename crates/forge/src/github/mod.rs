//! The backend `github`: the REST API, and GraphQL for operations that REST does not have.
mod api;
mod branch_changes;
mod checks;
mod commit_files;
mod contents;
mod error_response;
mod exchange_failure;
mod graphql;
mod history;
pub mod limits;
mod pull_changes;
mod pulls;
mod raw_types;
mod read;
mod redirect;
mod repositories;
mod requests;
mod response_cache;
mod revisions;
mod route;
mod settings;
mod write;

use crate::{
    BackendContext, BackendFuture, Branch, BranchPage, CommitChecks, CommitPage, CreatedCommit,
    Directory, File, Forge, MergeInstruction, MergedPull, NewFile, NewPullRequest, Paging,
    PullDetails, PullFilter, PullPage, PullRequest, PullRequestChange, RepoName, Repository,
    RepositoryPage, Revision, Tree,
};
use api::Api;
pub use settings::{GithubSettings, GithubSetupError, GithubTimeouts, PUBLIC_API, RepoFilter};

/// GitHub, or an Enterprise server.
#[derive(Debug)]
pub struct GithubForge(Api);

impl GithubForge {
    /// Creates the backend. Nothing is sent yet.
    pub fn new(settings: GithubSettings) -> Result<GithubForge, GithubSetupError> {
        Api::new(settings).map(GithubForge)
    }
}

impl Forge for GithubForge {
    fn search<'a>(
        &'a self,
        context: &'a BackendContext,
        query: &'a str,
        paging: Paging,
    ) -> BackendFuture<'a, RepositoryPage> {
        Box::pin(repositories::search(&self.0, context, query, paging))
    }

    fn repository<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
    ) -> BackendFuture<'a, Repository> {
        Box::pin(repositories::repository(&self.0, context, repo))
    }

    fn readme<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        most: u64,
    ) -> BackendFuture<'a, Option<(Vec<u8>, bool)>> {
        Box::pin(repositories::readme(&self.0, context, repo, most))
    }

    fn directory<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> BackendFuture<'a, Directory> {
        Box::pin(contents::directory(&self.0, context, repo, path, at))
    }

    fn file<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> BackendFuture<'a, File> {
        Box::pin(contents::file(&self.0, context, repo, path, at, most))
    }

    fn tree<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> BackendFuture<'a, Tree> {
        Box::pin(history::tree(&self.0, context, repo, at, most))
    }

    fn commits<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> BackendFuture<'a, CommitPage> {
        Box::pin(history::commits(&self.0, context, repo, from, paging))
    }

    fn branches<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, BranchPage> {
        Box::pin(history::branches(&self.0, context, repo, paging))
    }

    fn pull_requests<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        wanted: PullFilter,
        paging: Paging,
    ) -> BackendFuture<'a, PullPage> {
        Box::pin(pulls::list(&self.0, context, repo, wanted, paging))
    }

    fn pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
    ) -> BackendFuture<'a, PullRequest> {
        Box::pin(pulls::one(&self.0, context, repo, number))
    }

    fn checks<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        sha: &'a str,
    ) -> BackendFuture<'a, CommitChecks> {
        Box::pin(checks::checks(&self.0, context, repo, sha))
    }

    fn create_pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewPullRequest,
    ) -> BackendFuture<'a, PullRequest> {
        Box::pin(pull_changes::create(&self.0, context, repo, new))
    }

    fn update_pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        change: &'a PullRequestChange,
    ) -> BackendFuture<'a, PullRequest> {
        Box::pin(pull_changes::update(&self.0, context, repo, number, change))
    }

    fn merge<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a MergeInstruction,
    ) -> BackendFuture<'a, MergedPull> {
        Box::pin(pull_changes::merge(&self.0, context, repo, order))
    }

    fn delete_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
    ) -> BackendFuture<'a, ()> {
        Box::pin(branch_changes::delete(&self.0, context, repo, branch))
    }

    fn commit_files<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> BackendFuture<'a, CreatedCommit> {
        Box::pin(commit_files::commit(
            &self.0, context, repo, branch, message, files,
        ))
    }

    fn create_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        from: &'a Revision,
    ) -> BackendFuture<'a, Branch> {
        Box::pin(branch_changes::create(&self.0, context, repo, branch, from))
    }

    fn details<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> BackendFuture<'a, PullDetails> {
        Box::pin(pulls::details(&self.0, context, repo, pull, most))
    }
}
