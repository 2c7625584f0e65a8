//! `get_pr_mergeability` and `get_checks_for_sha`: whether a pull request can be merged, and what the
//! checks of a commit say.

use super::{About, Number, number, reading};
use crate::fields::{self, answer, arguments, repo, sha};
use crate::forge::Turn;
use crate::model::{Check, CheckState, PullRequest, PullState};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// How long to wait before each further look at a pull request that is not decided yet: about five
/// seconds in all.
const WAITS: [Duration; 5] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_millis(1000),
    Duration::from_millis(1500),
    Duration::from_millis(1750),
];

/// The pull request once it is decided whether it can be merged, or as it is after a while.
pub(super) async fn decided(
    server: &ForgeServer,
    turn: &Turn,
    repo: &RepoName,
    number: u64,
) -> Result<PullRequest, Failure> {
    let mut pull = server.forge.pull_request(turn, repo, number).await?;
    for wait in WAITS {
        let undecided = pull.state == PullState::Open && pull.mergeable.is_none();
        if !undecided || turn.deadline.remaining() <= wait {
            break;
        }
        tokio::time::sleep(wait).await;
        pull = server.forge.pull_request(turn, repo, number).await?;
    }
    Ok(pull)
}

#[derive(Deserialize)]
struct Asked {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: Number,
}

#[derive(Serialize)]
struct Counted {
    passed: usize,
    failed: Vec<String>,
    pending: Vec<String>,
}

#[derive(Serialize)]
struct Mergeability {
    number: u64,
    state: PullState,
    mergeable: Option<bool>,
    mergeable_state: Option<String>,
    head_sha: String,
    base: String,
    head: String,
    checks: Counted,
}

fn names(checks: &[Check], state: CheckState) -> Vec<String> {
    let of_state = checks.iter().filter(|check| check.state == state);
    of_state.map(|check| check.name.clone()).collect()
}

async fn mergeability(
    server: Arc<ForgeServer>,
    turn: Turn,
    asked: Asked,
) -> Result<Mergeability, Failure> {
    let pull = decided(&server, &turn, &asked.repo, number(asked.number)).await?;
    let checks = server
        .forge
        .checks(&turn, &asked.repo, &pull.head_sha)
        .await?
        .checks;
    Ok(Mergeability {
        number: pull.number,
        state: pull.state,
        mergeable: pull.mergeable,
        mergeable_state: pull.mergeable_state,
        head_sha: pull.head_sha,
        base: pull.base,
        head: pull.head,
        checks: Counted {
            passed: names(&checks, CheckState::Passed).len(),
            failed: names(&checks, CheckState::Failed),
            pending: names(&checks, CheckState::Pending),
        },
    })
}

pub(super) fn get_pr_mergeability() -> Tool<ForgeServer> {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let about = About {
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
                "mergeable": { "type": ["boolean", "null"] },
                "mergeable_state": { "type": ["string", "null"] },
                "head_sha": { "type": "string" },
                "base": { "type": "string" },
                "head": { "type": "string" },
                "checks": answer(json!({ "passed": { "type": "integer" }, "failed": list, "pending": list }), &[])
            }),
            &[],
        ),
    };
    reading(about, mergeability)
}

#[derive(Deserialize)]
struct OfCommit {
    repo: RepoName,
    sha: String,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    conclusion: String,
    url: Option<String>,
}

#[derive(Serialize)]
struct Checks {
    sha: String,
    total: usize,
    passed: Vec<Listed>,
    failing: Vec<Listed>,
    pending: Vec<Listed>,
}

async fn checks(server: Arc<ForgeServer>, turn: Turn, asked: OfCommit) -> Result<Checks, Failure> {
    let found = server.forge.checks(&turn, &asked.repo, &asked.sha).await?;
    let mut answer = Checks {
        sha: found.sha,
        total: found.checks.len(),
        passed: Vec::new(),
        failing: Vec::new(),
        pending: Vec::new(),
    };
    for check in found.checks {
        let list = match check.state {
            CheckState::Passed => &mut answer.passed,
            CheckState::Failed => &mut answer.failing,
            CheckState::Pending => &mut answer.pending,
        };
        list.push(Listed {
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
            "url": { "type": ["string", "null"] }
        }),
        &[],
    );
    let list = json!({ "type": "array", "items": check });
    let about = About {
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
                "pending": list
            }),
            &[],
        ),
    };
    reading(about, checks)
}
