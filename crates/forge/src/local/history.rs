//! Lists commits from a revision backwards.

use super::repository_root::OpenRepository;
use super::{times, url};
use crate::{Commit, CommitPage, CommitPerson, Failure, Paging, RepoName, Revision};
use git2::Oid;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// The maximum number of commits that a handle reads for a page and is then used again. Git keeps those that
/// it has read in the memory of the handle.
pub const MAX_POOLED_COMMITS: usize = 2000;

/// Returns the number of entries before a page.
pub(super) fn skipped(paging: Paging) -> u64 {
    u64::from(paging.page.saturating_sub(1)) * u64::from(paging.per_page)
}

/// Returns the entries of a page, and whether there is a next page.
pub(super) fn page<T>(all: impl Iterator<Item = T>, paging: Paging) -> (Vec<T>, bool) {
    let skip = usize::try_from(skipped(paging)).unwrap_or(usize::MAX);
    let mut rest = all.skip(skip);
    let page: Vec<T> = rest.by_ref().take(paging.per_page as usize).collect();
    let more = rest.next().is_some();
    (page, more)
}

impl OpenRepository {
    pub(super) fn commits(&self, from: &Revision, paging: Paging) -> Result<CommitPage, Failure> {
        let mut history = History::new(self, self.resolve(from)?.id)?;
        for _ in 0..skipped(paging) {
            if history.next()?.is_none() {
                break;
            }
        }
        let mut commits = Vec::new();
        while commits.len() < paging.per_page as usize {
            let Some(commit) = history.next()? else { break };
            commits.push(summary(&self.location.name, &commit));
        }
        let more = !history.waiting.is_empty();
        self.is_spent
            .set(history.reached.len() > MAX_POOLED_COMMITS);
        Ok(CommitPage { commits, more })
    }
}

/// The commits of a history in the order of `git log`: the newest of those that were reached comes next,
/// and among equal dates the one that was reached first. Only the commits of a page, those before it and
/// their parents are read.
pub(super) struct History<'a> {
    opened: &'a OpenRepository,
    waiting: BinaryHeap<(i64, Reverse<u64>, Oid)>,
    reached: HashSet<Oid>,
}

impl<'a> History<'a> {
    pub(super) fn new(opened: &'a OpenRepository, from: Oid) -> Result<History<'a>, Failure> {
        let mut history = History {
            opened,
            waiting: BinaryHeap::new(),
            reached: HashSet::new(),
        };
        history.reach(from)?;
        Ok(history)
    }

    pub(super) fn reach(&mut self, id: Oid) -> Result<(), Failure> {
        if self.reached.insert(id) {
            // Git reads a date before 1970 as 0.
            let date = self.opened.commit_at(id)?.time().seconds().max(0);
            let number = self.reached.len() as u64;
            self.waiting.push((date, Reverse(number), id));
        }
        Ok(())
    }

    /// Returns the next commit. Its parents are not reached yet.
    pub(super) fn pop(&mut self) -> Result<Option<git2::Commit<'a>>, Failure> {
        match self.waiting.pop() {
            Some((_, _, id)) => self.opened.commit_at(id).map(Some),
            None => Ok(None),
        }
    }

    fn next(&mut self) -> Result<Option<git2::Commit<'a>>, Failure> {
        let Some(commit) = self.pop()? else {
            return Ok(None);
        };
        for parent in commit.parent_ids() {
            self.reach(parent)?;
        }
        Ok(Some(commit))
    }
}

pub(super) fn summary(repo: &RepoName, commit: &git2::Commit<'_>) -> Commit {
    let sha = commit.id().to_string();
    Commit {
        message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
        author: Some(signature(&commit.author())),
        committer: Some(signature(&commit.committer())),
        parents: commit.parent_ids().map(|id| id.to_string()).collect(),
        url: url::commit(repo, &sha),
        sha,
    }
}

fn signature(signature: &git2::Signature<'_>) -> CommitPerson {
    let text = |bytes: &[u8]| Some(String::from_utf8_lossy(bytes).into_owned());
    CommitPerson {
        name: text(signature.name_bytes()),
        email: text(signature.email_bytes()),
        date: times::of_seconds(signature.when().seconds()),
    }
}
