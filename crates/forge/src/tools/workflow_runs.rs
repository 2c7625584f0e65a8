//! The tools `list_workflow_runs` and `rerun_failed_jobs`.

use super::answer_size::fitting;
use super::exactly_one::check_exactly_one;
use super::{PageNumber, PullNumber, ToolSpec, number, paging, read_tool, write_tool_with_parser};
use crate::fields::{
    self, answer, arguments, branch_filter, id, nullable, one_of, page, per_page, repo, sha,
};
use crate::forge::BackendContext;
use crate::job_model::{RepeatedRun, RerunTarget, RunFilter, WorkflowRun};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_fault::Violations;
use candor_street::{JsonRef, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The statuses and conclusions by which GitHub filters runs.
const STATUSES: [&str; 14] = [
    "completed",
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "skipped",
    "stale",
    "success",
    "timed_out",
    "in_progress",
    "queued",
    "requested",
    "waiting",
    "pending",
];

#[derive(Deserialize)]
struct RunArguments {
    repo: RepoName,
    branch: Option<String>,
    sha: Option<String>,
    status: Option<String>,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct RunAnswer {
    runs: Vec<WorkflowRun>,
    page: u32,
    per_page: u32,
    more: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

async fn runs(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: RunArguments,
) -> Result<RunAnswer, Failure> {
    let wanted = RunFilter {
        branch: arguments.branch,
        sha: arguments.sha,
        status: arguments.status,
    };
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .workflow_runs(&context, &arguments.repo, &wanted, paging)
        .await?;
    let all = found.runs.len();
    let runs = fitting(found.runs);
    Ok(RunAnswer {
        truncated: runs.len() < all,
        runs,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn list_workflow_runs() -> Tool<ForgeServer> {
    let run = answer(
        json!({
            "id": { "type": "integer" },
            "name": nullable("string"),
            "status": { "type": "string" },
            "conclusion": nullable("string"),
            "branch": nullable("string"),
            "sha": { "type": "string" },
            "event": nullable("string"),
            "attempt": { "type": "integer" },
            "created_at": { "type": "string" },
            "updated_at": { "type": "string" },
            "url": nullable("string")
        }),
        &[],
    );
    let spec = ToolSpec {
        name: "list_workflow_runs",
        description: "List runs of workflows, the newest first. Not for logs: use get_job_logs.",
        input: arguments(
            &["repo"],
            json!({
                "repo": repo(),
                "branch": branch_filter("Runs of this branch"),
                "sha": sha("Runs of this commit"),
                "status": one_of(&STATUSES, "A status or a conclusion"),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "runs": { "type": "array", "items": run },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" },
                "truncated": { "type": "boolean" }
            }),
            &["truncated"],
        ),
    };
    read_tool(spec, runs)
}

const TARGETS: [&str; 2] = ["run_id", "prNumber"];

#[derive(Deserialize)]
struct RerunArguments {
    repo: RepoName,
    run_id: Option<PullNumber>,
    #[serde(rename = "prNumber")]
    pull: Option<PullNumber>,
}

fn parse(arguments: JsonRef<'_>) -> Result<Option<RerunArguments>, Violations> {
    check_exactly_one(arguments, &TARGETS)?;
    Ok(RerunArguments::deserialize(arguments).ok())
}

#[derive(Serialize)]
struct RerunAnswer {
    runs: Vec<RepeatedRun>,
}

async fn rerun(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: RerunArguments,
) -> Result<RerunAnswer, Failure> {
    let repo = &arguments.repo;
    let target = match (arguments.run_id, arguments.pull) {
        (None, Some(pull)) => {
            let pull = server.forge.pull_request(&context, repo, number(pull));
            RerunTarget::Commit(pull.await?.head_sha)
        }
        (run, _) => RerunTarget::Run(run.map_or(0, number)),
    };
    let runs = server
        .forge
        .rerun_failed_jobs(&context, repo, &target)
        .await?;
    Ok(RerunAnswer { runs })
}

pub(super) fn rerun_failed_jobs() -> Tool<ForgeServer> {
    let run = answer(
        json!({ "id": { "type": "integer" }, "attempt": { "type": "integer" } }),
        &[],
    );
    let spec = ToolSpec {
        name: "rerun_failed_jobs",
        description: "Run the failed jobs of a run, or of all runs of a pull request's head, again. Give exactly one of run_id, prNumber.",
        input: arguments(
            &["repo"],
            json!({ "repo": repo(), "run_id": id("The run"), "prNumber": fields::number() }),
        ),
        output: answer(json!({ "runs": { "type": "array", "items": run } }), &[]),
    };
    write_tool_with_parser(spec, parse, rerun).additive()
}
