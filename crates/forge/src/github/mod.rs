//! The backend `github`: the REST API, and GraphQL where REST cannot do a thing.
mod api;
mod ask;
mod branching;
mod broken;
mod changing;
mod checks;
mod committing;
mod contents;
mod graphql;
mod history;
pub mod limits;
mod pull_changes;
mod pulls;
mod reading;
mod redirect;
mod refusal;
mod remembered;
mod repositories;
mod revisions;
mod route;
mod settings;
mod shapes;

use crate::{
    Answering, Branch, Branches, Checks, Commits, Committed, Details, Directory, File, Forge,
    Found, MergeOrder, Merged, NewFile, NewPull, Paging, PullChange, PullRequest, Pulls, RepoName,
    Repository, Revision, Tree, Turn, Wanted,
};
use api::Api;
pub use settings::{Admits, PUBLIC_API, Settings, SetupError, Timeouts};

/// GitHub, or an Enterprise server.
#[derive(Debug)]
pub struct GithubForge(Api);

impl GithubForge {
    /// A backend; nothing is asked yet.
    pub fn new(settings: Settings) -> Result<GithubForge, SetupError> {
        Api::new(settings).map(GithubForge)
    }
}

impl Forge for GithubForge {
    fn search<'a>(
        &'a self,
        turn: &'a Turn,
        query: &'a str,
        paging: Paging,
    ) -> Answering<'a, Found> {
        Box::pin(repositories::search(&self.0, turn, query, paging))
    }

    fn repository<'a>(&'a self, turn: &'a Turn, repo: &'a RepoName) -> Answering<'a, Repository> {
        Box::pin(repositories::repository(&self.0, turn, repo))
    }

    fn readme<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        most: u64,
    ) -> Answering<'a, Option<(Vec<u8>, bool)>> {
        Box::pin(repositories::readme(&self.0, turn, repo, most))
    }

    fn directory<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> Answering<'a, Directory> {
        Box::pin(contents::directory(&self.0, turn, repo, path, at))
    }

    fn file<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> Answering<'a, File> {
        Box::pin(contents::file(&self.0, turn, repo, path, at, most))
    }

    fn tree<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> Answering<'a, Tree> {
        Box::pin(history::tree(&self.0, turn, repo, at, most))
    }

    fn commits<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> Answering<'a, Commits> {
        Box::pin(history::commits(&self.0, turn, repo, from, paging))
    }

    fn branches<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        paging: Paging,
    ) -> Answering<'a, Branches> {
        Box::pin(history::branches(&self.0, turn, repo, paging))
    }

    fn pull_requests<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        wanted: Wanted,
        paging: Paging,
    ) -> Answering<'a, Pulls> {
        Box::pin(pulls::list(&self.0, turn, repo, wanted, paging))
    }

    fn pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        number: u64,
    ) -> Answering<'a, PullRequest> {
        Box::pin(pulls::one(&self.0, turn, repo, number))
    }

    fn checks<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        sha: &'a str,
    ) -> Answering<'a, Checks> {
        Box::pin(checks::checks(&self.0, turn, repo, sha))
    }

    fn create_pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        new: &'a NewPull,
    ) -> Answering<'a, PullRequest> {
        Box::pin(pull_changes::create(&self.0, turn, repo, new))
    }

    fn update_pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        number: u64,
        change: &'a PullChange,
    ) -> Answering<'a, PullRequest> {
        Box::pin(pull_changes::update(&self.0, turn, repo, number, change))
    }

    fn merge<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        order: &'a MergeOrder,
    ) -> Answering<'a, Merged> {
        Box::pin(pull_changes::merge(&self.0, turn, repo, order))
    }

    fn delete_branch<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
    ) -> Answering<'a, ()> {
        Box::pin(branching::delete(&self.0, turn, repo, branch))
    }

    fn commit_files<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> Answering<'a, Committed> {
        Box::pin(committing::commit(
            &self.0, turn, repo, branch, message, files,
        ))
    }

    fn create_branch<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
        from: &'a Revision,
    ) -> Answering<'a, Branch> {
        Box::pin(branching::create(&self.0, turn, repo, branch, from))
    }

    fn details<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> Answering<'a, Details> {
        Box::pin(pulls::details(&self.0, turn, repo, pull, most))
    }
}
