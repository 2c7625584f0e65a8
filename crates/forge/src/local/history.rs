//! Lists commits from a revision backwards.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use super::{times, url};
use crate::{Commit, CommitPage, CommitPerson, Failure, Paging, RepoName, Revision};
use git2::Sort;

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
        const WHAT: &str = "the history could not be read";
        let from = self.resolve(from)?.id;
        let mut walk = self.git.revwalk().or_broken(WHAT)?;
        walk.set_sorting(Sort::TIME).or_broken(WHAT)?;
        walk.push(from).or_broken(WHAT)?;
        let (ids, more) = page(walk, paging);
        let mut commits = Vec::with_capacity(ids.len());
        for id in ids {
            let commit = self.commit_at(id.or_broken(WHAT)?)?;
            commits.push(summary(&self.location.name, &commit));
        }
        Ok(CommitPage { commits, more })
    }
}

fn summary(repo: &RepoName, commit: &git2::Commit<'_>) -> Commit {
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
