//! Reads the logs of jobs. GitHub redirects to a storage host, which never gets the token.

use super::GithubForge;
use super::api::{Api, location};
use super::authentication::RequestIdentity;
use super::checks::{self, CheckEntries};
use super::error_response::RequestFacts;
use super::exchange_failure::ExchangeFailure;
use super::limits::{MAX_LOG_BYTES, MAX_REDIRECTS};
use super::raw_types::RawRun;
use super::read::ReadFailure;
use super::requests::{GithubRead, JSON};
use super::route::Route;
use super::workflow_runs;
use crate::job_forge::{MAX_JOBS, MAX_LOG_TAIL_BYTES};
use crate::{
    BackendContext, BackendFuture, CheckState, Failure, JobForge, JobLog, JobLogs, JobSelector,
    LogGap, MissingItem, Paging, RawLog, RepeatedRun, RepoName, RequestKind, RerunTarget,
    RunFilter, RunPage, UnreachableReason,
};
use candor_fault::Cause;
use candor_guard::Deadline;
use candor_http_client::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use candor_http_client::{
    BodyTail, Bytes, DownloadRefusal, DownloadUrl, ExchangeError, Method, Response, ResponseBody,
};
use futures_util::future::try_join_all;
use serde::Deserialize;

/// The app whose check runs are jobs. The id of such a check run is that of the job.
const ACTIONS: &str = "github-actions";

/// The bytes before the end of a log that are read only to find tokens: one that is cut could not be found.
const OVERLAP: usize = 4096;

/// GitHub's description of a job.
#[derive(Debug, Deserialize)]
struct RawJob {
    id: u64,
    name: String,
    head_sha: String,
    status: String,
    conclusion: Option<String>,
    html_url: Option<String>,
}

/// A log, or the reason why there is none.
type ReadLog = Result<RawLog, LogGap>;

/// An answer on the way to a log.
enum LogStep {
    Log(ReadLog),
    /// The repository has another name.
    Moved(Option<String>),
    /// The log is at another host.
    Download(Option<String>),
}

async fn logs(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    wanted: &JobSelector,
) -> Result<JobLogs, Failure> {
    match wanted {
        JobSelector::Job(id) => log_of_job(api, context, repo, *id).await,
        JobSelector::Commit(sha) => {
            let entries = checks::entries(api, context, repo, sha).await?;
            logs_of_commit(api, context, repo, entries).await
        }
    }
}

async fn log_of_job(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    id: u64,
) -> Result<JobLogs, Failure> {
    let route = Route::of(repo).then("actions/jobs").number(id);
    let request = GithubRead::new(route, MissingItem::Job(id));
    let job: RawJob = api.read_json(context, request).await?;
    let log = api.log(context, repo, job.id).await?;
    Ok(JobLogs {
        sha: job.head_sha,
        jobs: vec![JobLog {
            id: Some(job.id),
            name: job.name,
            conclusion: job.conclusion.unwrap_or(job.status),
            url: job.html_url,
            unavailable: log.as_ref().err().copied(),
            log: log.ok(),
        }],
        more: false,
    })
}

/// A failing check, and its job if it has one.
struct FailingCheck {
    name: String,
    conclusion: String,
    url: Option<String>,
    job: Option<u64>,
}

async fn logs_of_commit(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    entries: CheckEntries,
) -> Result<JobLogs, Failure> {
    // Statuses have no logs, so those that may not be read are left out.
    let runs = entries.runs?;
    let mut more = runs.truncated;
    let mut failing: Vec<FailingCheck> = runs.entries.into_iter().filter_map(failing_run).collect();
    if let Ok(statuses) = entries.statuses {
        more |= statuses.truncated;
        let statuses = statuses.entries.into_iter().map(checks::of_status);
        let statuses = statuses.filter(|check| check.state == CheckState::Failed);
        failing.extend(statuses.map(|check| FailingCheck {
            name: check.name,
            conclusion: check.conclusion,
            url: check.url,
            job: None,
        }));
    }
    failing.sort_by(|left, right| left.name.cmp(&right.name));
    more |= failing.len() > MAX_JOBS;
    failing.truncate(MAX_JOBS);
    let jobs = failing.into_iter().map(|check| async move {
        let log = match check.job {
            Some(id) => Some(api.log(context, repo, id).await?),
            None => None,
        };
        let (log, unavailable) = match log {
            Some(Ok(log)) => (Some(log), None),
            Some(Err(gap)) => (None, Some(gap)),
            None => (None, None),
        };
        Ok::<_, Failure>(JobLog {
            id: check.job,
            name: check.name,
            conclusion: check.conclusion,
            url: check.url,
            log,
            unavailable,
        })
    });
    Ok(JobLogs {
        sha: entries.sha,
        jobs: try_join_all(jobs).await?,
        more,
    })
}

fn failing_run(run: RawRun) -> Option<FailingCheck> {
    let is_job = run
        .app
        .as_ref()
        .is_some_and(|app| app.slug.as_deref() == Some(ACTIONS));
    let job = run.id.filter(|_| is_job);
    let check = checks::of_run(run);
    (check.state == CheckState::Failed).then_some(FailingCheck {
        name: check.name,
        conclusion: check.conclusion,
        url: check.url,
        job,
    })
}

impl Api {
    /// Reads the end of a job's log.
    async fn log(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        id: u64,
    ) -> Result<ReadLog, Failure> {
        let route = Route::of(repo).then("actions/jobs").number(id).then("logs");
        let mut route = route.text()?.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            match self.ask_for_log(context, &route, id).await? {
                LogStep::Log(log) => return Ok(log),
                LogStep::Moved(target) => {
                    route = self.resolve_redirect(context, target, Some(repo)).await?;
                }
                LogStep::Download(target) => return self.download(context, target).await,
            }
        }
        Err(ExchangeFailure::redirect("more redirects than are followed").into())
    }

    async fn ask_for_log(
        &self,
        context: &BackendContext,
        route: &str,
        id: u64,
    ) -> Result<LogStep, Failure> {
        let identity = self.identity(context).await?;
        match self.ask_for_log_as(context, &identity, route, id).await {
            Err(failure) if self.forget_refused(context, &identity, &failure).await => {
                let identity = self.identity(context).await?;
                self.ask_for_log_as(context, &identity, route, id).await
            }
            other => other,
        }
    }

    async fn ask_for_log_as(
        &self,
        context: &BackendContext,
        identity: &RequestIdentity,
        route: &str,
        id: u64,
    ) -> Result<LogStep, Failure> {
        let tried = identity.scope.retry.run(context.deadline, |_| async {
            let until = context.deadline.min(Deadline::after(self.attempt));
            let done = until.run(self.exchange_log(identity, route, id)).await;
            done.unwrap_or_else(|_| Err(ExchangeFailure::late().into()))
        });
        tried.await.map_err(|ReadFailure(failure)| failure)
    }

    async fn exchange_log(
        &self,
        identity: &RequestIdentity,
        route: &str,
        id: u64,
    ) -> Result<LogStep, ReadFailure> {
        let headers = self.headers(JSON, identity.token.as_ref());
        let url = self.base.join(route);
        let sent = self.client.send(Method::GET, &url, headers, Bytes::new());
        let response = sent.await?;
        match response.status().as_u16() {
            200..=299 => Ok(LogStep::Log(self.read_log(response).await?)),
            302 | 303 => Ok(LogStep::Download(location(response.headers()))),
            301 | 307 | 308 => Ok(LogStep::Moved(location(response.headers()))),
            status => {
                let facts = RequestFacts {
                    step: RequestKind::Read,
                    missing: &MissingItem::Job(id),
                    site: &self.site,
                };
                let response = self.read_error_response(&facts, response).await;
                match status {
                    404 => Ok(LogStep::Log(Err(LogGap::Missing))),
                    410 => Ok(LogStep::Log(Err(LogGap::Expired))),
                    403 if !response.limited => Ok(LogStep::Log(Err(LogGap::Forbidden))),
                    _ => Err(ReadFailure(Failure::GithubErrorResponse(response))),
                }
            }
        }
    }

    /// Follows the redirect to a log, without the token.
    async fn download(
        &self,
        context: &BackendContext,
        target: Option<String>,
    ) -> Result<ReadLog, Failure> {
        let mut target = target;
        for _ in 0..=MAX_REDIRECTS {
            let location =
                target.ok_or_else(|| ExchangeFailure::redirect("a redirect to nowhere"))?;
            let url = DownloadUrl::check(&location, &self.base);
            let url = url.map_err(|refusal| ExchangeFailure::redirect(reason(refusal)))?;
            let tried = self
                .identities
                .shared()
                .retry
                .run(context.deadline, |_| async {
                    let until = context.deadline.min(Deadline::after(self.attempt));
                    let done = until.run(self.download_once(&url)).await;
                    done.unwrap_or_else(|_| Err(ExchangeFailure::late().into()))
                });
            match tried.await.map_err(|ReadFailure(failure)| failure)? {
                LogStep::Log(log) => return Ok(log),
                LogStep::Moved(next) | LogStep::Download(next) => target = next,
            }
        }
        Err(ExchangeFailure::redirect("more redirects than are followed").into())
    }

    async fn download_once(&self, url: &DownloadUrl) -> Result<LogStep, ReadFailure> {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        let sent = self
            .downloads
            .send(Method::GET, url.as_str(), headers, Bytes::new());
        let response = match sent.await {
            Err(error) if error.is_private_address() => {
                return Err(ExchangeFailure::redirect("a redirect to a private address").into());
            }
            sent => sent?,
        };
        let answered = |reason: UnreachableReason, status: u16| {
            let cause = Cause::Text(format!("the storage of logs answered {status}"));
            Err(ReadFailure(Failure::Unreachable(reason, cause)))
        };
        match response.status().as_u16() {
            200..=299 => Ok(LogStep::Log(self.read_log(response).await?)),
            301 | 302 | 303 | 307 | 308 => Ok(LogStep::Download(location(response.headers()))),
            404 | 410 => Ok(LogStep::Log(Err(LogGap::Expired))),
            status @ 500.. => answered(UnreachableReason::Reset, status),
            status => answered(UnreachableReason::Garbled, status),
        }
    }

    /// Reads the end of a log and removes the tokens of this process from it.
    async fn read_log(&self, response: Response<ResponseBody>) -> Result<ReadLog, ExchangeError> {
        let read = response.into_body();
        let read = read.read_tail(MAX_LOG_TAIL_BYTES + OVERLAP, MAX_LOG_BYTES);
        let BodyTail { bytes, length } = match read.await {
            Err(ExchangeError::BodyTooLarge { .. }) => return Ok(Err(LogGap::TooLarge)),
            read => read?,
        };
        let clean = self.redactor.without_own(&bytes);
        let start = clean.len().saturating_sub(MAX_LOG_TAIL_BYTES);
        Ok(Ok(RawLog {
            bytes: clean[start..].to_vec(),
            is_cut: start > 0 || length > bytes.len() as u64,
        }))
    }
}

fn reason(refusal: DownloadRefusal) -> &'static str {
    match refusal {
        DownloadRefusal::InvalidUrl => "a redirect that is not a URL",
        DownloadRefusal::Unencrypted => "a redirect without encryption",
        DownloadRefusal::OwnHost => "a redirect of a download to the API itself",
        DownloadRefusal::PrivateAddress => "a redirect to a private address",
    }
}

impl JobForge for GithubForge {
    fn job_logs<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        wanted: &'a JobSelector,
    ) -> BackendFuture<'a, JobLogs> {
        self.filtered(logs(&self.0, context, repo, wanted))
    }

    fn workflow_runs<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        wanted: &'a RunFilter,
        paging: Paging,
    ) -> BackendFuture<'a, RunPage> {
        self.filtered(workflow_runs::list(&self.0, context, repo, wanted, paging))
    }

    fn rerun_failed_jobs<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        target: &'a RerunTarget,
    ) -> BackendFuture<'a, Vec<RepeatedRun>> {
        self.filtered(workflow_runs::rerun(&self.0, context, repo, target))
    }
}
