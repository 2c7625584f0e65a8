//! The tool `merge_pull_request`: merges the head that the caller has seen, or nothing.

use super::mergeability::wait_until_decided;
use super::{PullNumber, ToolSpec, number, write_tool};
use crate::fields::{self, answer, arguments, flag, one_of, repo, sha, text};
use crate::forge::BackendContext;
use crate::model::{CheckState, MergeInstruction, MergeMethod, PullRequest, PullState};
use crate::server::ForgeServer;
use crate::{Failure, RepoName, UnmergeablePull, UnmergeableReason};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
struct MergeArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    #[serde(default)]
    merge_method: MergeMethod,
    commit_title: Option<String>,
    commit_message: Option<String>,
    sha: Option<String>,
    #[serde(default)]
    delete_branch: bool,
}

#[derive(Serialize)]
struct MergeAnswer {
    number: u64,
    merged: bool,
    sha: String,
    merge_method: MergeMethod,
    head_sha: String,
    base: String,
    branch_deleted: bool,
}

/// Returns the reason against a merge that is in the pull request itself.
fn obstacle(pull: &PullRequest) -> Option<UnmergeableReason> {
    match (pull.state, pull.mergeable) {
        _ if pull.merged => Some(UnmergeableReason::Merged),
        (PullState::Closed, _) => Some(UnmergeableReason::Closed),
        _ if pull.draft => Some(UnmergeableReason::Draft),
        (_, Some(false)) => Some(match pull.mergeable_state.as_deref() {
            Some("blocked") => UnmergeableReason::Blocked,
            _ => UnmergeableReason::Conflict,
        }),
        (_, None) => Some(UnmergeableReason::Undecided),
        (_, Some(true)) => None,
    }
}

async fn merge(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: MergeArguments,
) -> Result<MergeAnswer, Failure> {
    let pull =
        wait_until_decided(&server, &context, &arguments.repo, number(arguments.number)).await?;
    // A stale SHA is reported first: the caller has not seen the head that cannot be merged.
    if let Some(expected) = arguments
        .sha
        .filter(|sha| !pull.head_sha.starts_with(sha.as_str()))
    {
        let actual = Some(pull.head_sha);
        return Err(Failure::HeadMoved {
            expected,
            actual,
            state: pull.mergeable_state,
        });
    }
    if let Some(reason) = obstacle(&pull) {
        let unmergeable = UnmergeablePull {
            number: pull.number,
            reason,
            state: None,
            failing_checks: Vec::new(),
            response: None,
            conflicts: None,
        };
        return Err(with_checks(&server, &context, &arguments.repo, &pull, unmergeable).await);
    }
    let order = MergeInstruction {
        number: pull.number,
        method: arguments.merge_method,
        title: arguments.commit_title.filter(|title| !title.is_empty()),
        message: arguments.commit_message,
        head_sha: pull.head_sha.clone(),
    };
    let merged = match server.forge.merge(&context, &arguments.repo, &order).await {
        Ok(merged) => merged,
        Err(Failure::Unmergeable(unmergeable)) => {
            return Err(with_checks(&server, &context, &arguments.repo, &pull, unmergeable).await);
        }
        Err(Failure::HeadMoved {
            expected, actual, ..
        }) => {
            return Err(Failure::HeadMoved {
                expected,
                actual,
                state: pull.mergeable_state,
            });
        }
        Err(failure) => return Err(failure),
    };
    let branch_deleted = arguments.delete_branch
        && delete_head_branch(&server, &context, &arguments.repo, &pull).await;
    Ok(MergeAnswer {
        number: pull.number,
        merged: true,
        sha: merged.sha,
        merge_method: arguments.merge_method,
        head_sha: pull.head_sha,
        base: pull.base,
        branch_deleted,
    })
}

/// Adds the last known state, the failing checks and the conflicting paths to a failure. If they cannot be read, the failure is
/// returned without them.
async fn with_checks(
    server: &ForgeServer,
    context: &BackendContext,
    repo: &RepoName,
    pull: &PullRequest,
    mut unmergeable: UnmergeablePull,
) -> Failure {
    if unmergeable.state.is_none() {
        unmergeable.state = pull.mergeable_state.clone();
    }
    if unmergeable.failing_checks.is_empty() {
        let looking = server.forge.checks(context, repo, &pull.head_sha);
        // After the deadline only the lookup is dropped.
        let found = context
            .deadline
            .run(looking)
            .await
            .ok()
            .and_then(Result::ok);
        let all = found.map(|found| found.checks).unwrap_or_default();
        let failing = all
            .into_iter()
            .filter(|check| check.state == CheckState::Failed);
        unmergeable.failing_checks = failing.map(|check| check.name).collect();
    }
    if unmergeable.reason == UnmergeableReason::Conflict && unmergeable.conflicts.is_none() {
        let looking = server.forge.conflicts(context, repo, pull);
        let found = context.deadline.run(looking).await;
        unmergeable.conflicts = found.ok().and_then(Result::ok).map(Box::new);
    }
    Failure::Unmergeable(unmergeable)
}

/// Deletes the merged branch and returns true if that worked. Never deletes the default branch, and no
/// branch if the head is in a fork: the local branch only has the same name.
async fn delete_head_branch(
    server: &ForgeServer,
    context: &BackendContext,
    repo: &RepoName,
    pull: &PullRequest,
) -> bool {
    if pull.head_repo.as_ref() != Some(repo) || pull.head == pull.base {
        return false;
    }
    match server.forge.repository(context, repo).await {
        Ok(repository) if repository.default_branch != pull.head => {}
        _ => return false,
    }
    server
        .forge
        .delete_branch(context, repo, &pull.head)
        .await
        .is_ok()
}

pub(super) fn merge_pull_request() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "merge_pull_request",
        description: "Merge a pull request. With `sha`, only if that is still its head. Ask get_pr_mergeability first; not for drafts or closed ones.",
        input: arguments(
            &["repo", "prNumber"],
            json!({
                "repo": repo(),
                "prNumber": fields::number(),
                "merge_method": one_of(&["merge", "squash", "rebase"], "merge if absent"),
                "commit_title": text(0, 256, "First line of the commit's message"),
                "commit_message": text(0, 10_000, "The rest of it"),
                "sha": sha("The head you have seen"),
                "delete_branch": flag("Delete the head branch afterwards; never the default branch, never for a fork")
            }),
        ),
        output: answer(
            json!({
                "number": { "type": "integer" },
                "merged": { "type": "boolean" },
                "sha": { "type": "string" },
                "merge_method": { "type": "string" },
                "head_sha": { "type": "string" },
                "base": { "type": "string" },
                "branch_deleted": { "type": "boolean" }
            }),
            &[],
        ),
    };
    write_tool(spec, merge)
}
