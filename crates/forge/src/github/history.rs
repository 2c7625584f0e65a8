//! Trees, commits and branches, read.

use super::api::Api;
use super::ask::Ask;
use super::broken::Broken;
use super::repositories::repository;
use super::revisions;
use super::route::Route;
use super::shapes::{RawBranch, RawCommit, RawEntry, RawTree};
use crate::{
    Branch, Branches, Commit, Commits, Entry, Failure, Missing, Paging, RepoName, Revision, Tree,
    Turn,
};

pub(super) async fn tree(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    at: &Revision,
    most: usize,
) -> Result<Tree, Failure> {
    let name = revisions::name(api, turn, repo, at).await?;
    let commit = revisions::resolve(api, turn, repo, at, &name).await?;
    let route = Route::of(repo).then("git/trees").name(&commit.tree);
    let ask = Ask::new(route.query("recursive", "1"), revisions::missing(at));
    let found: RawTree = api.read_json(turn, ask).await?;
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

fn entry(raw: RawEntry) -> Result<Entry, Failure> {
    let kind = match raw.kind.as_str() {
        "blob" => "blob",
        "tree" => "tree",
        "commit" => "commit",
        _ => return Err(Broken::nonsense("an entry of an unknown type").into()),
    };
    Ok(Entry {
        path: raw.path,
        kind,
        size: raw.size,
        mode: raw.mode,
    })
}

pub(super) async fn commits(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    from: &Revision,
    paging: Paging,
) -> Result<Commits, Failure> {
    let route = Route::of(repo).then("commits");
    let route = match revisions::parameter(from) {
        Some(value) => route.query("sha", &value),
        None => route,
    };
    let route = route.page(paging.page, paging.per_page);
    let reply = api
        .read(turn, Ask::new(route, revisions::missing(from)))
        .await?;
    let commits: Vec<RawCommit> = reply.json()?;
    Ok(Commits {
        commits: commits.into_iter().map(Commit::from).collect(),
        more: reply.more,
    })
}

pub(super) async fn branches(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    paging: Paging,
) -> Result<Branches, Failure> {
    let default = repository(api, turn, repo).await?.default_branch;
    let route = Route::of(repo).then("branches");
    let route = route.page(paging.page, paging.per_page);
    let reply = api.read(turn, Ask::new(route, Missing::Repository)).await?;
    let branches: Vec<RawBranch> = reply.json()?;
    Ok(Branches {
        branches: branches.into_iter().map(Branch::from).collect(),
        default,
        more: reply.more,
    })
}
