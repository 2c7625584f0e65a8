//! Compares two revisions, and shows one commit with its changes.

use super::LocalForge;
use super::code_search::SEARCH_TIME;
use super::errors::{OrBroken, run_blocking};
use super::file_changes::file_changes;
use super::history::{page, summary};
use super::pull_head::PullHead;
use super::repository_root::{OpenRepository, RepositoryRoot};
use crate::{
    BackendContext, BackendFuture, CodePage, CodeQuery, CommitDetails, ComparedRevisions,
    Comparison, ComparisonStatus, Failure, FileChanges, HistoryForge, MAX_COMPARED_FILES,
    MAX_PATCH_BYTES, MissingItem, Paging, RepoName, Revision, UnmetPrecondition,
};
use candor_guard::Deadline;
use git2::{Diff, Oid};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

const WHAT: &str = "the history could not be read";

fn first_files(diff: &Diff<'_>) -> Result<FileChanges, Failure> {
    file_changes(diff, MAX_COMPARED_FILES, MAX_PATCH_BYTES)
}

impl OpenRepository {
    /// Returns the commits that only the head has, in the order of `git log BASE..HEAD`.
    fn commits_ahead(&self, base: Oid, head: Oid) -> Result<Vec<Oid>, Failure> {
        let mut walk = self.git.revwalk().or_broken(WHAT)?;
        walk.push(head).or_broken(WHAT)?;
        walk.hide(base).or_broken(WHAT)?;
        let ahead: Result<HashSet<Oid>, _> = walk.collect();
        let mut ahead = ahead.or_broken(WHAT)?;
        let mut order = Vec::with_capacity(ahead.len());
        // Those that were reached, the newest first, and the first reached of equal dates.
        let mut waiting = BinaryHeap::new();
        let mut reached = 0_u64;
        let mut reach = |id: Oid, waiting: &mut BinaryHeap<_>| {
            if ahead.remove(&id) {
                reached += 1;
                // Git reads a date before 1970 as 0.
                let date = self.commit_at(id)?.time().seconds().max(0);
                waiting.push((date, Reverse(reached), id));
            }
            Ok::<(), Failure>(())
        };
        reach(head, &mut waiting)?;
        while let Some((_, _, id)) = waiting.pop() {
            order.push(id);
            for parent in self.commit_at(id)?.parent_ids() {
                reach(parent, &mut waiting)?;
            }
        }
        Ok(order)
    }

    fn compare(&self, base: Oid, head: Oid, paging: Paging) -> Result<Comparison, Failure> {
        let merge_base = self.merge_base(base, head)?;
        let merge_base = merge_base.ok_or(UnmetPrecondition::Unrelated)?;
        let counted = self.git.graph_ahead_behind(head, base);
        let (ahead, behind) = counted.or_broken(WHAT)?;
        let status = match (ahead, behind) {
            (0, 0) => ComparisonStatus::Identical,
            (_, 0) => ComparisonStatus::Ahead,
            (0, _) => ComparisonStatus::Behind,
            _ => ComparisonStatus::Diverged,
        };
        let order = self.commits_ahead(base, head)?;
        let (ids, more) = page(order.into_iter().rev(), paging);
        let repo = &self.location.name;
        let commits = ids
            .into_iter()
            .map(|id| Ok(summary(repo, &self.commit_at(id)?)));
        let commits: Result<_, Failure> = commits.collect();
        let changes = match paging.page {
            1 => first_files(&self.difference(Some(merge_base), head)?)?,
            _ => FileChanges::default(),
        };
        Ok(Comparison {
            base_sha: base.to_string(),
            head_sha: head.to_string(),
            merge_base_sha: merge_base.to_string(),
            status,
            ahead_by: ahead as u64,
            behind_by: behind as u64,
            commits: commits?,
            more,
            changes,
        })
    }

    fn details(&self, at: &Revision) -> Result<CommitDetails, Failure> {
        let (commit, _) = self.commit(at)?;
        let diff = self.difference(commit.parent_ids().next(), commit.id())?;
        let stats = diff.stats().or_broken("the difference could not be made")?;
        Ok(CommitDetails {
            commit: summary(&self.location.name, &commit),
            additions: stats.insertions() as u64,
            deletions: stats.deletions() as u64,
            changes: first_files(&diff)?,
        })
    }
}

/// Resolves the head of a comparison. The objects of a fork become visible in the repository.
fn compared_head(
    root: &RepositoryRoot,
    opened: &OpenRepository,
    revisions: &ComparedRevisions,
) -> Result<Oid, Failure> {
    let head = Revision::Named(revisions.head.clone());
    let owner = revisions.head_owner.as_deref();
    let repo = &opened.location.name;
    let Some(owner) = owner.filter(|owner| !owner.eq_ignore_ascii_case(repo.owner())) else {
        return Ok(opened.resolve(&head)?.id);
    };
    let fork = repo.of(owner).ok_or(MissingItem::Repository)?;
    let fork = root.open(&fork)?;
    let id = fork.resolve(&head)?.id;
    let head = PullHead {
        repo: Some(fork.location.name.clone()),
        id: Some(id),
        fork: Some(fork),
    };
    head.share_objects(opened)?;
    Ok(id)
}

impl HistoryForge for LocalForge {
    fn compare<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        revisions: &'a ComparedRevisions,
        paging: Paging,
    ) -> BackendFuture<'a, Comparison> {
        let (root, repo) = (Arc::clone(&self.root), repo.clone());
        let revisions = revisions.clone();
        Box::pin(run_blocking(move || {
            let opened = root.open(&repo)?;
            let base = opened.resolve(&Revision::Named(revisions.base.clone()))?.id;
            let head = compared_head(&root, &opened, &revisions)?;
            opened.compare(base, head, paging)
        }))
    }

    fn commit_details<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        at: &'a Revision,
    ) -> BackendFuture<'a, CommitDetails> {
        let (root, repo, at) = (Arc::clone(&self.root), repo.clone(), at.clone());
        Box::pin(run_blocking(move || root.open(&repo)?.details(&at)))
    }

    fn search_code<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a CodeQuery,
        paging: Paging,
    ) -> BackendFuture<'a, CodePage> {
        let (root, repo, query) = (Arc::clone(&self.root), repo.clone(), query.clone());
        let until = Deadline::after(SEARCH_TIME);
        Box::pin(run_blocking(move || {
            root.open(&repo)?.search_code(&query, until, paging)
        }))
    }
}
