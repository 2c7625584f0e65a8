//! Decides whether a pull request can be merged, in GitHub's words.

use super::LocalForge;
use super::errors::run_blocking;
use super::protection::{BranchProtections, BranchRules};
use super::pull_head::PullHead;
use super::repository_root::{OpenRepository, RepositoryLocation, RepositoryRoot};
use super::reviews::{self, Approvals};
use super::statuses;
use super::stored_pulls::{StoredPull, StoredState};
use super::tree_size::is_beyond_bounds;
use crate::{CheckState, CommitCheck, Failure, RepoName};
use git2::Oid;
use std::sync::Arc;

/// The current state of a pull request in git.
#[derive(Debug, Clone)]
pub(super) struct PullStatus {
    /// The repository of its branch. `None` if it was removed.
    pub(super) head_repo: Option<RepoName>,
    /// Its head, or the last known one if the branch was deleted.
    pub(super) head_sha: String,
    /// An interrupted merge counts as merged or open.
    pub(super) state: StoredState,
    /// The deleted branch, if one of the two was deleted.
    pub(super) gone: Option<String>,
    /// `None` if conflicts were not checked or cannot be checked.
    pub(super) conflict: Option<bool>,
}

/// The values of `mergeable_state` that this backend uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeableState {
    Unknown,
    Draft,
    Dirty,
    Blocked,
    Unstable,
    Clean,
}

impl MergeableState {
    pub(super) fn text(self) -> &'static str {
        match self {
            MergeableState::Unknown => "unknown",
            MergeableState::Draft => "draft",
            MergeableState::Dirty => "dirty",
            MergeableState::Blocked => "blocked",
            MergeableState::Unstable => "unstable",
            MergeableState::Clean => "clean",
        }
    }
}

/// The verdict of the checks, the reviews and the base's rules.
#[derive(Debug, Clone, Default)]
pub(super) struct ChecksVerdict {
    pub(super) blocked: bool,
    /// Required checks that have not passed.
    pub(super) failing: Vec<String>,
    unstable: bool,
}

impl PullStatus {
    /// Reads the status of a pull request, with conflicts if `whole`. Changes nothing.
    pub(super) fn of(
        root: &RepositoryRoot,
        base: &OpenRepository,
        pull: &StoredPull,
        whole: bool,
    ) -> Result<PullStatus, Failure> {
        let state = settled(base, pull)?;
        let head = PullHead::of(root, base, pull)?;
        let id = match state {
            StoredState::Open | StoredState::Merging => head.id,
            StoredState::Closed | StoredState::Merged => None,
        };
        let onto = base.branch(&pull.base)?;
        let gone = match (head.id, onto) {
            (_, None) => Some(pull.base.clone()),
            (None, _) => Some(pull.head.clone()),
            _ => None,
        };
        let conflict = match (whole, id, onto) {
            (true, Some(id), Some(onto)) => {
                head.share_objects(base)?;
                base.write_to_memory()?;
                // Trees that are too deep are not merged. The merge itself reports the reason.
                match base.conflicts(onto, id) {
                    Ok(conflict) => Some(conflict),
                    Err(failure) if is_beyond_bounds(&failure) => None,
                    Err(failure) => return Err(failure),
                }
            }
            _ => None,
        };
        Ok(PullStatus {
            head_repo: head.repo,
            head_sha: id.map_or_else(|| pull.head_sha.clone(), |id| id.to_string()),
            state,
            gone,
            conflict,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, StoredState::Open | StoredState::Merging)
    }

    /// Returns `mergeable` and `mergeable_state`.
    pub(super) fn words(
        &self,
        draft: bool,
        verdict: &ChecksVerdict,
    ) -> (Option<bool>, MergeableState) {
        if !self.is_open() {
            return (None, MergeableState::Unknown);
        }
        let word = match self.conflict {
            _ if draft => MergeableState::Draft,
            None => MergeableState::Unknown,
            Some(true) => MergeableState::Dirty,
            Some(false) if verdict.blocked => MergeableState::Blocked,
            Some(false) if verdict.unstable => MergeableState::Unstable,
            Some(false) => MergeableState::Clean,
        };
        (self.conflict.map(|conflict| !conflict), word)
    }
}

/// Returns the state of a pull request. The base branch shows whether an interrupted merge happened.
pub(super) fn settled(base: &OpenRepository, pull: &StoredPull) -> Result<StoredState, Failure> {
    if pull.state != StoredState::Merging {
        return Ok(pull.state);
    }
    let sha = pull
        .merging_sha
        .as_deref()
        .and_then(|sha| Oid::from_str(sha).ok());
    let there = match (sha, base.branch(&pull.base)?) {
        (Some(sha), Some(tip)) => base.git.find_commit(sha).is_ok() && base.contains(tip, sha)?,
        _ => false,
    };
    Ok(if there {
        StoredState::Merged
    } else {
        StoredState::Open
    })
}

impl ChecksVerdict {
    pub(super) fn of(
        rules: Option<&BranchRules>,
        checks: &[CommitCheck],
        approvals: &Approvals,
    ) -> ChecksVerdict {
        let state = |name: &str| checks.iter().find(|check| check.name == name);
        let passed =
            |name: &&String| state(name).is_some_and(|one| one.state == CheckState::Passed);
        let required = rules.map(|rules| &rules.required_checks);
        let failing: Vec<String> = required
            .into_iter()
            .flatten()
            .filter(|name| !passed(name))
            .cloned()
            .collect();
        let is_refused =
            |rules: &BranchRules| rules.locked || !approvals.satisfy(rules.required_approvals);
        ChecksVerdict {
            blocked: !failing.is_empty() || rules.is_some_and(is_refused),
            unstable: checks.iter().any(|check| check.state != CheckState::Passed),
            failing,
        }
    }
}

impl LocalForge {
    pub(super) async fn status(
        &self,
        location: RepositoryLocation,
        pull: &StoredPull,
        whole: bool,
    ) -> Result<PullStatus, Failure> {
        let (root, pull) = (Arc::clone(&self.root), pull.clone());
        run_blocking(move || {
            root.build(&location, |base| PullStatus::of(&root, base, &pull, whole))
        })
        .await
    }

    pub(super) async fn verdict(
        &self,
        repo: &RepoName,
        pull: &StoredPull,
        head_sha: &str,
    ) -> Result<ChecksVerdict, Failure> {
        let mut reading = self.database.read().await?;
        let rules = BranchProtections::read(&mut reading, repo).await?;
        let checks = statuses::of_commit(&mut reading, repo, head_sha).await?;
        let reviews = reviews::of_pull(&mut reading, &pull.repo, pull.number).await?;
        let approvals = Approvals::of(&reviews, head_sha);
        let rules = rules.of(&pull.base);
        Ok(ChecksVerdict::of(rules.as_ref(), &checks, &approvals))
    }
}
