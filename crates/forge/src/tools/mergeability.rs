//! The tools `get_pr_mergeability` and `get_checks_for_sha`.

use super::{PullNumber, ToolSpec, number, read_tool};
use crate::fields::{self, answer, arguments, nullable, repo, sha};
use crate::forge::BackendContext;
use crate::model::{CheckSource, CheckState, CommitCheck, CommitChecks, PullRequest, PullState};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The waits between reads of a pull request that is not decided yet: about five seconds in total.
const WAITS: [Duration; 5] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_millis(1000),
    Duration::from_millis(1500),
    Duration::from_millis(1750),
];

/// Reads a pull request until `mergeable` is decided or the waits are over.
pub(super) async fn wait_until_decided(
    server: &ForgeServer,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
) -> Result<PullRequest, Failure> {
    let mut pull = server.forge.pull_request(context, repo, number).await?;
    for wait in WAITS {
        let undecided = pull.state == PullState::Open && pull.mergeable.is_none();
        if !undecided || context.deadline.remaining() <= wait {
            break;
        }
        tokio::time::sleep(wait).await;
        pull = server.forge.pull_request(context, repo, number).await?;
    }
    Ok(pull)
}

#[derive(Deserialize)]
struct MergeabilityArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
}

#[derive(Serialize)]
struct CheckCounts {
    passed: usize,
    failed: Vec<String>,
    pending: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<CheckSource>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize)]
struct MergeabilityAnswer {
    number: u64,
    state: PullState,
    mergeable: Option<bool>,
    mergeable_state: Option<String>,
    head_sha: String,
    base: String,
    head: String,
    checks: CheckCounts,
}

fn names(checks: &[CommitCheck], state: CheckState) -> Vec<String> {
    let of_state = checks.iter().filter(|check| check.state == state);
    of_state.map(|check| check.name.clone()).collect()
}

async fn mergeability(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: MergeabilityArguments,
) -> Result<MergeabilityAnswer, Failure> {
    let pull =
        wait_until_decided(&server, &context, &arguments.repo, number(arguments.number)).await?;
    let found = server
        .forge
        .checks(&context, &arguments.repo, &pull.head_sha)
        .await;
    let found = match found {
        // The mergeability is known without them.
        Err(Failure::GithubErrorResponse(response))
            if matches!(response.status, 403 | 404) && !response.limited =>
        {
            CommitChecks {
                sha: pull.head_sha.clone(),
                checks: Vec::new(),
                unavailable: vec![CheckSource::Statuses, CheckSource::CheckRuns],
                truncated: false,
            }
        }
        other => other?,
    };
    let checks = found.checks;
    Ok(MergeabilityAnswer {
        number: pull.number,
        state: pull.state,
        mergeable: pull.mergeable,
        mergeable_state: pull.mergeable_state,
        head_sha: pull.head_sha,
        base: pull.base,
        head: pull.head,
        checks: CheckCounts {
            passed: names(&checks, CheckState::Passed).len(),
            failed: names(&checks, CheckState::Failed),
            pending: names(&checks, CheckState::Pending),
            unavailable: found.unavailable,
            truncated: found.truncated,
        },
    })
}

pub(super) fn get_pr_mergeability() -> Tool<ForgeServer> {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let spec = ToolSpec {
        name: "get_pr_mergeability",
        description: "Whether a pull request can be merged, and its checks; waits up to 5 seconds for GitHub to decide. Not for merging: use merge_pull_request.",
        input: arguments(
            &["repo", "prNumber"],
            json!({ "repo": repo(), "prNumber": fields::number() }),
        ),
        output: answer(
            json!({
                "number": { "type": "integer" },
                "state": { "enum": ["open", "closed"] },
                "mergeable": nullable("boolean"),
                "mergeable_state": nullable("string"),
                "head_sha": { "type": "string" },
                "base": { "type": "string" },
                "head": { "type": "string" },
                "checks": answer(json!({ "passed": { "type": "integer" }, "failed": list, "pending": list, "unavailable": list, "truncated": { "type": "boolean" } }), &["unavailable", "truncated"])
            }),
            &[],
        ),
    };
    read_tool(spec, mergeability)
}

#[derive(Deserialize)]
struct ChecksArguments {
    repo: RepoName,
    sha: String,
}

#[derive(Serialize)]
struct CheckAnswer {
    name: String,
    conclusion: String,
    url: Option<String>,
}

#[derive(Serialize)]
struct ChecksAnswer {
    sha: String,
    total: usize,
    passed: Vec<CheckAnswer>,
    failing: Vec<CheckAnswer>,
    pending: Vec<CheckAnswer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<CheckSource>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

async fn checks(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ChecksArguments,
) -> Result<ChecksAnswer, Failure> {
    let found = server
        .forge
        .checks(&context, &arguments.repo, &arguments.sha)
        .await?;
    let mut answer = ChecksAnswer {
        sha: found.sha,
        total: found.checks.len(),
        passed: Vec::new(),
        failing: Vec::new(),
        pending: Vec::new(),
        unavailable: found.unavailable,
        truncated: found.truncated,
    };
    for check in found.checks {
        let list = match check.state {
            CheckState::Passed => &mut answer.passed,
            CheckState::Failed => &mut answer.failing,
            CheckState::Pending => &mut answer.pending,
        };
        list.push(CheckAnswer {
            name: check.name,
            conclusion: check.conclusion,
            url: check.url,
        });
    }
    Ok(answer)
}

pub(super) fn get_checks_for_sha() -> Tool<ForgeServer> {
    let check = answer(
        json!({
            "name": { "type": "string" },
            "conclusion": { "type": "string" },
            "url": nullable("string")
        }),
        &[],
    );
    let list = json!({ "type": "array", "items": check });
    let spec = ToolSpec {
        name: "get_checks_for_sha",
        description: "All statuses and check runs of a commit: passed, failing and pending apart.",
        input: arguments(
            &["repo", "sha"],
            json!({ "repo": repo(), "sha": sha("The commit") }),
        ),
        output: answer(
            json!({
                "sha": { "type": "string" },
                "total": { "type": "integer" },
                "passed": list,
                "failing": list,
                "pending": list,
                "unavailable": { "type": "array", "items": { "type": "string" } },
                "truncated": { "type": "boolean" }
            }),
            &["unavailable", "truncated"],
        ),
    };
    read_tool(spec, checks)
}
