//! Logs of checks, and running failed checks again. A check of the local forge is a run with one job.

use super::LocalForge;
use super::errors::{LocalForgeError, OrBroken, run_blocking};
use super::history::skipped;
use super::{statuses, times};
use crate::job_forge::{MAX_JOBS, MAX_LOG_TAIL_BYTES};
use crate::{
    BackendContext, BackendFuture, CheckState, Failure, JobForge, JobLog, JobLogs, JobSelector,
    MissingItem, Paging, RawLog, RepeatedRun, RepoName, RerunTarget, Revision, RunFilter, RunPage,
    UnmetPrecondition, WorkflowRun,
};
use sqlx::sqlite::SqliteConnection;
use std::io::{self, Read};
use std::sync::Arc;

const READ: &str = "the checks could not be read";
const WRITE: &str = "the checks could not be written";

/// The end of a log that is stored with a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLog {
    tail: Vec<u8>,
    /// The size of the whole log.
    bytes: u64,
}

impl StoredLog {
    /// Reads a log to its end and keeps its last part.
    pub fn read(mut log: impl Read) -> io::Result<StoredLog> {
        let mut tail = Vec::new();
        let mut bytes = 0;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = match log.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            bytes += read as u64;
            tail.extend_from_slice(&buffer[..read]);
            if tail.len() > 2 * MAX_LOG_TAIL_BYTES {
                tail.drain(..tail.len() - MAX_LOG_TAIL_BYTES);
            }
        }
        tail.drain(..tail.len().saturating_sub(MAX_LOG_TAIL_BYTES));
        Ok(StoredLog { tail, bytes })
    }
}

/// Replaces the log of a check. A result without a log has none: the log of an earlier result would mislead.
async fn set_log(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    sha: &str,
    name: &str,
    log: Option<&StoredLog>,
    at: i64,
) -> Result<(), Failure> {
    let of_check = "(SELECT id FROM checks WHERE repo = ?1 AND sha = ?2 AND name = ?3)";
    let forget = format!("DELETE FROM check_logs WHERE check_id = {of_check}");
    sqlx::query(sqlx::AssertSqlSafe(forget))
        .bind(repo.folded())
        .bind(sha)
        .bind(name)
        .execute(&mut *connection)
        .await
        .or_broken(WRITE)?;
    let Some(log) = log else {
        return Ok(());
    };
    sqlx::query(
        "INSERT INTO check_logs (check_id, attempt, log, bytes, at)
         SELECT id, attempt, ?4, ?5, ?6 FROM checks WHERE repo = ?1 AND sha = ?2 AND name = ?3",
    )
    .bind(repo.folded())
    .bind(sha)
    .bind(name)
    .bind(&log.tail)
    .bind(i64::try_from(log.bytes).unwrap_or(i64::MAX))
    .bind(at)
    .execute(connection)
    .await
    .or_broken(WRITE)?;
    Ok(())
}

/// Records the branch that was checked. A check that is set again by its SHA keeps its branch.
async fn set_branch(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    sha: &str,
    name: &str,
    branch: Option<&str>,
) -> Result<(), Failure> {
    sqlx::query(
        "UPDATE checks SET branch = coalesce(?4, branch) WHERE repo = ?1 AND sha = ?2 AND name = ?3",
    )
    .bind(repo.folded())
    .bind(sha)
    .bind(name)
    .bind(branch)
    .execute(connection)
    .await
    .or_broken(WRITE)?;
    Ok(())
}

/// A check and its log, as stored.
type LogRow = (i64, String, String, String, Option<Vec<u8>>, Option<i64>);

fn job(row: LogRow) -> JobLog {
    let (id, _, name, state, log, bytes) = row;
    let whole = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    JobLog {
        id: u64::try_from(id).ok(),
        name,
        conclusion: state,
        url: None,
        log: log.map(|bytes| RawLog {
            is_cut: whole.is_some_and(|whole| whole > bytes.len()),
            bytes,
        }),
        unavailable: None,
    }
}

/// Selects checks with the logs of their current attempts.
const LOGS: &str =
    "SELECT checks.id, checks.sha, checks.name, checks.state, check_logs.log, check_logs.bytes
    FROM checks LEFT JOIN check_logs
    ON check_logs.check_id = checks.id AND check_logs.attempt = checks.attempt
    WHERE checks.repo = ?1 AND ";

impl LocalForge {
    /// Sets the status `name` of a commit with its log, and returns the commit's SHA.
    pub async fn set_status_with_log(
        &self,
        repo: &RepoName,
        at: &Revision,
        name: &str,
        state: CheckState,
        log: Option<&StoredLog>,
    ) -> Result<String, LocalForgeError> {
        let sha = self.full_sha(repo, at).await?;
        let branch = self.branch_of(repo, at).await?;
        let mut writing = self.database.write().await?;
        let now = self.now().as_microsecond();
        statuses::set(&mut writing, repo, &sha, name, state, None, now).await?;
        set_branch(&mut writing, repo, &sha, name, branch.as_deref()).await?;
        set_log(&mut writing, repo, &sha, name, log, now).await?;
        writing.commit("the status could not be written").await?;
        self.merge_what_is_ready(repo).await;
        Ok(sha)
    }

    /// Returns the branch that a revision names, if it names one.
    async fn branch_of(&self, repo: &RepoName, at: &Revision) -> Result<Option<String>, Failure> {
        let (root, repo, at) = (Arc::clone(&self.root), repo.clone(), at.clone());
        run_blocking(move || {
            root.read(&repo, |opened| match &at {
                Revision::Default => Ok(Some(opened.default_branch()?)),
                Revision::Branch(name) | Revision::Named(name) => {
                    let is_branch = opened.branch(name)?.is_some();
                    Ok(is_branch.then(|| name.clone()))
                }
                Revision::Commit(_) => Ok(None),
            })
        })
        .await
    }

    async fn logs(&self, repo: &RepoName, wanted: &JobSelector) -> Result<JobLogs, Failure> {
        // A repository that does not exist has no checks, and says so.
        self.location(repo).await?;
        match wanted {
            JobSelector::Job(id) => self.log_of_job(repo, *id).await,
            JobSelector::Commit(sha) => {
                let sha = self.full_sha(repo, &Revision::Commit(sha.clone())).await?;
                self.logs_of_commit(repo, sha).await
            }
        }
    }

    async fn log_of_job(&self, repo: &RepoName, id: u64) -> Result<JobLogs, Failure> {
        let mut reading = self.database.read().await?;
        let query = format!("{LOGS} checks.id = ?2");
        let row: Option<LogRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(repo.folded())
            .bind(i64::try_from(id).unwrap_or(i64::MAX))
            .fetch_optional(&mut *reading)
            .await
            .or_broken(READ)?;
        let row = row.ok_or(MissingItem::Job(id))?;
        Ok(JobLogs {
            sha: row.1.clone(),
            jobs: vec![job(row)],
            more: false,
        })
    }

    async fn logs_of_commit(&self, repo: &RepoName, sha: String) -> Result<JobLogs, Failure> {
        let mut reading = self.database.read().await?;
        let query = format!(
            "{LOGS} checks.sha = ?2 AND checks.state NOT IN ('success', 'pending')
             ORDER BY checks.name LIMIT ?3"
        );
        let rows: Vec<LogRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(repo.folded())
            .bind(&sha)
            .bind(MAX_JOBS as i64 + 1)
            .fetch_all(&mut *reading)
            .await
            .or_broken(READ)?;
        Ok(JobLogs {
            sha,
            more: rows.len() > MAX_JOBS,
            jobs: rows.into_iter().take(MAX_JOBS).map(job).collect(),
        })
    }

    async fn runs(
        &self,
        repo: &RepoName,
        wanted: &RunFilter,
        paging: Paging,
    ) -> Result<RunPage, Failure> {
        self.location(repo).await?;
        let sha = match &wanted.sha {
            Some(sha) => Some(self.full_sha(repo, &Revision::Commit(sha.clone())).await?),
            None => None,
        };
        let mut reading = self.database.read().await?;
        let rows: Vec<RunRow> = sqlx::query_as(
            "SELECT id, name, state, branch, sha, attempt, created_at, updated_at FROM checks
             WHERE repo = ?1 AND (?2 IS NULL OR sha = ?2) AND (?3 IS NULL OR branch = ?3)
             AND (?4 IS NULL OR state = ?4 OR (?4 = 'completed' AND state <> 'pending'))
             ORDER BY id DESC LIMIT ?5 OFFSET ?6",
        )
        .bind(repo.folded())
        .bind(sha)
        .bind(&wanted.branch)
        .bind(&wanted.status)
        .bind(i64::from(paging.per_page) + 1)
        .bind(i64::try_from(skipped(paging)).unwrap_or(i64::MAX))
        .fetch_all(&mut *reading)
        .await
        .or_broken(READ)?;
        let per_page = paging.per_page as usize;
        Ok(RunPage {
            more: rows.len() > per_page,
            runs: rows.into_iter().take(per_page).map(run).collect(),
        })
    }

    async fn rerun(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        target: &RerunTarget,
    ) -> Result<Vec<RepeatedRun>, Failure> {
        self.location(repo).await?;
        let (id, sha) = match target {
            RerunTarget::Run(id) => (Some(i64::try_from(*id).unwrap_or(i64::MAX)), None),
            RerunTarget::Commit(sha) => (None, Some(sha)),
        };
        let mut writing = self.database.write().await?;
        if let RerunTarget::Run(number) = target {
            let there: Option<(i64,)> =
                sqlx::query_as("SELECT id FROM checks WHERE repo = ? AND id = ?")
                    .bind(repo.folded())
                    .bind(id)
                    .fetch_optional(&mut *writing)
                    .await
                    .or_broken(READ)?;
            there.ok_or(MissingItem::Run(*number))?;
        }
        let rows: Vec<(i64, i64)> = sqlx::query_as(
            "UPDATE checks SET state = 'pending', attempt = attempt + 1, updated_at = ?4
             WHERE repo = ?1 AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR sha = ?3)
             AND state NOT IN ('success', 'pending') RETURNING id, attempt",
        )
        .bind(repo.folded())
        .bind(id)
        .bind(sha)
        .bind(self.now().as_microsecond())
        .fetch_all(&mut *writing)
        .await
        .or_broken(WRITE)?;
        if rows.is_empty() {
            return Err(UnmetPrecondition::NothingFailed.into());
        }
        context.mark.begins()?;
        writing.commit_change(WRITE, &context.mark).await?;
        let mut repeated: Vec<RepeatedRun> = rows
            .into_iter()
            .map(|(id, attempt)| RepeatedRun {
                id: id.unsigned_abs(),
                attempt: attempt.unsigned_abs(),
            })
            .collect();
        repeated.sort_by_key(|run| run.id);
        Ok(repeated)
    }
}

/// A check, as stored.
type RunRow = (i64, String, String, Option<String>, String, i64, i64, i64);

fn run(row: RunRow) -> WorkflowRun {
    let (id, name, state, branch, sha, attempt, created_at, updated_at) = row;
    let is_pending = state == "pending";
    WorkflowRun {
        id: id.unsigned_abs(),
        name: Some(name),
        status: String::from(if is_pending { "pending" } else { "completed" }),
        conclusion: Some(state).filter(|_| !is_pending),
        branch,
        sha,
        event: None,
        attempt: attempt.unsigned_abs(),
        created_at: times::of_micros(created_at),
        updated_at: times::of_micros(updated_at),
        url: None,
    }
}

impl JobForge for LocalForge {
    fn job_logs<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        wanted: &'a JobSelector,
    ) -> BackendFuture<'a, JobLogs> {
        Box::pin(self.logs(repo, wanted))
    }

    fn workflow_runs<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        wanted: &'a RunFilter,
        paging: Paging,
    ) -> BackendFuture<'a, RunPage> {
        Box::pin(self.runs(repo, wanted, paging))
    }

    fn rerun_failed_jobs<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        target: &'a RerunTarget,
    ) -> BackendFuture<'a, Vec<RepeatedRun>> {
        Box::pin(self.rerun(context, repo, target))
    }
}
