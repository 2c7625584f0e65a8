//! Branches, changed: made and deleted.

use super::api::Api;
use super::ask::{Ask, Change};
use super::revisions;
use super::route::Route;
use super::shapes::{RawBranch, RawRef};
use crate::{Answered, Branch, Failure, Missing, RepoName, Revision, Step, Turn, Unmet};
use candor_http_client::Method;
use serde_json::json;

/// The commit that a branch is at.
pub(super) async fn head(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    branch: &str,
) -> Result<String, Failure> {
    let route = Route::of(repo).then("git/ref/heads").names(branch);
    let ask = Ask::new(route, Missing::Branch(branch.to_owned()));
    let found: RawRef = api.read_json(turn, ask).await?;
    Ok(found.object.sha)
}

pub(super) async fn create(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    branch: &str,
    from: &Revision,
) -> Result<Branch, Failure> {
    let name = revisions::name(api, turn, repo, from).await?;
    let commit = revisions::resolve(api, turn, repo, from, &name).await?;
    let change = Change {
        method: Method::POST,
        route: Route::of(repo).then("git/refs"),
        body: Some(json!({ "ref": format!("refs/heads/{branch}"), "sha": commit.sha })),
        step: Step::Write,
        missing: Missing::Repository,
    };
    match api.change(turn, change).await {
        Ok(reply) => {
            let made: RawRef = reply.json()?;
            Ok(Branch {
                name: branch.to_owned(),
                protected: protected(api, turn, repo, branch).await,
                sha: made.object.sha,
            })
        }
        Err(failure @ Failure::Answered(Answered { status: 422, .. })) => {
            match head(api, turn, repo, branch).await {
                Ok(_) => Err(Unmet::BranchExists(branch.to_owned()).into()),
                Err(_) => Err(failure),
            }
        }
        Err(failure) => Err(failure),
    }
}

/// Whether a rule already covers a branch that was just made. The branch is there whatever this
/// comes to, so where it cannot be had it is not claimed.
async fn protected(api: &Api, turn: &Turn, repo: &RepoName, branch: &str) -> bool {
    let route = Route::of(repo).then("branches").names(branch);
    let ask = Ask::new(route, Missing::Branch(branch.to_owned()));
    let found: Result<RawBranch, Failure> = api.read_json(turn, ask).await;
    found.is_ok_and(|raw| Branch::from(raw).protected)
}

pub(super) async fn delete(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    branch: &str,
) -> Result<(), Failure> {
    let change = Change {
        method: Method::DELETE,
        route: Route::of(repo).then("git/refs/heads").names(branch),
        body: None,
        step: Step::Write,
        missing: Missing::Branch(branch.to_owned()),
    };
    api.change(turn, change).await.map(drop)
}
