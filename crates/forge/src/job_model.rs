//! Jobs of checks: their logs, the runs that they belong to, and running them again.

use serde::Serialize;

/// The jobs whose logs are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobSelector {
    /// The failing jobs of a commit, by the beginning of its SHA.
    Commit(String),
    /// One job, whatever its result.
    Job(u64),
}

/// The end of a log, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLog {
    pub bytes: Vec<u8>,
    /// True if the log has more bytes before these.
    pub is_cut: bool,
}

/// The reason why the log of a job cannot be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogGap {
    /// It was deleted after its time.
    Expired,
    /// The job has written none.
    Missing,
    /// The token may not read it.
    Forbidden,
    /// It is larger than is read.
    TooLarge,
}

/// A job and its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLog {
    /// `None` for a check that is not a job, such as a status of another app.
    pub id: Option<u64>,
    pub name: String,
    pub conclusion: String,
    pub url: Option<String>,
    pub log: Option<RawLog>,
    pub unavailable: Option<LogGap>,
}

/// The jobs of a commit, in the byte order of their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLogs {
    pub sha: String,
    pub jobs: Vec<JobLog>,
    /// True if there are more jobs.
    pub more: bool,
}

/// The runs that are wanted. `None` is any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFilter {
    pub branch: Option<String>,
    /// The beginning of a commit's SHA.
    pub sha: Option<String>,
    /// A status or a conclusion, in GitHub's words.
    pub status: Option<String>,
}

/// A run of a workflow. On the local forge every check is a run with one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowRun {
    pub id: u64,
    pub name: Option<String>,
    pub status: String,
    pub conclusion: Option<String>,
    pub branch: Option<String>,
    pub sha: String,
    pub event: Option<String>,
    pub attempt: u64,
    pub created_at: String,
    pub updated_at: String,
    pub url: Option<String>,
}

/// A page of runs, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    pub runs: Vec<WorkflowRun>,
    pub more: bool,
}

/// The runs whose failed jobs are to run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RerunTarget {
    Run(u64),
    /// All runs of a commit, by its full SHA.
    Commit(String),
}

/// A run whose failed jobs run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RepeatedRun {
    pub id: u64,
    /// The number of its new attempt.
    pub attempt: u64,
}
