//! Brings the branch of a pull request up to date, names the paths that both sides changed, and reverts a
//! merged pull request.

use super::api::Api;
use super::comparison::compare;
use super::graphql;
use super::pulls::{one, route};
use super::raw_types::Number;
use super::requests::{GithubRead, GithubWrite};
use super::route::Route;
use crate::{
    BackendContext, ComparedRevisions, Comparison, ConflictReport, Failure, GithubErrorResponse,
    MissingItem, Paging, PullRequest, RepoName, RequestKind, RevertInstruction, UnmergeablePull,
    UnmergeableReason, UnmetPrecondition, UpdatedBranch,
};
use candor_http_client::Method;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// The waits for the new head: GitHub merges after it has answered. About five seconds in total.
const WAITS: [Duration; 5] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_millis(1000),
    Duration::from_millis(1500),
    Duration::from_millis(1750),
];

/// Compares two revisions of the repository; only counts and files are used.
async fn compared(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    base: &str,
    head: &str,
) -> Result<Comparison, Failure> {
    let revisions = ComparedRevisions {
        base: base.to_owned(),
        head_owner: None,
        head: head.to_owned(),
    };
    let paging = Paging {
        page: 1,
        per_page: 1,
    };
    compare(api, context, repo, &revisions, paging).await
}

/// Returns the paths that both sides changed since their merge base.
pub(super) async fn conflicts(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    pull: &PullRequest,
) -> Result<ConflictReport, Failure> {
    let paths = |comparison: Comparison| -> BTreeSet<String> {
        let files = comparison.changes.files.into_iter();
        let names = files.flat_map(|file| file.previous_path.into_iter().chain([file.path]));
        names.collect()
    };
    let ours = compared(api, context, repo, &pull.head_sha, &pull.base).await?;
    let theirs = compared(api, context, repo, &pull.base, &pull.head_sha).await?;
    let theirs = paths(theirs);
    let both = paths(ours).into_iter().filter(|path| theirs.contains(path));
    Ok(ConflictReport {
        conflicts: None,
        changed_on_both: Some(both.collect()),
    })
}

pub(super) async fn update(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    pull: &PullRequest,
) -> Result<UpdatedBranch, Failure> {
    let updated = |head_sha: &str, updated: bool, pending: bool| UpdatedBranch {
        updated,
        pending,
        previous_head_sha: pull.head_sha.clone(),
        head_sha: head_sha.to_owned(),
    };
    let before = compared(api, context, repo, &pull.base, &pull.head_sha).await?;
    if before.behind_by == 0 {
        return Ok(updated(&pull.head_sha, false, false));
    }
    let change = GithubWrite {
        method: Method::PUT,
        route: route(repo, pull.number).then("update-branch"),
        body: Some(json!({ "expected_head_sha": pull.head_sha })),
        step: RequestKind::Write,
        missing: MissingItem::PullRequest(pull.number),
    };
    match api.change(context, change).await {
        Ok(_) => {}
        Err(failure @ Failure::GithubErrorResponse(GithubErrorResponse { status: 422, .. })) => {
            return Err(explain(api, context, repo, pull, failure).await);
        }
        Err(failure) => return Err(failure),
    }
    for wait in WAITS {
        if context.deadline.remaining() <= wait {
            break;
        }
        tokio::time::sleep(wait).await;
        // The branch is updated in any case; only its new head may be unreadable.
        match one(api, context, repo, pull.number).await {
            Ok(now) if now.head_sha != pull.head_sha => {
                return Ok(updated(&now.head_sha, true, false));
            }
            _ => {}
        }
    }
    Ok(updated(&pull.head_sha, true, true))
}

/// Decides a refusal by reading the pull request again.
async fn explain(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    pull: &PullRequest,
    refusal: Failure,
) -> Failure {
    let Ok(now) = one(api, context, repo, pull.number).await else {
        return refusal;
    };
    if now.head_sha != pull.head_sha {
        return Failure::BranchHeadMoved {
            expected: pull.head_sha.clone(),
            actual: Some(now.head_sha),
        };
    }
    if now.mergeable_state.as_deref() != Some("dirty") {
        return refusal;
    }
    let Failure::GithubErrorResponse(response) = refusal else {
        return refusal;
    };
    Failure::Unmergeable(UnmergeablePull {
        number: pull.number,
        reason: UnmergeableReason::Conflict,
        state: now.mergeable_state.clone(),
        failing_checks: Vec::new(),
        response: Some(Box::new(response)),
        conflicts: conflicts(api, context, repo, &now).await.ok().map(Box::new),
    })
}

pub(super) async fn revert(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    order: &RevertInstruction,
) -> Result<PullRequest, Failure> {
    let pull = &order.pull;
    if !pull.merged {
        return Err(UnmetPrecondition::NotMerged(pull.number).into());
    }
    if let Some(number) = standing(api, context, repo, pull).await? {
        return Err(UnmetPrecondition::RevertExists(number).into());
    }
    context.mark.begins()?;
    let made = graphql::revert(api, context, order).await;
    let made = made.map_err(|failed| failed.into_failure(context))?;
    context.mark.done();
    let read = one(api, context, repo, made).await;
    read.map_err(|failure| Failure::Partly {
        done: "the pull request that reverts it was opened",
        rest: Box::new(failure),
    })
}

/// Returns the open pull request that reverts the same one. GitHub names its branch.
async fn standing(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    pull: &PullRequest,
) -> Result<Option<u64>, Failure> {
    let head = format!("{}:revert-{}-{}", repo.owner(), pull.number, pull.head);
    let route = Route::of(repo)
        .then("pulls")
        .query("state", "open")
        .query("head", &head)
        .query("base", &pull.base)
        .page(1, 1);
    let request = GithubRead::new(route, MissingItem::Repository);
    let found: Vec<Number> = api.read_json(context, request).await?;
    Ok(found.first().map(|pull| pull.number))
}
