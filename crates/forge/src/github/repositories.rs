//! Searches and reads repositories and their READMEs.

use super::api::Api;
use super::raw_types::{RawFound, RawRepository};
use super::requests::{GithubRead, RAW};
use super::route::Route;
use crate::{
    BackendContext, Failure, GithubErrorResponse, MissingItem, Paging, RepoName, Repository,
    RepositoryPage,
};
use candor_http_client::BodyLimit;

pub(super) async fn search(
    api: &Api,
    context: &BackendContext,
    query: &str,
    paging: Paging,
) -> Result<RepositoryPage, Failure> {
    let route = Route::root("search/repositories")
        .query("q", query)
        .page(paging.page, paging.per_page);
    let request = GithubRead::new(route, MissingItem::Repository);
    let found: RawFound = api.read_json(context, request).await?;
    let repositories = found.items.into_iter().map(RawRepository::into_model);
    Ok(RepositoryPage {
        repositories: repositories.collect::<Result<_, _>>()?,
        total_count: found.total_count,
        incomplete: found.incomplete_results,
    })
}

pub(super) async fn repository(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
) -> Result<Repository, Failure> {
    let request = GithubRead::new(Route::of(repo), MissingItem::Repository);
    let found: RawRepository = api.read_json(context, request).await?;
    found.into_model()
}

pub(super) async fn readme(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    most: u64,
) -> Result<Option<(Vec<u8>, bool)>, Failure> {
    // The repository was read before, so a 404 refers to the README.
    let request = GithubRead::new(Route::of(repo).then("readme"), MissingItem::Repository)
        .with_accept(RAW)
        .with_limit(BodyLimit::Prefix(most));
    match api.read(context, request).await {
        Ok(reply) => Ok(Some((reply.bytes.to_vec(), reply.truncated))),
        Err(Failure::GithubErrorResponse(GithubErrorResponse { status: 404, .. })) => Ok(None),
        Err(failure) => Err(failure),
    }
}
