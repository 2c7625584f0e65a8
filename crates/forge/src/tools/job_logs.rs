//! The tool `get_job_logs`: the ends of the logs of failing jobs.

use super::exactly_one::check_exactly_one;
use super::log_text::log_tail;
use super::{PullNumber, ToolSpec, number, read_tool_with_parser};
use crate::fields::{self, answer, arguments, id, nullable, repo, sha};
use crate::forge::BackendContext;
use crate::job_model::{JobLog, JobSelector, LogGap};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_fault::Violations;
use candor_schema::Int;
use candor_street::{JsonRef, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The maximum number of lines of a job.
pub const MAX_LOG_LINES: i64 = 5000;

/// The default of `tail_lines`.
const LOG_LINES: usize = 200;

/// The bytes of the log of one job.
pub const MAX_JOB_LOG_BYTES: usize = 64 * 1024;

/// The bytes of all logs of an answer.
pub const MAX_LOG_BYTES: usize = 256 * 1024;

const SELECTORS: [&str; 3] = ["prNumber", "sha", "job_id"];

#[derive(Deserialize)]
struct LogArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    pull: Option<PullNumber>,
    sha: Option<String>,
    job_id: Option<PullNumber>,
    tail_lines: Option<Int<1, MAX_LOG_LINES>>,
}

fn parse(arguments: JsonRef<'_>) -> Result<Option<LogArguments>, Violations> {
    check_exactly_one(arguments, &SELECTORS)?;
    Ok(LogArguments::deserialize(arguments).ok())
}

#[derive(Serialize)]
struct JobAnswer {
    id: Option<u64>,
    name: String,
    conclusion: String,
    url: Option<String>,
    log: Option<String>,
    lines: usize,
    truncated: bool,
    unavailable: Option<LogGap>,
}

#[derive(Serialize)]
struct LogAnswer {
    sha: String,
    jobs: Vec<JobAnswer>,
    more: bool,
}

async fn logs(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: LogArguments,
) -> Result<LogAnswer, Failure> {
    let repo = &arguments.repo;
    let wanted = match (arguments.pull, arguments.sha, arguments.job_id) {
        (Some(pull), ..) => {
            let pull = server.forge.pull_request(&context, repo, number(pull));
            JobSelector::Commit(pull.await?.head_sha)
        }
        (None, Some(sha), _) => JobSelector::Commit(sha),
        (None, None, Some(job)) => JobSelector::Job(number(job)),
        (None, None, None) => JobSelector::Commit(String::new()),
    };
    let lines = arguments
        .tail_lines
        .and_then(|lines| usize::try_from(lines.get()).ok());
    let lines = lines.unwrap_or(LOG_LINES);
    let found = server.forge.job_logs(&context, repo, &wanted).await?;
    let mut room = MAX_LOG_BYTES;
    let jobs = found.jobs.into_iter();
    let jobs = jobs.map(|job| shown(job, lines, &mut room)).collect();
    Ok(LogAnswer {
        sha: found.sha,
        jobs,
        more: found.more,
    })
}

/// Returns a job with the end of its log, which takes its part of the room for all logs.
fn shown(job: JobLog, lines: usize, room: &mut usize) -> JobAnswer {
    let most = MAX_JOB_LOG_BYTES.min(*room);
    let tail = job
        .log
        .map(|log| (log_tail(&log.bytes, lines, most), log.is_cut));
    if let Some((tail, _)) = &tail {
        *room -= candor_fault::to_json(&tail.text)
            .len()
            .saturating_sub(2)
            .min(*room);
    }
    JobAnswer {
        id: job.id,
        name: job.name,
        conclusion: job.conclusion,
        url: job.url,
        lines: tail.as_ref().map_or(0, |(tail, _)| tail.lines),
        truncated: tail
            .as_ref()
            .is_some_and(|(tail, is_cut)| tail.is_cut || *is_cut),
        log: tail.map(|(tail, _)| tail.text),
        unavailable: job.unavailable,
    }
}

pub(super) fn get_job_logs() -> Tool<ForgeServer> {
    let job = answer(
        json!({
            "id": nullable("integer"),
            "name": { "type": "string" },
            "conclusion": { "type": "string" },
            "url": nullable("string"),
            "log": nullable("string"),
            "lines": { "type": "integer" },
            "truncated": { "type": "boolean" },
            "unavailable": nullable("string")
        }),
        &[],
    );
    let spec = ToolSpec {
        name: "get_job_logs",
        description: "Why checks fail: the last lines of the logs of a pull request's or commit's failing jobs, or of one job. Give exactly one of prNumber, sha, job_id. At most 10 jobs, 64 KiB each; a check without a log has its url.",
        input: arguments(
            &["repo"],
            json!({
                "repo": repo(),
                "prNumber": fields::number(),
                "sha": sha("The commit"),
                "job_id": id("The job"),
                "tail_lines": { "type": "integer", "minimum": 1, "maximum": MAX_LOG_LINES, "description": "200 if absent" }
            }),
        ),
        output: answer(
            json!({
                "sha": { "type": "string" },
                "jobs": { "type": "array", "items": job },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool_with_parser(spec, parse, logs)
}
