//! Creates and deletes branches.

use super::api::Api;
use super::raw_types::{RawBranch, RawRef};
use super::requests::{GithubRead, GithubWrite};
use super::revisions;
use super::route::Route;
use crate::{
    BackendContext, Branch, Failure, GithubErrorResponse, MissingItem, RepoName, RequestKind,
    Revision, UnmetPrecondition,
};
use candor_http_client::Method;
use serde_json::json;

/// Returns the commit of a branch.
pub(super) async fn head(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    branch: &str,
) -> Result<String, Failure> {
    let route = Route::of(repo).then("git/ref/heads").names(branch);
    let request = GithubRead::new(route, MissingItem::Branch(branch.to_owned()));
    let found: RawRef = api.read_json(context, request).await?;
    Ok(found.object.sha)
}

pub(super) async fn create(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    branch: &str,
    from: &Revision,
) -> Result<Branch, Failure> {
    let name = revisions::name(api, context, repo, from).await?;
    let commit = revisions::resolve(api, context, repo, from, &name).await?;
    let change = GithubWrite {
        method: Method::POST,
        route: Route::of(repo).then("git/refs"),
        body: Some(json!({ "ref": format!("refs/heads/{branch}"), "sha": commit.sha })),
        step: RequestKind::Write,
        missing: MissingItem::Repository,
    };
    match api.change(context, change).await {
        Ok(reply) => {
            let made: RawRef = reply.json()?;
            Ok(Branch {
                name: branch.to_owned(),
                protected: protected(api, context, repo, branch).await,
                sha: made.object.sha,
            })
        }
        Err(failure @ Failure::GithubErrorResponse(GithubErrorResponse { status: 422, .. })) => {
            match head(api, context, repo, branch).await {
                Ok(_) => Err(UnmetPrecondition::BranchExists(branch.to_owned()).into()),
                Err(_) => Err(failure),
            }
        }
        Err(failure) => Err(failure),
    }
}

/// Returns true if a rule protects a branch that was just created. Returns false if that cannot be read:
/// the branch exists in any case.
async fn protected(api: &Api, context: &BackendContext, repo: &RepoName, branch: &str) -> bool {
    let route = Route::of(repo).then("branches").names(branch);
    let request = GithubRead::new(route, MissingItem::Branch(branch.to_owned()));
    let found: Result<RawBranch, Failure> = api.read_json(context, request).await;
    found.is_ok_and(|raw| Branch::from(raw).protected)
}

pub(super) async fn delete(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    branch: &str,
) -> Result<(), Failure> {
    let change = GithubWrite {
        method: Method::DELETE,
        route: Route::of(repo).then("git/refs/heads").names(branch),
        body: None,
        step: RequestKind::Write,
        missing: MissingItem::Branch(branch.to_owned()),
    };
    api.change(context, change).await.map(drop)
}
