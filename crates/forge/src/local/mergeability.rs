//! Whether a pull request can be merged, in GitHub's words.

use super::LocalForge;
use super::failing::off;
use super::fork::Head;
use super::place::{Home, Opened, Place};
use super::protection::{Protections, Rules};
use super::pulls::{Pull, State};
use super::statuses;
use crate::{Check, CheckState, Failure, RepoName};
use git2::Oid;
use std::sync::Arc;

/// What git knows of a pull request now.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    /// The repository of its branch; nothing where it is gone.
    pub(super) head_repo: Option<RepoName>,
    /// Its head, the last known one where the branch is gone.
    pub(super) head_sha: String,
    /// What it has come to: a merge that was interrupted has happened or has not.
    pub(super) state: State,
    /// The branch that is gone, where one of its two is.
    pub(super) gone: Option<String>,
    /// Whether it conflicts; nothing where that was not looked at, or cannot be.
    pub(super) conflict: Option<bool>,
}

/// GitHub's words for whether a pull request can be merged, those of them that are said here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Unknown,
    Draft,
    Dirty,
    Blocked,
    Unstable,
    Clean,
}

impl Word {
    pub(super) fn text(self) -> &'static str {
        match self {
            Word::Unknown => "unknown",
            Word::Draft => "draft",
            Word::Dirty => "dirty",
            Word::Blocked => "blocked",
            Word::Unstable => "unstable",
            Word::Clean => "clean",
        }
    }
}

/// What its checks and its base's rules say.
#[derive(Debug, Clone, Default)]
pub(super) struct Verdict {
    pub(super) blocked: bool,
    /// Required checks that have not passed.
    pub(super) failing: Vec<String>,
    unstable: bool,
}

impl Standing {
    /// Looks at a pull request; at conflicts only where `whole`. Changes nothing.
    pub(super) fn of(
        place: &Place,
        base: &Opened,
        pull: &Pull,
        whole: bool,
    ) -> Result<Standing, Failure> {
        let state = settled(base, pull)?;
        let head = Head::of(place, base, pull)?;
        let id = match state {
            State::Open | State::Merging => head.id,
            State::Closed | State::Merged => None,
        };
        let onto = base.branch(&pull.base)?;
        let gone = match (head.id, onto) {
            (_, None) => Some(pull.base.clone()),
            (None, _) => Some(pull.head.clone()),
            _ => None,
        };
        let conflict = match (whole, id, onto) {
            (true, Some(id), Some(onto)) => {
                head.lend(base)?;
                base.write_to_memory()?;
                // What cannot be measured cannot be known; to merge it tells why.
                match base.must_merge_shallow(onto, id) {
                    Ok(()) => Some(base.conflicts(onto, id)?),
                    Err(_) => None,
                }
            }
            _ => None,
        };
        Ok(Standing {
            head_repo: head.repo,
            head_sha: id.map_or_else(|| pull.head_sha.clone(), |id| id.to_string()),
            state,
            gone,
            conflict,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Merging)
    }

    /// `mergeable` and `mergeable_state`.
    pub(super) fn words(&self, draft: bool, verdict: &Verdict) -> (Option<bool>, Word) {
        if !self.is_open() {
            return (None, Word::Unknown);
        }
        let word = match self.conflict {
            _ if draft => Word::Draft,
            None => Word::Unknown,
            Some(true) => Word::Dirty,
            Some(false) if verdict.blocked => Word::Blocked,
            Some(false) if verdict.unstable => Word::Unstable,
            Some(false) => Word::Clean,
        };
        (self.conflict.map(|conflict| !conflict), word)
    }
}

/// The state of a pull request, where an interrupted merge is judged by what its base has.
pub(super) fn settled(base: &Opened, pull: &Pull) -> Result<State, Failure> {
    if pull.state != State::Merging {
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
    Ok(if there { State::Merged } else { State::Open })
}

impl Verdict {
    pub(super) fn of(rules: Option<&Rules>, checks: &[Check]) -> Verdict {
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
        Verdict {
            blocked: !failing.is_empty() || rules.is_some_and(|rules| rules.locked),
            unstable: checks.iter().any(|check| check.state != CheckState::Passed),
            failing,
        }
    }
}

impl LocalForge {
    pub(super) async fn standing(
        &self,
        home: Home,
        pull: &Pull,
        whole: bool,
    ) -> Result<Standing, Failure> {
        let (place, pull) = (Arc::clone(&self.place), pull.clone());
        off(move || {
            let base = place.open_home(home)?;
            Standing::of(&place, &base, &pull, whole)
        })
        .await
    }

    pub(super) async fn verdict(
        &self,
        repo: &RepoName,
        base: &str,
        head_sha: &str,
    ) -> Result<Verdict, Failure> {
        let mut reading = self.database.read().await?;
        let rules = Protections::read(&mut reading, repo).await?;
        let checks = statuses::of_commit(&mut reading, repo, head_sha).await?;
        Ok(Verdict::of(rules.of(base).as_ref(), &checks))
    }
}
