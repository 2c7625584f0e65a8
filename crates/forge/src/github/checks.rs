//! Reads all checks of a commit: statuses and check runs, every page of both.

use super::api::Api;
use super::exchange_failure::ExchangeFailure;
use super::limits::{MAX_PAGE_ENTRIES, MAX_PAGES};
use super::raw_types::{RawRun, RawRuns, RawStatus, RawStatuses};
use super::requests::{GithubRead, GithubResponse};
use super::revisions::unfound;
use super::route::Route;
use crate::{
    BackendContext, CheckState, CommitCheck, CommitChecks, Failure, MissingItem, RepoName,
};

pub(super) async fn checks(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    sha: &str,
) -> Result<CommitChecks, Failure> {
    let mut full = sha.to_owned();
    let mut checks = Vec::new();
    let status = Route::of(repo).then("commits").name(sha).then("status");
    for reply in pages(api, context, status, sha).await? {
        let page: RawStatuses = reply.json()?;
        full = page.sha;
        checks.extend(page.statuses.into_iter().map(of_status));
    }
    let runs = Route::of(repo).then("commits").name(&full);
    let runs = runs.then("check-runs").query("filter", "latest");
    for reply in pages(api, context, runs, sha).await? {
        let page: RawRuns = reply.json()?;
        checks.extend(page.check_runs.into_iter().map(of_run));
    }
    checks.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(CommitChecks { sha: full, checks })
}

/// Reads every page, because the answer promises all. More pages than the bound are a failure.
async fn pages(
    api: &Api,
    context: &BackendContext,
    route: Route,
    sha: &str,
) -> Result<Vec<GithubResponse>, Failure> {
    let missing = || MissingItem::Revision(sha.to_owned());
    let mut replies = Vec::new();
    for page in 1..=MAX_PAGES {
        let route = route.clone().page(page, MAX_PAGE_ENTRIES);
        let reply = api.read(context, GithubRead::new(route, missing())).await;
        let reply = reply.map_err(|failure| unfound(failure, missing()))?;
        let more = reply.more;
        replies.push(reply);
        if !more {
            return Ok(replies);
        }
    }
    Err(ExchangeFailure::large().into())
}

fn of_status(raw: RawStatus) -> CommitCheck {
    let state = match raw.state.as_str() {
        "success" => CheckState::Passed,
        "pending" => CheckState::Pending,
        _ => CheckState::Failed,
    };
    CommitCheck {
        name: raw.context,
        state,
        conclusion: raw.state,
        url: raw.target_url,
    }
}

fn of_run(raw: RawRun) -> CommitCheck {
    let conclusion = raw.conclusion.filter(|_| raw.status == "completed");
    let state = match conclusion.as_deref() {
        None => CheckState::Pending,
        Some("success" | "neutral" | "skipped") => CheckState::Passed,
        // An unknown conclusion counts as failed.
        Some(_) => CheckState::Failed,
    };
    CommitCheck {
        name: raw.name,
        state,
        conclusion: conclusion.unwrap_or(raw.status),
        url: raw.html_url,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(status: &str, conclusion: Option<&str>) -> (CheckState, String) {
        let check = of_run(RawRun {
            name: "build".to_owned(),
            status: status.to_owned(),
            conclusion: conclusion.map(str::to_owned),
            html_url: None,
        });
        (check.state, check.conclusion)
    }

    #[test]
    fn run_passes_only_by_a_good_word() {
        for good in ["success", "neutral", "skipped"] {
            assert_eq!(
                run("completed", Some(good)),
                (CheckState::Passed, good.to_owned())
            );
        }
        for bad in [
            "failure",
            "cancelled",
            "timed_out",
            "action_required",
            "stale",
            "new",
        ] {
            assert_eq!(
                run("completed", Some(bad)),
                (CheckState::Failed, bad.to_owned())
            );
        }
        for status in ["queued", "in_progress", "waiting", "requested", "pending"] {
            assert_eq!(run(status, None), (CheckState::Pending, status.to_owned()));
        }
    }
}
