//! The tools `update_pull_request_branch` and `revert_pull_request`.

use super::pulls::{PullSummary, summary};
use super::{PullNumber, ToolSpec, number, write_tool};
use crate::change_model::RevertInstruction;
use crate::fields::{self, answer, arguments, flag, repo, sha, text};
use crate::forge::BackendContext;
use crate::model::PullState;
use crate::server::ForgeServer;
use crate::{Failure, RepoName, UnmetPrecondition};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
struct UpdateArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    expected_head_sha: Option<String>,
}

#[derive(Serialize)]
struct UpdateAnswer {
    number: u64,
    updated: bool,
    pending: bool,
    previous_head_sha: String,
    head_sha: String,
    base: String,
}

async fn update(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: UpdateArguments,
) -> Result<UpdateAnswer, Failure> {
    let repo = &arguments.repo;
    let number = number(arguments.number);
    let pull = server.forge.pull_request(&context, repo, number).await?;
    let expected = arguments.expected_head_sha;
    if let Some(expected) = expected.filter(|sha| !pull.head_sha.starts_with(sha.as_str())) {
        let actual = Some(pull.head_sha);
        return Err(Failure::BranchHeadMoved { expected, actual });
    }
    if pull.state == PullState::Closed {
        return Err(UnmetPrecondition::NotOpen(number).into());
    }
    let made = server
        .forge
        .update_pull_branch(&context, repo, &pull)
        .await?;
    Ok(UpdateAnswer {
        number,
        updated: made.updated,
        pending: made.pending,
        previous_head_sha: made.previous_head_sha,
        head_sha: made.head_sha,
        base: pull.base,
    })
}

pub(super) fn update_pull_request_branch() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "update_pull_request_branch",
        description: "Merge the base into the head branch of an open pull request. `updated` is false where the head has it already; `pending` where GitHub still works on it. Conflicts are named, and nothing is changed.",
        input: arguments(
            &["repo", "prNumber"],
            json!({
                "repo": repo(),
                "prNumber": fields::number(),
                "expected_head_sha": sha("Update only this head")
            }),
        ),
        output: answer(
            json!({
                "number": { "type": "integer" },
                "updated": { "type": "boolean" },
                "pending": { "type": "boolean" },
                "previous_head_sha": { "type": "string" },
                "head_sha": { "type": "string" },
                "base": { "type": "string" }
            }),
            &[],
        ),
    };
    write_tool(spec, update).additive().idempotent()
}

#[derive(Deserialize)]
struct RevertArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    title: Option<String>,
    body: Option<String>,
    #[serde(default)]
    draft: bool,
}

#[derive(Serialize)]
struct RevertAnswer {
    #[serde(flatten)]
    summary: PullSummary,
    reverts: u64,
}

async fn revert(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: RevertArguments,
) -> Result<RevertAnswer, Failure> {
    let repo = &arguments.repo;
    let reverts = number(arguments.number);
    let pull = server.forge.pull_request(&context, repo, reverts).await?;
    let order = RevertInstruction {
        pull,
        title: arguments.title,
        body: arguments.body,
        draft: arguments.draft,
    };
    let made = server.forge.revert_pull(&context, repo, &order).await?;
    Ok(RevertAnswer {
        summary: made.into(),
        reverts,
    })
}

pub(super) fn revert_pull_request() -> Tool<ForgeServer> {
    let mut output = summary();
    output["reverts"] = json!({ "type": "integer" });
    let spec = ToolSpec {
        name: "revert_pull_request",
        description: "Open a pull request that undoes a merged one. Not for open ones: use update_pull_request with `state: closed`.",
        input: arguments(
            &["repo", "prNumber"],
            json!({
                "repo": repo(),
                "prNumber": fields::number(),
                "title": text(1, 256, "Its title"),
                "body": text(0, 10_000, "Its description"),
                "draft": flag("Open it as a draft")
            }),
        ),
        output: answer(output, &[]),
    };
    write_tool(spec, revert).additive()
}
