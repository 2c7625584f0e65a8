//! Reads trees, commits and branches.

use super::api::Api;
use super::exchange_failure::ExchangeFailure;
use super::raw_types::{RawBranch, RawCommit, RawEntry, RawTree};
use super::repositories::repository;
use super::requests::GithubRead;
use super::revisions;
use super::route::Route;
use crate::{
    BackendContext, Branch, BranchPage, Commit, CommitPage, Failure, MissingItem, Paging, RepoName,
    Revision, Tree, TreeItem,
};

pub(super) async fn tree(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    at: &Revision,
    most: usize,
) -> Result<Tree, Failure> {
    let name = revisions::name(api, context, repo, at).await?;
    let commit = revisions::resolve(api, context, repo, at, &name).await?;
    let route = Route::of(repo).then("git/trees").name(&commit.tree);
    let request = GithubRead::new(route.query("recursive", "1"), revisions::missing(at));
    let found: RawTree = api.read_json(context, request).await?;
    let total = found.tree.len();
    let entries = found.tree.into_iter().take(most).map(entry);
    Ok(Tree {
        at: name,
        sha: found.sha,
        total: total as u64,
        truncated: found.truncated || total > most,
        entries: entries.collect::<Result<_, _>>()?,
    })
}

fn entry(raw: RawEntry) -> Result<TreeItem, Failure> {
    let kind = match raw.kind.as_str() {
        "blob" => "blob",
        "tree" => "tree",
        "commit" => "commit",
        _ => return Err(ExchangeFailure::nonsense("an entry of an unknown type").into()),
    };
    Ok(TreeItem {
        path: raw.path,
        kind,
        size: raw.size,
        mode: raw.mode,
    })
}

pub(super) async fn commits(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    from: &Revision,
    paging: Paging,
) -> Result<CommitPage, Failure> {
    let route = Route::of(repo).then("commits");
    let route = match revisions::parameter(from) {
        Some(value) => route.query("sha", &value),
        None => route,
    };
    let route = route.page(paging.page, paging.per_page);
    let reply = api
        .read(context, GithubRead::new(route, revisions::missing(from)))
        .await?;
    let commits: Vec<RawCommit> = reply.json()?;
    Ok(CommitPage {
        commits: commits.into_iter().map(Commit::from).collect(),
        more: reply.more,
    })
}

pub(super) async fn branches(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    paging: Paging,
) -> Result<BranchPage, Failure> {
    let default = repository(api, context, repo).await?.default_branch;
    let route = Route::of(repo).then("branches");
    let route = route.page(paging.page, paging.per_page);
    let reply = api
        .read(context, GithubRead::new(route, MissingItem::Repository))
        .await?;
    let branches: Vec<RawBranch> = reply.json()?;
    Ok(BranchPage {
        branches: branches.into_iter().map(Branch::from).collect(),
        default,
        more: reply.more,
    })
}
