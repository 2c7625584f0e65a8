//! The part of a backend that has the logs of jobs and runs jobs again.

use crate::{
    BackendContext, BackendFuture, JobLogs, JobSelector, Paging, RepeatedRun, RepoName,
    RerunTarget, RunFilter, RunPage,
};

/// The maximum number of jobs whose logs are answered.
pub const MAX_JOBS: usize = 10;

/// The bytes at the end of a log that a backend reads.
pub const MAX_LOG_TAIL_BYTES: usize = 1024 * 1024;

/// A backend that has the logs of jobs and runs jobs again.
pub trait JobForge {
    /// Returns the logs of at most [`MAX_JOBS`] jobs, of each the last [`MAX_LOG_TAIL_BYTES`] at most.
    fn job_logs<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        wanted: &'a JobSelector,
    ) -> BackendFuture<'a, JobLogs>;

    /// Lists runs of workflows.
    fn workflow_runs<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        wanted: &'a RunFilter,
        paging: Paging,
    ) -> BackendFuture<'a, RunPage>;

    /// Runs failed jobs again. Fails if none has failed.
    fn rerun_failed_jobs<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        target: &'a RerunTarget,
    ) -> BackendFuture<'a, Vec<RepeatedRun>>;
}
