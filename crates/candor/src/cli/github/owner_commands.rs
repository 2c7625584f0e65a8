//! `candor github init`, `import`, `status` and `protect`: commands of the local forge's owner.

use super::{forge_error, open, open_recorded};
use crate::cli::data_dir::DataDirArgs;
use crate::cli::{CommandError, print};
use crate::host::run;
use candor_forge::local::{
    BranchProtection, BranchRules, ImportProgress, LocalForge, StoredLog, import_observed,
};
use candor_forge::{
    BackendContext, Branch, CheckState, Failure, Forge, Paging, PullFilter, PullState, RepoName,
    Revision,
};
use candor_guard::Deadline;
use candor_street::EffectMark;
use clap::{ArgGroup, Args};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing_subscriber::filter::LevelFilter;

/// The time after which an import shows its progress.
const QUIET_IMPORT: Duration = Duration::from_millis(500);

/// Create a local forge with a sample repository
///
/// The repository sample/hello has a few commits, branches and three pull requests: one that can be
/// merged, one with a conflict, and a draft.
#[derive(Debug, Args)]
pub(in crate::cli) struct GithubInitArgs {
    #[command(flatten)]
    data: DataDirArgs,
}

impl GithubInitArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let dir = self.data.forge()?;
        let created = run(|_| async {
            let created = candor_forge::local::init(&dir).await;
            created.map_err(|error| forge_error(&error))
        })?;
        let dir = dir.display();
        let message = match created {
            true => format!("created a forge in {dir} with the repository sample/hello\n"),
            false => format!("the forge in {dir} exists already; nothing was changed\n"),
        };
        print(message.as_bytes())
    }
}

pub(super) fn repo_name(text: &str) -> Result<RepoName, String> {
    RepoName::parse(text).ok_or_else(|| String::from("write it as owner/name"))
}

/// Copy a clone into the local forge
///
/// All branches and tags are copied. The clone itself is not changed and not linked to.
#[derive(Debug, Args)]
pub(in crate::cli) struct GithubImportArgs {
    /// The directory of a clone, bare or not
    path: PathBuf,
    /// The name in the local forge
    #[arg(value_name = "OWNER/NAME", value_parser = repo_name)]
    repo: RepoName,
    #[command(flatten)]
    data: DataDirArgs,
}

impl GithubImportArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let dir = self.data.forge()?;
        let line = Arc::new(ImportLine::new());
        let observer = Arc::clone(&line);
        let imported = run(|_| async {
            let observer = Arc::new(move |progress| observer.show(progress));
            let created = import_observed(&dir, &self.path, &self.repo, observer).await;
            created.map_err(|error| forge_error(&error))
        });
        line.end();
        imported?;
        print(format!("imported {}\n", self.repo).as_bytes())
    }
}

/// The line on a terminal that shows how far an import is. A short import shows none.
struct ImportLine {
    is_terminal: bool,
    started: Instant,
    is_shown: AtomicBool,
}

impl ImportLine {
    fn new() -> ImportLine {
        ImportLine {
            is_terminal: io::stderr().is_terminal(),
            started: Instant::now(),
            is_shown: AtomicBool::new(false),
        }
    }

    fn show(&self, progress: ImportProgress) {
        if self.is_terminal && self.started.elapsed() >= QUIET_IMPORT {
            self.is_shown.store(true, Ordering::Relaxed);
            let line = progress_line(progress);
            // If stderr is closed, the message cannot be shown anywhere else.
            let _ = write!(io::stderr(), "\r{line}");
        }
    }

    fn end(&self) {
        if self.is_shown.load(Ordering::Relaxed) {
            let _ = writeln!(io::stderr());
        }
    }
}

fn progress_line(progress: ImportProgress) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let (copied, total) = (mib(progress.copied), mib(progress.total));
    format!("copied {copied:.1} of {total:.1} MiB")
}

/// Show the repositories of the local forge, or set the result of a check
#[derive(Debug, Args)]
pub(in crate::cli) struct GithubStatusArgs {
    /// The repository [default: all]
    #[arg(value_name = "OWNER/NAME", value_parser = repo_name)]
    repo: Option<RepoName>,
    /// Set the result of a check: NAME=success, NAME=failure or NAME=pending
    #[arg(long, value_name = "NAME=STATE", requires = "repo", conflicts_with = "json", value_parser = check)]
    set: Option<(String, CheckState)>,
    /// The branch, tag or commit that was checked [default: the default branch]
    #[arg(long, value_name = "REVISION", requires = "set")]
    at: Option<String>,
    /// A file with the log of the check, of which the last 1 MiB is kept; `-` is stdin
    #[arg(id = "check_log", long = "log", value_name = "FILE", requires = "set")]
    log: Option<PathBuf>,
    /// The level of the log on stderr, which is --log of all other commands
    // With the id of the global flag, which therefore is not one of this command.
    #[arg(id = "log", long = "log-level", value_name = "LEVEL")]
    _log_level: Option<LevelFilter>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataDirArgs,
}

/// Reads the end of a log.
fn read_log(path: &Path) -> Result<StoredLog, CommandError> {
    let read = match path.as_os_str() == "-" {
        true => StoredLog::read(io::stdin().lock()),
        false => File::open(path).and_then(StoredLog::read),
    };
    read.map_err(|error| {
        CommandError::new(format!("cannot read the log {}: {error}", path.display()))
    })
}

fn check(text: &str) -> Result<(String, CheckState), String> {
    let wrong = || String::from("write NAME=success, NAME=failure or NAME=pending");
    let (name, state) = text.rsplit_once('=').ok_or_else(wrong)?;
    let state = match state {
        "success" => CheckState::Passed,
        "failure" => CheckState::Failed,
        "pending" => CheckState::Pending,
        _ => return Err(wrong()),
    };
    match name.is_empty() || name.len() > 200 {
        true => Err(wrong()),
        false => Ok((name.to_owned(), state)),
    }
}

impl GithubStatusArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let dir = self.data.forge()?;
        let (text, damaged) = run(|_| async {
            let forge = match &self.set {
                // A check may settle the last condition of auto-merge.
                Some(_) => open_recorded(&self.data).await?,
                None => open(&dir).await?,
            };
            match (&self.repo, &self.set) {
                (Some(repo), Some((name, state))) => {
                    let text = self.set_check(&forge, repo, name, *state).await?;
                    Ok((text, None))
                }
                (Some(repo), None) => {
                    let text = self.render(&[repo_status(&forge, repo).await?])?;
                    Ok((text, None))
                }
                (None, _) => self.all(&forge).await,
            }
        })?;
        print(text.as_bytes())?;
        damaged.map_or(Ok(()), Err)
    }

    /// Returns the status of all repositories that can be read, and an error that names the others.
    async fn all(
        &self,
        forge: &LocalForge,
    ) -> Result<(String, Option<CommandError>), CommandError> {
        let repositories = forge.repositories().await;
        let repositories = repositories.map_err(|error| forge_error(&error))?;
        let (mut all, mut damaged) = (Vec::new(), Vec::new());
        for repo in repositories {
            match repo_status(forge, &repo).await {
                Ok(status) => all.push(status),
                Err(error) => damaged.push(format!("{repo} cannot be read: {}", error.message)),
            }
        }
        let error = (!damaged.is_empty()).then(|| {
            CommandError::new(damaged.join("\n"))
                .with_hint("to see the damage, run `git fsck` in the repository")
        });
        Ok((self.render(&all)?, error))
    }

    async fn set_check(
        &self,
        forge: &LocalForge,
        repo: &RepoName,
        name: &str,
        state: CheckState,
    ) -> Result<String, CommandError> {
        let at = match &self.at {
            Some(name) => Revision::Named(name.clone()),
            None => Revision::Default,
        };
        let log = self.log.as_deref().map(read_log).transpose()?;
        let set = forge.set_status_with_log(repo, &at, name, state, log.as_ref());
        let set = set.await;
        let sha = set.map_err(|error| forge_error(&error))?;
        let state = match state {
            CheckState::Passed => "success",
            CheckState::Failed => "failure",
            CheckState::Pending => "pending",
        };
        Ok(format!("{name} of {sha} is {state}\n"))
    }

    fn render(&self, all: &[RepoStatus]) -> Result<String, CommandError> {
        if !self.json {
            return Ok(all
                .iter()
                .map(RepoStatus::text)
                .collect::<Vec<_>>()
                .join("\n"));
        }
        let text = serde_json::to_string_pretty(all).map_err(std::io::Error::other)?;
        Ok(text + "\n")
    }
}

#[derive(Serialize)]
struct PullStatus {
    number: u64,
    title: String,
    head: String,
    base: String,
    mergeable_state: Option<String>,
}

#[derive(Serialize)]
struct ProtectionStatus {
    branch: String,
    require_pull_request: bool,
    locked: bool,
    required_checks: Vec<String>,
    required_approvals: u32,
}

#[derive(Serialize)]
struct RepoStatus {
    repo: String,
    default_branch: String,
    branches: Vec<Branch>,
    more_branches: bool,
    open_pull_requests: Vec<PullStatus>,
    protections: Vec<ProtectionStatus>,
}

/// The time limit for reading one repository.
const PATIENCE: Duration = Duration::from_secs(60);

/// The page of branches and pull requests that is shown.
const FIRST: Paging = Paging {
    page: 1,
    per_page: 100,
};

fn failure_error(failure: Failure) -> CommandError {
    forge_error(&failure.into())
}

/// Reads the status of one repository.
async fn repo_status(forge: &LocalForge, repo: &RepoName) -> Result<RepoStatus, CommandError> {
    let turn = BackendContext::new(Deadline::after(PATIENCE), EffectMark::read_only());
    let repository = forge.repository(&turn, repo).await.map_err(failure_error)?;
    let branches = forge
        .branches(&turn, repo, FIRST)
        .await
        .map_err(failure_error)?;
    let pulls = forge
        .pull_requests(&turn, repo, PullFilter::Open, FIRST)
        .await
        .map_err(failure_error)?;
    let mut open = Vec::new();
    for pull in pulls
        .pulls
        .iter()
        .filter(|pull| pull.state == PullState::Open)
    {
        let pull = forge
            .pull_request(&turn, repo, pull.number)
            .await
            .map_err(failure_error)?;
        open.push(PullStatus {
            number: pull.number,
            title: pull.title,
            head: pull.head,
            base: pull.base,
            mergeable_state: pull.mergeable_state,
        });
    }
    let protections = forge
        .protections(repo)
        .await
        .map_err(|error| forge_error(&error))?;
    Ok(RepoStatus {
        repo: repository.name.to_string(),
        default_branch: repository.default_branch,
        branches: branches.branches,
        more_branches: branches.more,
        open_pull_requests: open,
        protections: protections
            .into_iter()
            .map(ProtectionStatus::from)
            .collect(),
    })
}

impl From<BranchProtection> for ProtectionStatus {
    fn from(protection: BranchProtection) -> Self {
        ProtectionStatus {
            branch: protection.branch,
            require_pull_request: protection.rules.require_pull_request,
            locked: protection.rules.locked,
            required_checks: protection.rules.required_checks.into_iter().collect(),
            required_approvals: protection.rules.required_approvals,
        }
    }
}

impl ProtectionStatus {
    fn describe(&self) -> String {
        let mut words = Vec::new();
        if self.locked {
            words.push(String::from("locked"));
        }
        if self.require_pull_request {
            words.push(String::from("pull requests only"));
        }
        if !self.required_checks.is_empty() {
            words.push(format!("needs {}", self.required_checks.join(", ")));
        }
        match self.required_approvals {
            0 => {}
            1 => words.push(String::from("needs 1 approval")),
            several => words.push(format!("needs {several} approvals")),
        }
        words.join("; ")
    }
}

impl RepoStatus {
    fn text(&self) -> String {
        let bold = anstyle::Style::new().bold();
        let mut text = format!("{bold}{}{bold:#}\n", self.repo);
        // Writing to a string cannot fail.
        for branch in &self.branches {
            let short = branch.sha.get(..10).unwrap_or(&branch.sha);
            let default = if branch.name == self.default_branch {
                "  default"
            } else {
                ""
            };
            let guarded = if branch.protected { "  protected" } else { "" };
            let _ = writeln!(text, "  branch  {short}  {}{default}{guarded}", branch.name);
        }
        if self.more_branches {
            let _ = writeln!(text, "  …and more branches");
        }
        for pull in &self.open_pull_requests {
            let state = pull.mergeable_state.as_deref().unwrap_or("unknown");
            let (number, head, base) = (pull.number, &pull.head, &pull.base);
            let title = candor_workspace::visible_text(&pull.title);
            let _ = writeln!(
                text,
                "  pull    #{number}  {head} → {base}  {state}  {title}"
            );
        }
        for rules in &self.protections {
            let _ = writeln!(text, "  rules   {}  {}", rules.branch, rules.describe());
        }
        text
    }
}

/// Protect a branch of a repository in the local forge, or a pattern of branches
///
/// A protected branch accepts changes only through pull requests, unless --allow-commits is given. New rules
/// replace earlier rules of the same branch or pattern. If several patterns match, all of them apply.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("conditions").multiple(true))]
pub(in crate::cli) struct ProtectArgs {
    /// The repository
    #[arg(value_name = "OWNER/NAME", value_parser = repo_name)]
    repo: RepoName,
    /// The branch; * matches any text without /
    branch: String,
    /// A check that must have passed before a merge (repeatable)
    #[arg(long, value_name = "NAME", group = "conditions")]
    require_check: Vec<String>,
    /// The number of people who must approve the head of a pull request before a merge
    #[arg(long, value_name = "N", group = "conditions", value_parser = clap::value_parser!(u32).range(1..=100))]
    require_approvals: Option<u32>,
    /// Allow direct commits; pull requests still need their checks and approvals
    #[arg(long, requires = "conditions")]
    allow_commits: bool,
    /// Allow no change at all
    #[arg(long, conflicts_with = "allow_commits")]
    locked: bool,
    /// Remove the rules of exactly this branch or pattern
    #[arg(long, conflicts_with_all = ["conditions", "allow_commits", "locked"])]
    remove: bool,
    #[command(flatten)]
    data: DataDirArgs,
}

impl ProtectArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let dir = self.data.forge()?;
        let rules = BranchRules {
            require_pull_request: !self.allow_commits,
            locked: self.locked,
            required_checks: self.require_check.iter().cloned().collect(),
            required_approvals: self.require_approvals.unwrap_or(0),
        };
        let (repo, branch) = (&self.repo, &self.branch);
        let message = run(|_| async {
            let forge = open(&dir).await?;
            if self.remove {
                let gone = forge
                    .unprotect(repo, branch)
                    .await
                    .map_err(|error| forge_error(&error))?;
                return match gone {
                    true => Ok(format!("removed the rules of {branch} of {repo}\n")),
                    false => Err(
                        CommandError::new(format!("{branch} of {repo} has no rules")).with_hint(
                            format!("to show all rules, run:\n  candor github status {repo}"),
                        ),
                    ),
                };
            }
            forge
                .protect(repo, branch, &rules)
                .await
                .map_err(|error| forge_error(&error))?;
            Ok(format!("{branch} of {repo} is protected\n"))
        })?;
        print(message.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_in_mebibytes() {
        let progress = ImportProgress {
            copied: 3 << 19,
            total: 64 << 20,
        };
        assert_eq!(progress_line(progress), "copied 1.5 of 64.0 MiB");
    }
}
