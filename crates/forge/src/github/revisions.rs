//! What a revision is called in a query, and which commit it is.

use super::api::Api;
use super::ask::Ask;
use super::repositories::repository;
use super::route::Route;
use super::shapes::RawCommit;
use crate::{Answered, Failure, Missing, RepoName, Revision, Turn};

/// What a revision is called: by the caller, or by the repository where it is the default branch.
pub(super) async fn name(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    at: &Revision,
) -> Result<String, Failure> {
    match at {
        Revision::Default => Ok(repository(api, turn, repo).await?.default_branch),
        Revision::Branch(name) | Revision::Named(name) | Revision::Commit(name) => Ok(name.clone()),
    }
}

/// The value of a parameter that takes any ref; nothing for the default branch.
pub(super) fn parameter(at: &Revision) -> Option<String> {
    match at {
        Revision::Default => None,
        // In full, because a tag of the same name would come first.
        Revision::Branch(name) => Some(format!("refs/heads/{name}")),
        Revision::Named(name) | Revision::Commit(name) => Some(name.clone()),
    }
}

/// What is missing where a revision cannot be found.
pub(super) fn missing(at: &Revision) -> Missing {
    match at {
        Revision::Default => Missing::Repository,
        Revision::Branch(name) => Missing::Branch(name.clone()),
        Revision::Named(name) | Revision::Commit(name) => Missing::Revision(name.clone()),
    }
}

/// A commit and its tree.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) sha: String,
    pub(super) tree: String,
}

/// The commit that a revision is; `name` is what the revision is called.
pub(super) async fn resolve(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    at: &Revision,
    name: &str,
) -> Result<Resolved, Failure> {
    let commits = Route::of(repo).then("commits");
    let route = match at {
        Revision::Default | Revision::Branch(_) => commits.then("heads").names(name),
        Revision::Named(_) | Revision::Commit(_) => commits.names(name),
    };
    // The commit comes with the files that it changes; one of them is the least there is to have.
    let ask = Ask::new(route.page(1, 1), missing(at));
    let found: Result<RawCommit, Failure> = api.read_json(turn, ask).await;
    let found = found.map_err(|failure| unfound(failure, missing(at)))?;
    // A branch or tag may be called like the digits of a commit.
    if let Revision::Commit(digits) = at
        && !found.sha.starts_with(&digits.to_ascii_lowercase())
    {
        return Err(missing(at).into());
    }
    Ok(Resolved {
        sha: found.sha,
        tree: found.commit.tree.sha,
    })
}

/// Where a commit is asked for by name, 422 says that there is none of this name.
pub(super) fn unfound(failure: Failure, missing: Missing) -> Failure {
    match failure {
        Failure::Answered(Answered { status: 422, .. }) => Failure::Missing(missing),
        other => other,
    }
}
