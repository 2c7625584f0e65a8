//! Compares two revisions, and reads one commit with its changes.

use super::GithubForge;
use super::api::Api;
use super::code_search;
use super::exchange_failure::ExchangeFailure;
use super::raw_types::{RawCommit, RawFile};
use super::requests::GithubRead;
use super::revisions::{self, unfound};
use super::route::Route;
use crate::{
    BackendContext, BackendFuture, CodePage, CodeQuery, Commit, CommitDetails, ComparedRevisions,
    Comparison, ComparisonStatus, Failure, FileChange, FileChanges, GithubErrorResponse,
    HistoryForge, MAX_COMPARED_FILES, MAX_PATCH_BYTES, MissingItem, Paging, RepoName, Revision,
    UnmetPrecondition,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct RawComparison {
    status: String,
    ahead_by: u64,
    behind_by: u64,
    base_commit: RawCommit,
    merge_base_commit: RawCommit,
    #[serde(default)]
    commits: Vec<RawCommit>,
    files: Option<Vec<RawFile>>,
}

#[derive(Debug, Deserialize)]
struct RawDetails {
    #[serde(flatten)]
    commit: RawCommit,
    stats: Option<RawStats>,
    files: Option<Vec<RawFile>>,
}

#[derive(Debug, Deserialize)]
struct RawStats {
    additions: u64,
    deletions: u64,
}

/// Returns the files in the order of their paths, with whole patches as long as they fit. GitHub itself
/// leaves out the patches of large changes.
fn fitted(mut files: Vec<RawFile>, is_cut: bool) -> FileChanges {
    files.sort_by(|left, right| left.filename.cmp(&right.filename));
    let mut truncated = is_cut || files.len() > MAX_COMPARED_FILES;
    files.truncate(MAX_COMPARED_FILES);
    let mut room = MAX_PATCH_BYTES;
    let files = files.into_iter().map(|file| {
        truncated |= file.patch.is_none() && file.additions + file.deletions > 0;
        let patch = file.patch.filter(|patch| {
            let rest = room.checked_sub(patch.len());
            room = rest.unwrap_or(room);
            truncated |= rest.is_none();
            rest.is_some()
        });
        FileChange {
            path: file.filename,
            previous_path: file.previous_filename,
            status: file.status,
            additions: file.additions,
            deletions: file.deletions,
            patch,
        }
    });
    let files = files.collect();
    FileChanges { files, truncated }
}

/// Reads a page of a comparison.
async fn read(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    revisions: &ComparedRevisions,
    paging: Paging,
) -> Result<RawComparison, Failure> {
    let ComparedRevisions {
        base,
        head_owner,
        head,
    } = revisions;
    let both = match head_owner {
        Some(owner) => format!("{base}...{owner}:{head}"),
        None => format!("{base}...{head}"),
    };
    let route = Route::of(repo).then("compare").name(&both);
    let route = route.page(paging.page, paging.per_page);
    let missing = MissingItem::Revision(both.clone());
    let read = api
        .read_json(context, GithubRead::new(route, missing))
        .await;
    match read {
        Err(Failure::GithubErrorResponse(response)) if response.status == 404 => {
            Err(explain(api, context, repo, revisions, response).await)
        }
        other => other,
    }
}

/// Finds out which revision a 404 refers to. GitHub answers it too if there is no common history.
async fn explain(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    revisions: &ComparedRevisions,
    mut response: GithubErrorResponse,
) -> Failure {
    if response.missing == MissingItem::Repository {
        return Failure::GithubErrorResponse(response);
    }
    let own_head = revisions.head_owner.is_none().then_some(&revisions.head);
    for name in [Some(&revisions.base), own_head].into_iter().flatten() {
        let at = Revision::Named(name.clone());
        match revisions::resolve(api, context, repo, &at, name).await {
            Ok(_) => {}
            Err(
                Failure::Missing(_)
                | Failure::GithubErrorResponse(GithubErrorResponse { status: 404, .. }),
            ) => {
                response.missing = revisions::missing(&at);
                return Failure::GithubErrorResponse(response);
            }
            Err(failure) => return failure,
        }
    }
    match own_head {
        Some(_) => UnmetPrecondition::Unrelated.into(),
        None => {
            response.missing = MissingItem::Revision(revisions.head.clone());
            Failure::GithubErrorResponse(response)
        }
    }
}

pub(super) async fn compare(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    revisions: &ComparedRevisions,
    paging: Paging,
) -> Result<Comparison, Failure> {
    let found = read(api, context, repo, revisions, paging).await?;
    let status = match found.status.as_str() {
        "ahead" => ComparisonStatus::Ahead,
        "behind" => ComparisonStatus::Behind,
        "diverged" => ComparisonStatus::Diverged,
        "identical" => ComparisonStatus::Identical,
        _ => return Err(ExchangeFailure::nonsense("a comparison of an unknown status").into()),
    };
    let shown = u64::from(paging.page) * u64::from(paging.per_page);
    let commits: Vec<Commit> = found.commits.into_iter().map(Commit::from).collect();
    let merge_base_sha = found.merge_base_commit.sha;
    let head_sha = match (found.ahead_by, commits.last()) {
        (0, _) => merge_base_sha.clone(),
        (ahead, Some(last)) if ahead <= shown => last.sha.clone(),
        (ahead, _) => last_commit(api, context, repo, revisions, ahead).await?,
    };
    let files = found.files.unwrap_or_default();
    let is_cut = files.len() >= MAX_COMPARED_FILES;
    Ok(Comparison {
        base_sha: found.base_commit.sha,
        head_sha,
        merge_base_sha,
        status,
        ahead_by: found.ahead_by,
        behind_by: found.behind_by,
        commits,
        more: found.ahead_by > shown,
        changes: match paging.page {
            1 => fitted(files, is_cut),
            _ => FileChanges::default(),
        },
    })
}

/// Returns the last of all commits of a comparison, which is the head.
async fn last_commit(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    revisions: &ComparedRevisions,
    ahead: u64,
) -> Result<String, Failure> {
    let paging = Paging {
        page: u32::try_from(ahead).unwrap_or(u32::MAX),
        per_page: 1,
    };
    let found = read(api, context, repo, revisions, paging).await?;
    let last = found.commits.into_iter().next();
    let last = last.ok_or_else(|| ExchangeFailure::nonsense("a comparison without its head"))?;
    Ok(last.sha)
}

async fn details(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    at: &Revision,
) -> Result<CommitDetails, Failure> {
    let name = revisions::name(api, context, repo, at).await?;
    let route = Route::of(repo).then("commits").names(&name);
    let request = GithubRead::new(route, revisions::missing(at));
    let reply = api.read(context, request).await;
    let reply = reply.map_err(|failure| unfound(failure, revisions::missing(at)))?;
    let found: RawDetails = reply.json()?;
    let stats = found.stats.unwrap_or(RawStats {
        additions: 0,
        deletions: 0,
    });
    Ok(CommitDetails {
        commit: found.commit.into(),
        additions: stats.additions,
        deletions: stats.deletions,
        changes: fitted(found.files.unwrap_or_default(), reply.more),
    })
}

impl HistoryForge for GithubForge {
    fn compare<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        revisions: &'a ComparedRevisions,
        paging: Paging,
    ) -> BackendFuture<'a, Comparison> {
        self.filtered(compare(&self.0, context, repo, revisions, paging))
    }

    fn commit_details<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        at: &'a Revision,
    ) -> BackendFuture<'a, CommitDetails> {
        self.filtered(details(&self.0, context, repo, at))
    }

    fn search_code<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a CodeQuery,
        paging: Paging,
    ) -> BackendFuture<'a, CodePage> {
        self.filtered(code_search::search(&self.0, context, repo, query, paging))
    }
}
