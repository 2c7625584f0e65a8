//! Reads the files of a pull request: the difference between its merge base and its head.

use super::LocalForge;
use super::errors::{OrBroken, run_blocking};
use super::file_changes::file_changes;
use super::protection::BranchProtections;
use super::pull_head::PullHead;
use super::repository_root::{OpenRepository, RepositoryRoot};
use super::reviews::{self, Approvals};
use super::stored_pulls::{StoredPull, StoredState};
use crate::{Failure, MissingItem, PullDetails, PullFileChange, PullRequest, RepoName};
use git2::{Diff, Oid};
use std::sync::Arc;

/// The maximum number of files, as on GitHub.
pub const MAX_FILES: usize = 3000;

/// Returns the files of a difference, with patches of at most `most` bytes in total.
fn files(diff: &Diff<'_>, most: usize) -> Result<(Vec<PullFileChange>, bool), Failure> {
    let changes = file_changes(diff, MAX_FILES, most)?;
    let files = changes.files.into_iter().map(|file| PullFileChange {
        path: file.path,
        status: file.status,
        additions: file.additions,
        deletions: file.deletions,
        patch: file.patch,
    });
    Ok((files.collect(), changes.truncated))
}

/// Returns the two commits between which a pull request changes files.
pub(super) fn ends(
    root: &RepositoryRoot,
    base: &OpenRepository,
    pull: &StoredPull,
    head_sha: &str,
) -> Result<(Oid, Oid), Failure> {
    let id = |sha: &str| Oid::from_str(sha).or_broken("a head is no commit");
    PullHead::of(root, base, pull)?.share_objects(base)?;
    let head = id(head_sha)?;
    let onto = match (&pull.merging_from, pull.state) {
        // The base contains the changes now, so they are compared with the base before the merge.
        (Some(from), StoredState::Merged | StoredState::Merging) => id(from)?,
        _ => {
            let onto = base.branch(&pull.base)?;
            onto.ok_or_else(|| MissingItem::Branch(pull.base.clone()))?
        }
    };
    let from = base.merge_base(onto, head)?;
    Ok((from.unwrap_or(onto), head))
}

impl LocalForge {
    pub(super) async fn details_of(
        &self,
        repo: &RepoName,
        pull: &PullRequest,
        most: usize,
    ) -> Result<PullDetails, Failure> {
        let location = self.location(repo).await?;
        let row = self.row(repo, pull.number).await?;
        let mut reading = self.database.read().await?;
        let reviews = reviews::of_pull(&mut reading, &row.repo, row.number).await?;
        let rules = BranchProtections::read(&mut reading, repo)
            .await?
            .of(&row.base);
        drop(reading);
        let required = rules.map_or(0, |rules| rules.required_approvals);
        let review_decision = Approvals::of(&reviews, &pull.head_sha).decision(required);
        let (reviews, is_cut) = reviews::shown(reviews);
        let (root, head_sha) = (Arc::clone(&self.root), pull.head_sha.clone());
        run_blocking(move || {
            root.build(&location, |base| {
                let (from, to) = ends(&root, base, &row, &head_sha)?;
                let (files, truncated) = files(&base.difference(Some(from), to)?, most)?;
                Ok(PullDetails {
                    reviews: reviews.clone(),
                    review_decision,
                    files,
                    truncated: truncated || is_cut,
                })
            })
        })
        .await
    }
}
