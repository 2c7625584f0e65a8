//! Finds pull requests by branches, author and label.

use super::LocalForge;
use super::pull_attributes::{NameTable, names};
use super::stored_pulls::StoredPull;
use crate::{Failure, FoundPulls, MAX_FILTERED_PULLS, Paging, PullQuery, RepoName};

/// The rows that are read at once.
const AT_ONCE: u64 = 200;

/// Returns true if the branches of a pull request are the wanted ones.
fn has_branches(pull: &StoredPull, repo: &RepoName, query: &PullQuery) -> bool {
    let owner = pull.head_owner.as_deref().unwrap_or(repo.owner());
    let same_owner = |wanted: &String| wanted.eq_ignore_ascii_case(owner);
    query.head.as_ref().is_none_or(|head| *head == pull.head)
        && query.base.as_ref().is_none_or(|base| *base == pull.base)
        && query.head_owner.as_ref().is_none_or(same_owner)
}

impl LocalForge {
    pub(super) async fn found_pulls(
        &self,
        repo: &RepoName,
        query: &PullQuery,
        paging: Paging,
    ) -> Result<FoundPulls, Failure> {
        let location = self.location(repo).await?;
        let per_page = paging.per_page as usize;
        let (mut skip, mut looked_at) = (super::history::skipped(paging) as usize, 0);
        let (mut rows, mut more, mut incomplete) = (Vec::new(), false, false);
        let mut reading = self.database.read().await?;
        'reading: for offset in (0..).step_by(AT_ONCE as usize) {
            let batch =
                super::stored_pulls::list(&mut reading, repo, query.state, offset, AT_ONCE).await?;
            let is_last = (batch.len() as u64) < AT_ONCE;
            for pull in batch {
                if !has_branches(&pull, &location.name, query) {
                    continue;
                }
                looked_at += 1;
                if query.needs_filter() && looked_at > MAX_FILTERED_PULLS {
                    incomplete = true;
                    break 'reading;
                }
                let labels = match query.label {
                    Some(_) => {
                        let table = NameTable::Labels;
                        names(&mut reading, table, &pull.repo, pull.number).await?
                    }
                    None => Vec::new(),
                };
                if !query.admits_names(pull.author.as_deref(), &labels) {
                    continue;
                }
                if skip > 0 {
                    skip -= 1;
                } else if rows.len() == per_page {
                    more = true;
                    break 'reading;
                } else {
                    rows.push(pull);
                }
            }
            if is_last {
                break;
            }
        }
        drop(reading);
        Ok(FoundPulls {
            pulls: self.summaries(location, rows).await?,
            more,
            incomplete,
        })
    }
}
