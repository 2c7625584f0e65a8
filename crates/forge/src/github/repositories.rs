//! Repositories: found, looked at, and their READMEs.

use super::api::Api;
use super::ask::{Ask, RAW};
use super::route::Route;
use super::shapes::{RawFound, RawRepository};
use crate::{Answered, Failure, Found, Missing, Paging, RepoName, Repository, Turn};
use candor_http_client::BodyLimit;

pub(super) async fn search(
    api: &Api,
    turn: &Turn,
    query: &str,
    paging: Paging,
) -> Result<Found, Failure> {
    let route = Route::root("search/repositories")
        .query("q", query)
        .page(paging.page, paging.per_page);
    let ask = Ask::new(route, Missing::Repository);
    let found: RawFound = api.read_json(turn, ask).await?;
    let repositories = found.items.into_iter().map(RawRepository::into_model);
    Ok(Found {
        repositories: repositories.collect::<Result<_, _>>()?,
        total_count: found.total_count,
        incomplete: found.incomplete_results,
    })
}

pub(super) async fn repository(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
) -> Result<Repository, Failure> {
    let ask = Ask::new(Route::of(repo), Missing::Repository);
    let found: RawRepository = api.read_json(turn, ask).await?;
    found.into_model()
}

pub(super) async fn readme(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    most: u64,
) -> Result<Option<(Vec<u8>, bool)>, Failure> {
    // A README is asked for of a repository that was found: a 404 is about the README alone.
    let ask = Ask::new(Route::of(repo).then("readme"), Missing::Repository)
        .accepting(RAW)
        .with_limit(BodyLimit::Prefix(most));
    match api.read(turn, ask).await {
        Ok(reply) => Ok(Some((reply.bytes.to_vec(), reply.truncated))),
        Err(Failure::Answered(Answered { status: 404, .. })) => Ok(None),
        Err(failure) => Err(failure),
    }
}
