//! Lists runs of workflows and runs failed jobs again.

use super::api::Api;
use super::limits::MAX_PAGE_ENTRIES;
use super::requests::{FailedWrite, GithubRead, GithubWrite};
use super::revisions;
use super::route::Route;
use crate::{
    BackendContext, Failure, MissingItem, Paging, RepeatedRun, RepoName, RequestKind, RerunTarget,
    Revision, RunFilter, RunPage, UnmetPrecondition, WorkflowRun,
};
use candor_http_client::Method;
use serde::Deserialize;

/// The number of digits of a whole SHA. GitHub finds runs by nothing shorter.
const SHA_DIGITS: usize = 40;

#[derive(Debug, Deserialize)]
struct RawRunPage {
    #[serde(default)]
    total_count: u64,
    workflow_runs: Vec<RawWorkflowRun>,
}

#[derive(Debug, Deserialize)]
struct RawWorkflowRun {
    id: u64,
    name: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    head_branch: Option<String>,
    head_sha: String,
    event: Option<String>,
    run_attempt: Option<u64>,
    created_at: String,
    updated_at: String,
    html_url: Option<String>,
}

impl RawWorkflowRun {
    fn into_model(self) -> WorkflowRun {
        WorkflowRun {
            id: self.id,
            name: self.name,
            status: self.status.unwrap_or_default(),
            conclusion: self.conclusion,
            branch: self.head_branch,
            sha: self.head_sha,
            event: self.event,
            attempt: self.run_attempt.unwrap_or(1),
            created_at: self.created_at,
            updated_at: self.updated_at,
            url: self.html_url,
        }
    }
}

/// Returns true if a run has ended with failed jobs.
fn has_failed(run: &WorkflowRun) -> bool {
    let conclusion = run.conclusion.as_deref().unwrap_or_default();
    run.status == "completed" && !matches!(conclusion, "" | "success" | "neutral" | "skipped")
}

pub(super) async fn list(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    wanted: &RunFilter,
    paging: Paging,
) -> Result<RunPage, Failure> {
    let mut route = Route::of(repo).then("actions/runs");
    if let Some(branch) = &wanted.branch {
        route = route.query("branch", branch);
    }
    if let Some(status) = &wanted.status {
        route = route.query("status", status);
    }
    if let Some(sha) = &wanted.sha {
        route = route.query("head_sha", &full_sha(api, context, repo, sha).await?);
    }
    let route = route.page(paging.page, paging.per_page);
    let reply = api
        .read(context, GithubRead::new(route, MissingItem::Repository))
        .await?;
    let found: RawRunPage = reply.json()?;
    let shown = u64::from(paging.page) * u64::from(paging.per_page);
    Ok(RunPage {
        more: reply.more || found.total_count > shown,
        runs: found
            .workflow_runs
            .into_iter()
            .map(RawWorkflowRun::into_model)
            .collect(),
    })
}

async fn full_sha(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    sha: &str,
) -> Result<String, Failure> {
    if sha.len() == SHA_DIGITS {
        return Ok(sha.to_owned());
    }
    let at = Revision::Commit(sha.to_owned());
    Ok(revisions::resolve(api, context, repo, &at, sha).await?.sha)
}

pub(super) async fn rerun(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    target: &RerunTarget,
) -> Result<Vec<RepeatedRun>, Failure> {
    let runs = match target {
        RerunTarget::Run(id) => {
            let route = Route::of(repo).then("actions/runs").number(*id);
            let request = GithubRead::new(route, MissingItem::Run(*id));
            let run: RawWorkflowRun = api.read_json(context, request).await?;
            vec![run.into_model()]
        }
        RerunTarget::Commit(sha) => {
            let wanted = RunFilter {
                branch: None,
                sha: Some(sha.clone()),
                status: None,
            };
            let paging = Paging {
                page: 1,
                per_page: MAX_PAGE_ENTRIES,
            };
            list(api, context, repo, &wanted, paging).await?.runs
        }
    };
    let failed: Vec<WorkflowRun> = runs.into_iter().filter(has_failed).collect();
    if failed.is_empty() {
        return Err(UnmetPrecondition::NothingFailed.into());
    }
    context.mark.begins()?;
    let mut repeated = Vec::new();
    for run in failed {
        let sent = api.send(context, rerun_request(repo, run.id)).await;
        match sent {
            Ok(_) => repeated.push(RepeatedRun {
                id: run.id,
                attempt: run.attempt + 1,
            }),
            Err(failed) if repeated.is_empty() => return Err(failed.into_failure(context)),
            Err(FailedWrite { failure, .. }) => {
                context.mark.done();
                return Err(Failure::Partly {
                    done: "some runs were started again",
                    rest: Box::new(failure),
                });
            }
        }
    }
    context.mark.done();
    Ok(repeated)
}

fn rerun_request(repo: &RepoName, id: u64) -> GithubWrite {
    let route = Route::of(repo).then("actions/runs").number(id);
    GithubWrite {
        method: Method::POST,
        route: route.then("rerun-failed-jobs"),
        body: None,
        step: RequestKind::Write,
        missing: MissingItem::Run(id),
    }
}
