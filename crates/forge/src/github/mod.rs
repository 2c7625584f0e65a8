//! The backend `github`: the REST API, and GraphQL for operations that REST does not have.
mod api;
mod app_key;
mod authentication;
mod branch_changes;
mod checks;
mod code_search;
mod commit_changes;
mod commit_files;
mod comparison;
mod contents;
mod discussion;
mod error_response;
mod exchange_failure;
mod graphql;
mod history;
mod installation_tokens;
mod issues;
mod job_logs;
mod known_tokens;
pub mod limits;
mod new_repository;
mod pull_branch;
mod pull_changes;
mod pulls;
mod raw_types;
mod read;
mod recent_map;
mod redaction;
mod redirect;
mod releases;
mod repositories;
mod requests;
mod response_cache;
mod revisions;
mod route;
mod settings;
mod workflow_runs;
mod write;

use crate::{
    BackendContext, BackendFuture, Branch, BranchPage, CommitChecks, CommitPage, CreatedCommit,
    Directory, Failure, File, Forge, MergeInstruction, MergedPull, NewFile, NewPullRequest, Paging,
    PullDetails, PullFilter, PullPage, PullRequest, PullRequestChange, RepoName, Repository,
    RepositoryPage, Revision, Tree,
};
use api::Api;
pub use app_key::{AppKey, AppKeyError, JWT_SECONDS};
pub use authentication::{GithubApp, GithubAuthentication, MAX_CALLERS, TokenSource};
pub use installation_tokens::{MAX_INSTALLATIONS, TOKEN_MARGIN};
pub use known_tokens::MAX_KNOWN_TOKENS;
pub use settings::{GithubSettings, GithubSetupError, GithubTimeouts, PUBLIC_API, RepoFilter};

/// GitHub, or an Enterprise server.
#[derive(Debug)]
pub struct GithubForge(Api);

impl GithubForge {
    /// Creates the backend. Nothing is sent yet.
    pub fn new(settings: GithubSettings) -> Result<GithubForge, GithubSetupError> {
        Api::new(settings).map(GithubForge)
    }

    /// Removes tokens from the failure of a call.
    fn filtered<'a, T>(
        &'a self,
        work: impl Future<Output = Result<T, Failure>> + Send + 'a,
    ) -> BackendFuture<'a, T> {
        Box::pin(async move {
            let done = work.await;
            done.map_err(|failure| self.0.redactor.failure(failure))
        })
    }
}

impl Forge for GithubForge {
    fn search<'a>(
        &'a self,
        context: &'a BackendContext,
        query: &'a str,
        paging: Paging,
    ) -> BackendFuture<'a, RepositoryPage> {
        self.filtered(repositories::search(&self.0, context, query, paging))
    }

    fn repository<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
    ) -> BackendFuture<'a, Repository> {
        self.filtered(repositories::repository(&self.0, context, repo))
    }

    fn readme<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        most: u64,
    ) -> BackendFuture<'a, Option<(Vec<u8>, bool)>> {
        self.filtered(repositories::readme(&self.0, context, repo, most))
    }

    fn directory<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> BackendFuture<'a, Directory> {
        self.filtered(contents::directory(&self.0, context, repo, path, at))
    }

    fn file<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> BackendFuture<'a, File> {
        self.filtered(contents::file(&self.0, context, repo, path, at, most))
    }

    fn tree<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> BackendFuture<'a, Tree> {
        self.filtered(history::tree(&self.0, context, repo, at, most))
    }

    fn commits<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> BackendFuture<'a, CommitPage> {
        self.filtered(history::commits(&self.0, context, repo, from, paging))
    }

    fn branches<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, BranchPage> {
        self.filtered(history::branches(&self.0, context, repo, paging))
    }

    fn pull_requests<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        wanted: PullFilter,
        paging: Paging,
    ) -> BackendFuture<'a, PullPage> {
        self.filtered(pulls::list(&self.0, context, repo, wanted, paging))
    }

    fn pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
    ) -> BackendFuture<'a, PullRequest> {
        self.filtered(pulls::one(&self.0, context, repo, number))
    }

    fn checks<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        sha: &'a str,
    ) -> BackendFuture<'a, CommitChecks> {
        self.filtered(checks::checks(&self.0, context, repo, sha))
    }

    fn create_pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewPullRequest,
    ) -> BackendFuture<'a, PullRequest> {
        self.filtered(pull_changes::create(&self.0, context, repo, new))
    }

    fn update_pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        change: &'a PullRequestChange,
    ) -> BackendFuture<'a, PullRequest> {
        self.filtered(pull_changes::update(&self.0, context, repo, number, change))
    }

    fn merge<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a MergeInstruction,
    ) -> BackendFuture<'a, MergedPull> {
        self.filtered(pull_changes::merge(&self.0, context, repo, order))
    }

    fn delete_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
    ) -> BackendFuture<'a, ()> {
        self.filtered(branch_changes::delete(&self.0, context, repo, branch))
    }

    fn commit_files<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> BackendFuture<'a, CreatedCommit> {
        self.filtered(commit_files::commit(
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
        self.filtered(branch_changes::create(&self.0, context, repo, branch, from))
    }

    fn details<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> BackendFuture<'a, PullDetails> {
        self.filtered(pulls::details(&self.0, context, repo, pull, most))
    }
}
