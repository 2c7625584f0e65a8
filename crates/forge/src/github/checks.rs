//! Reads all checks of a commit: statuses and check runs, every page of both.

use super::api::Api;
use super::exchange_failure::ExchangeFailure;
use super::limits::{MAX_PAGE_ENTRIES, MAX_PAGES};
use super::raw_types::{RawRun, RawRuns, RawStatus, RawStatuses};
use super::requests::{GithubRead, GithubResponse};
use super::revisions::unfound;
use super::route::Route;
use crate::{
    BackendContext, CheckSource, CheckState, CommitCheck, CommitChecks, Failure, MissingItem,
    RepoName,
};

/// The entries of both sources. A source that may not be read has its refusal instead.
pub(super) struct CheckEntries {
    /// The full SHA, if a status was read; else the one that was asked for.
    pub(super) sha: String,
    pub(super) statuses: Result<EntryList<RawStatus>, Failure>,
    pub(super) runs: Result<EntryList<RawRun>, Failure>,
}

/// Reads all statuses and check runs of a commit.
pub(super) async fn entries(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    sha: &str,
) -> Result<CheckEntries, Failure> {
    let mut full = sha.to_owned();
    let status = Route::of(repo).then("commits").name(sha).then("status");
    let statuses = pages(api, context, status, sha, |reply| {
        let page: RawStatuses = reply.json()?;
        full = page.sha;
        Ok((page.statuses, page.total_count))
    });
    let statuses = unless_refused(statuses.await)?;
    let runs = Route::of(repo).then("commits").name(&full);
    let runs = runs.then("check-runs").query("filter", "latest");
    let runs = pages(api, context, runs, sha, |reply| {
        let page: RawRuns = reply.json()?;
        Ok((page.check_runs, page.total_count))
    });
    let runs = unless_refused(runs.await)?;
    Ok(CheckEntries {
        sha: full,
        statuses,
        runs,
    })
}

pub(super) async fn checks(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    sha: &str,
) -> Result<CommitChecks, Failure> {
    let read = entries(api, context, repo, sha).await?;
    let full = read.sha;
    let statuses = read.statuses.map(|list| list.map(of_status));
    let runs = read.runs.map(|list| list.map(of_run));
    let mut found = CommitChecks {
        sha: full,
        checks: Vec::new(),
        unavailable: Vec::new(),
        truncated: false,
    };
    let mut refusals = Vec::new();
    for (source, read) in [
        (CheckSource::Statuses, statuses),
        (CheckSource::CheckRuns, runs),
    ] {
        match read {
            Ok(list) => {
                found.checks.extend(list.entries);
                found.truncated |= list.truncated;
            }
            Err(refusal) => {
                found.unavailable.push(source);
                refusals.push(refusal);
            }
        }
    }
    if refusals.len() == 2 {
        return Err(refusals.swap_remove(0));
    }
    found
        .checks
        .sort_by(|left, right| left.name.cmp(&right.name));
    Ok(found)
}

/// Separates a source that may not be read from every other failure.
fn unless_refused<T>(
    read: Result<EntryList<T>, Failure>,
) -> Result<Result<EntryList<T>, Failure>, Failure> {
    match read {
        Err(Failure::GithubErrorResponse(response))
            if matches!(response.status, 403 | 404) && !response.limited =>
        {
            Ok(Err(Failure::GithubErrorResponse(response)))
        }
        Err(failure) => Err(failure),
        Ok(list) => Ok(Ok(list)),
    }
}

/// The entries of one source.
pub(super) struct EntryList<T> {
    pub(super) entries: Vec<T>,
    /// True if GitHub counts more than it lists.
    pub(super) truncated: bool,
}

impl<T> EntryList<T> {
    fn map<U>(self, convert: fn(T) -> U) -> EntryList<U> {
        EntryList {
            entries: self.entries.into_iter().map(convert).collect(),
            truncated: self.truncated,
        }
    }
}

/// Reads every page, because the answer promises all. More pages than the bound are a failure. A page is
/// the last if no other is linked and the total is reached: `Link` alone may be missing.
async fn pages<T>(
    api: &Api,
    context: &BackendContext,
    route: Route,
    sha: &str,
    mut read: impl FnMut(GithubResponse) -> Result<(Vec<T>, u64), Failure>,
) -> Result<EntryList<T>, Failure> {
    let missing = || MissingItem::Revision(sha.to_owned());
    let mut all = Vec::new();
    for page in 1..=MAX_PAGES {
        let route = route.clone().page(page, MAX_PAGE_ENTRIES);
        let reply = api.read(context, GithubRead::new(route, missing())).await;
        let reply = reply.map_err(|failure| unfound(failure, missing()))?;
        let more = reply.more;
        let (entries, total) = read(reply)?;
        let is_short = entries.len() < MAX_PAGE_ENTRIES as usize;
        all.extend(entries);
        let is_complete = all.len() as u64 >= total;
        if !more && (is_complete || is_short) {
            return Ok(EntryList {
                entries: all,
                truncated: !is_complete,
            });
        }
    }
    Err(ExchangeFailure::large().into())
}

pub(super) fn of_status(raw: RawStatus) -> CommitCheck {
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

pub(super) fn of_run(raw: RawRun) -> CommitCheck {
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
            id: None,
            app: None,
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
