//! Searches a history for the commits of a path, an author or a time.

use super::history::{History, skipped, summary};
use super::repository_root::OpenRepository;
use crate::{CommitFilter, Failure, FilteredCommits, Paging, Revision, UnmetPrecondition};
use candor_fault::Timestamp;
use candor_guard::Deadline;
use git2::{Commit, Oid};
use std::path::Path;
use std::time::Duration;

/// The maximum number of commits that are read for a page.
pub const MAX_SCANNED_COMMITS: usize = 100_000;

/// The time in which commits are read for a page.
pub const HISTORY_TIME: Duration = Duration::from_secs(5);

/// A filter whose times are seconds since 1970.
struct ParsedFilter<'a> {
    path: Option<&'a str>,
    author: Option<&'a str>,
    since: Option<i64>,
    until: Option<i64>,
}

fn seconds(text: Option<&String>) -> Result<Option<i64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    match text.parse::<Timestamp>() {
        Ok(at) => Ok(Some(at.as_second())),
        Err(_) => Err(UnmetPrecondition::NotATime(text.clone()).into()),
    }
}

impl ParsedFilter<'_> {
    fn new(filter: &CommitFilter) -> Result<ParsedFilter<'_>, Failure> {
        Ok(ParsedFilter {
            path: filter.path.as_deref(),
            author: filter.author.as_deref(),
            since: seconds(filter.since.as_ref())?,
            until: seconds(filter.until.as_ref())?,
        })
    }

    fn admits(&self, commit: &Commit<'_>) -> bool {
        let date = commit.time().seconds();
        let author = commit.author();
        let is = |bytes: &[u8], wanted: &str| bytes.eq_ignore_ascii_case(wanted.as_bytes());
        self.since.is_none_or(|since| date >= since)
            && self.until.is_none_or(|until| date <= until)
            && self.author.is_none_or(|wanted| {
                is(author.name_bytes(), wanted) || is(author.email_bytes(), wanted)
            })
    }
}

/// Returns the object and the mode of a path in a commit.
fn entry_at(commit: &Commit<'_>, path: &str) -> Result<Option<(Oid, i32)>, Failure> {
    use super::errors::OrBroken as _;
    let tree = commit.tree().or_broken("a directory could not be read")?;
    let entry = tree.get_path(Path::new(path)).ok();
    Ok(entry.map(|entry| (entry.id(), entry.filemode_raw())))
}

impl OpenRepository {
    pub(super) fn filtered_commits(
        &self,
        from: &Revision,
        filter: &CommitFilter,
        paging: Paging,
    ) -> Result<FilteredCommits, Failure> {
        let filter = ParsedFilter::new(filter)?;
        let until = Deadline::after(HISTORY_TIME);
        let mut history = History::new(self, self.resolve(from)?.id)?;
        let mut found = FilteredCommits {
            commits: Vec::new(),
            more: false,
            truncated: false,
        };
        let mut left = skipped(paging);
        let mut scanned = 0;
        while let Some(commit) = history.pop()? {
            scanned += 1;
            if scanned > MAX_SCANNED_COMMITS || until.passed() {
                found.truncated = true;
                break;
            }
            let is_shown = self.follow(&mut history, &commit, filter.path)?;
            if !is_shown || !filter.admits(&commit) {
                continue;
            }
            if left > 0 {
                left -= 1;
            } else if found.commits.len() < paging.per_page as usize {
                found.commits.push(summary(&self.location.name, &commit));
            } else {
                found.more = true;
                break;
            }
        }
        self.is_spent.set(true);
        Ok(found)
    }

    /// Reaches the parents of a commit as `git log -- path` does, and returns true if the commit changes the
    /// path: a merge that has the path of one parent is followed to that parent only.
    fn follow(
        &self,
        history: &mut History<'_>,
        commit: &Commit<'_>,
        path: Option<&str>,
    ) -> Result<bool, Failure> {
        let Some(path) = path else {
            for parent in commit.parent_ids() {
                history.reach(parent)?;
            }
            return Ok(true);
        };
        let here = entry_at(commit, path)?;
        for parent in commit.parent_ids() {
            if entry_at(&self.commit_at(parent)?, path)? == here {
                history.reach(parent)?;
                return Ok(false);
            }
        }
        for parent in commit.parent_ids() {
            history.reach(parent)?;
        }
        Ok(commit.parent_count() > 0 || here.is_some())
    }
}
