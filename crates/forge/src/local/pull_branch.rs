//! Brings the branch of a pull request up to date: its base is merged into it.

use super::LocalForge;
use super::branch_swap::{SwapOutcome, locked};
use super::errors::run_blocking;
use super::merge_commits::{MergeBuild, MergeInputs};
use super::pull_head::{PullHead, copy};
use super::repository_root::{OpenRepository, RepositoryLocation};
use super::stored_pulls::StoredPull;
use crate::{
    BackendContext, Failure, MergeMethod, MissingItem, PullRequest, RepoName, UnmergeablePull,
    UnmergeableReason, UnmetPrecondition, UpdatedBranch,
};
use git2::Oid;
use std::sync::Arc;

/// A merge of the base into the head whose objects are written.
struct PreparedUpdate {
    /// The repository of the head branch.
    location: RepositoryLocation,
    from: Oid,
    to: Oid,
}

/// Returns the failure for a base that conflicts with the head.
fn conflict(target: &OpenRepository, number: u64, ours: Oid, theirs: Oid) -> Failure {
    Failure::Unmergeable(UnmergeablePull {
        number,
        reason: UnmergeableReason::Conflict,
        state: Some(String::from("dirty")),
        failing_checks: Vec::new(),
        response: None,
        // If they cannot be named, it is still a conflict.
        conflicts: target.conflict_report(ours, theirs).ok().map(Box::new),
    })
}

impl LocalForge {
    pub(super) async fn update_branch(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        pull: &PullRequest,
    ) -> Result<UpdatedBranch, Failure> {
        let location = self.location(repo).await?;
        let row = self.row(repo, pull.number).await?;
        let gone = || MissingItem::Branch(row.head.clone());
        let head_repo = pull.head_repo.as_ref().ok_or_else(gone)?;
        let head_location = self.location(head_repo).await?;
        let rules = self.rules_of(head_repo).await?;
        let _lock = self.lock(&head_location).await?;
        let forbidden = rules.forbid_commit(&row.head);
        let ready = self.prepare_update(location, &row, pull, forbidden).await?;
        let updated = |to: Oid, updated: bool| UpdatedBranch {
            updated,
            pending: false,
            previous_head_sha: pull.head_sha.clone(),
            head_sha: to.to_string(),
        };
        if ready.from == ready.to {
            return Ok(updated(ready.to, false));
        }
        context.mark.begins()?;
        let (root, mark, branch) = (Arc::clone(&self.root), context.mark.clone(), row.head);
        let (expected, to) = (pull.head_sha.clone(), ready.to);
        run_blocking(move || {
            let target = root.open_at(ready.location)?;
            let swapped = target.swap_marked(&branch, ready.from, ready.to, &mark)?;
            if swapped != SwapOutcome::Done {
                mark.undone();
            }
            match swapped {
                SwapOutcome::Done => Ok(()),
                SwapOutcome::Locked => Err(locked()),
                SwapOutcome::Moved => Err(Failure::BranchHeadMoved {
                    expected,
                    actual: target.branch(&branch)?.map(|id| id.to_string()),
                }),
            }
        })
        .await?;
        context.mark.done();
        Ok(updated(to, true))
    }

    /// Writes the objects of the merge. If the head has the base already, the branch stays as it is.
    async fn prepare_update(
        &self,
        location: RepositoryLocation,
        row: &StoredPull,
        pull: &PullRequest,
        forbidden: bool,
    ) -> Result<PreparedUpdate, Failure> {
        let (root, row, expected) = (Arc::clone(&self.root), row.clone(), pull.head_sha.clone());
        let (by, now) = (self.identity.clone(), self.now());
        run_blocking(move || {
            let base = root.open_at(location)?;
            let onto = base.branch(&row.base)?;
            let onto = onto.ok_or_else(|| MissingItem::Branch(row.base.clone()))?;
            let head = PullHead::of(&root, &base, &row)?;
            let from = head
                .id
                .ok_or_else(|| MissingItem::Branch(row.head.clone()))?;
            if from.to_string() != expected {
                let actual = Some(from.to_string());
                return Err(Failure::BranchHeadMoved { expected, actual });
            }
            let target = head.fork.as_ref().unwrap_or(&base);
            if let Some(fork) = &head.fork {
                copy(&base, fork, onto)?;
            }
            let location = target.location.clone();
            let to = match target.contains(from, onto)? {
                true => from,
                false if forbidden => {
                    return Err(UnmetPrecondition::BranchProtected(row.head).into());
                }
                false => match target.build(&MergeInputs {
                    base: from,
                    head: onto,
                    method: MergeMethod::Merge,
                    message: &format!("Merge branch '{}' into {}", row.base, row.head),
                    by: &by,
                    now,
                })? {
                    MergeBuild::Commit(to) => to,
                    MergeBuild::Conflict => return Err(conflict(target, row.number, from, onto)),
                },
            };
            Ok(PreparedUpdate { location, from, to })
        })
        .await
    }
}
