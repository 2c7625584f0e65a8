//! Filters history, makes repositories and deletes branches.

use super::GithubForge;
use super::api::Api;
use super::branch_changes;
use super::raw_types::{RawBranch, RawCommit, RawRepository};
use super::repositories::repository;
use super::requests::{GithubRead, GithubWrite};
use super::revisions;
use super::route::Route;
use crate::{
    BackendContext, BackendFuture, Branch, Commit, CommitFilter, Failure, FilteredCommits,
    GithubErrorResponse, MissingItem, NewRepository, Paging, RepoName, Repository, RepositoryForge,
    RequestKind, Revision, UnmetPrecondition,
};
use candor_http_client::Method;
use serde::Deserialize;
use serde_json::json;

async fn filtered_commits(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    from: &Revision,
    filter: &CommitFilter,
    paging: Paging,
) -> Result<FilteredCommits, Failure> {
    let mut route = Route::of(repo).then("commits");
    if let Some(value) = revisions::parameter(from) {
        route = route.query("sha", &value);
    }
    for (key, value) in [
        ("path", &filter.path),
        ("author", &filter.author),
        ("since", &filter.since),
        ("until", &filter.until),
    ] {
        if let Some(value) = value {
            route = route.query(key, value);
        }
    }
    let route = route.page(paging.page, paging.per_page);
    let request = GithubRead::new(route, revisions::missing(from));
    let reply = api.read(context, request).await?;
    let commits: Vec<RawCommit> = reply.json()?;
    Ok(FilteredCommits {
        commits: commits.into_iter().map(Commit::from).collect(),
        more: reply.more,
        truncated: false,
    })
}

/// Deletes a branch. GitHub cannot be told which head to delete, so a branch that moves between the look
/// and the deletion is deleted with its new head.
async fn delete_branch(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    branch: &str,
    expected: Option<&str>,
) -> Result<String, Failure> {
    let default = repository(api, context, repo).await?.default_branch;
    let route = Route::of(repo).then("branches").names(branch);
    let request = GithubRead::new(route, MissingItem::Branch(branch.to_owned()));
    let found: RawBranch = api.read_json(context, request).await?;
    let found = Branch::from(found);
    if default == branch {
        return Err(UnmetPrecondition::DefaultBranch(branch.to_owned()).into());
    }
    if found.protected {
        return Err(UnmetPrecondition::BranchProtected(branch.to_owned()).into());
    }
    if let Some(expected) = expected.filter(|expected| !found.sha.starts_with(expected)) {
        return Err(Failure::BranchHeadMoved {
            expected: expected.to_owned(),
            actual: Some(found.sha),
        });
    }
    match branch_changes::delete(api, context, repo, branch).await {
        Ok(()) => Ok(found.sha),
        // GitHub calls a ref that is gone meanwhile invalid.
        Err(failure @ Failure::GithubErrorResponse(GithubErrorResponse { status: 422, .. })) => {
            match branch_changes::head(api, context, repo, branch).await {
                Ok(_) => Err(failure),
                Err(_) => Err(MissingItem::Branch(branch.to_owned()).into()),
            }
        }
        Err(failure) => Err(failure),
    }
}

#[derive(Debug, Deserialize)]
struct RawLogin {
    login: String,
}

/// Returns true if an account is the token's own. An app has none.
async fn is_own_account(api: &Api, context: &BackendContext, owner: &str) -> Result<bool, Failure> {
    let request = GithubRead::new(Route::root("user"), MissingItem::Repository);
    match api.read_json::<RawLogin>(context, request).await {
        Ok(own) => Ok(own.login.eq_ignore_ascii_case(owner)),
        Err(Failure::GithubErrorResponse(response))
            if response.status == 403 && !response.limited =>
        {
            Ok(false)
        }
        Err(failure) => Err(failure),
    }
}

async fn create_repository(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    new: &NewRepository,
) -> Result<Repository, Failure> {
    let route = match is_own_account(api, context, repo.owner()).await? {
        true => Route::root("user/repos"),
        false => Route::root("orgs").name(repo.owner()).then("repos"),
    };
    let mut body = json!({ "name": repo.name(), "private": new.private, "auto_init": new.init });
    if let Some(description) = &new.description {
        body["description"] = json!(description);
    }
    let change = GithubWrite {
        method: Method::POST,
        route,
        body: Some(body),
        step: RequestKind::Write,
        missing: MissingItem::Account(repo.owner().to_owned()),
    };
    match api.change(context, change).await {
        Ok(reply) => reply.json::<RawRepository>()?.into_model(),
        Err(failure @ Failure::GithubErrorResponse(GithubErrorResponse { status: 422, .. })) => {
            match repository(api, context, repo).await {
                Ok(there) => Err(UnmetPrecondition::RepositoryExists(there.name).into()),
                Err(_) => Err(failure),
            }
        }
        Err(failure) => Err(failure),
    }
}

impl RepositoryForge for GithubForge {
    fn filtered_commits<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        from: &'a Revision,
        filter: &'a CommitFilter,
        paging: Paging,
    ) -> BackendFuture<'a, FilteredCommits> {
        self.filtered(filtered_commits(
            &self.0, context, repo, from, filter, paging,
        ))
    }

    fn delete_branch_at<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        expected: Option<&'a str>,
    ) -> BackendFuture<'a, String> {
        self.filtered(delete_branch(&self.0, context, repo, branch, expected))
    }

    fn create_repository<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewRepository,
    ) -> BackendFuture<'a, Repository> {
        self.filtered(create_repository(&self.0, context, repo, new))
    }
}
