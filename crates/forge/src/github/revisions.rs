//! Resolves revisions.

use super::api::Api;
use super::raw_types::RawCommit;
use super::repositories::repository;
use super::requests::GithubRead;
use super::route::Route;
use crate::{BackendContext, Failure, GithubErrorResponse, MissingItem, RepoName, Revision};

/// Returns the name of a revision: the caller's, or that of the default branch.
pub(super) async fn name(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    at: &Revision,
) -> Result<String, Failure> {
    match at {
        Revision::Default => Ok(repository(api, context, repo).await?.default_branch),
        Revision::Branch(name) | Revision::Named(name) | Revision::Commit(name) => Ok(name.clone()),
    }
}

/// Returns the value of a parameter that takes any ref, and `None` for the default branch.
pub(super) fn parameter(at: &Revision) -> Option<String> {
    match at {
        Revision::Default => None,
        // In full, because GitHub would prefer a tag of the same name.
        Revision::Branch(name) => Some(format!("refs/heads/{name}")),
        Revision::Named(name) | Revision::Commit(name) => Some(name.clone()),
    }
}

/// Returns the missing item of a revision that does not exist.
pub(super) fn missing(at: &Revision) -> MissingItem {
    match at {
        Revision::Default => MissingItem::Repository,
        Revision::Branch(name) => MissingItem::Branch(name.clone()),
        Revision::Named(name) | Revision::Commit(name) => MissingItem::Revision(name.clone()),
    }
}

/// A commit and its tree.
#[derive(Debug)]
pub(super) struct ResolvedCommit {
    pub(super) sha: String,
    pub(super) tree: String,
}

/// Resolves a revision with this name to a commit.
pub(super) async fn resolve(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    at: &Revision,
    name: &str,
) -> Result<ResolvedCommit, Failure> {
    let commits = Route::of(repo).then("commits");
    let route = match at {
        Revision::Default | Revision::Branch(_) => commits.then("heads").names(name),
        Revision::Named(_) | Revision::Commit(_) => commits.names(name),
    };
    // GitHub adds the files of the commit; one is the minimum.
    let request = GithubRead::new(route.page(1, 1), missing(at));
    let found: Result<RawCommit, Failure> = api.read_json(context, request).await;
    let found = found.map_err(|failure| unfound(failure, missing(at)))?;
    // A branch or tag may have a name like the digits of a commit.
    if let Revision::Commit(digits) = at
        && !found.sha.starts_with(&digits.to_ascii_lowercase())
    {
        return Err(missing(at).into());
    }
    Ok(ResolvedCommit {
        sha: found.sha,
        tree: found.commit.tree.sha,
    })
}

/// Maps the 422 for a commit that does not exist.
pub(super) fn unfound(failure: Failure, missing: MissingItem) -> Failure {
    match failure {
        Failure::GithubErrorResponse(GithubErrorResponse { status: 422, .. }) => {
            Failure::Missing(missing)
        }
        other => other,
    }
}
