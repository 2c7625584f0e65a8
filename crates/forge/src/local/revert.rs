//! Opens a pull request that undoes a merged one. A merge moved its base from one commit to another, so
//! the opposite difference is merged into the base as it is now, whatever the method of the merge was.

use super::Identity;
use super::LocalForge;
use super::errors::{OrBroken, run_blocking};
use super::merge_commits::{message, signature};
use super::repository_root::{OpenRepository, RepositoryLocation};
use super::revision::branch_ref;
use super::stored_pulls::{self, StoredPull, StoredState};
use super::tree_merge::{TreeMerge, TreeMerger};
use crate::{
    BackendContext, Conflict, ConflictReport, Failure, MissingItem, NewPullRequest, PullRequest,
    RepoName, RevertInstruction, UnmergeablePull, UnmergeableReason, UnmetPrecondition,
};
use candor_fault::{Effect, Timestamp};
use git2::Oid;
use std::sync::Arc;

const WHAT: &str = "the revert could not be made";

/// The maximum number of characters of a title.
const MAX_TITLE_CHARS: usize = 256;

/// Branches of earlier reverts stay, so a further one gets a number.
const MAX_NUMBER: usize = 9;

/// Returns the names that the branch of a revert may have.
fn branches(pull: &StoredPull) -> impl Iterator<Item = String> {
    let name = format!("revert-{}-{}", pull.number, pull.head);
    (1..=MAX_NUMBER).map(move |number| match number {
        1 => name.clone(),
        _ => format!("{name}-{number}"),
    })
}

/// Returns the failure for later changes that conflict with the revert.
fn conflicting_revert(pull: &StoredPull, conflicts: Vec<Conflict>) -> Failure {
    let conflicts = ConflictReport {
        conflicts: Some(conflicts),
        changed_on_both: None,
    };
    Failure::Unmergeable(UnmergeablePull {
        number: pull.number,
        reason: UnmergeableReason::RevertConflict,
        state: Some(String::from("dirty")),
        failing_checks: Vec::new(),
        response: None,
        conflicts: Some(Box::new(conflicts)),
    })
}

impl OpenRepository {
    /// Writes the commit that undoes a merge on top of the base as it is now.
    fn write_revert(
        &self,
        pull: &StoredPull,
        text: &str,
        by: &Identity,
        now: Timestamp,
    ) -> Result<Oid, Failure> {
        let id = |sha: &Option<String>| {
            let sha = sha.as_deref().unwrap_or_default();
            Oid::from_str(sha).or_broken("the merge has no commit on record")
        };
        let (before, merged) = (id(&pull.merging_from)?, id(&pull.merging_sha)?);
        let tip = self.branch(&pull.base)?;
        let tip = tip.ok_or_else(|| MissingItem::Branch(pull.base.clone()))?;
        let memory = self.in_memory()?;
        let undone = TreeMerger::new(&memory)?.trees([Some(merged), Some(tip), Some(before)])?;
        let tree = match undone {
            TreeMerge::Tree(tree) => tree,
            TreeMerge::Conflicts(conflicts) => return Err(conflicting_revert(pull, conflicts)),
        };
        let parent = self.commit_at(tip)?;
        if tree == parent.tree_id() {
            return Err(UnmetPrecondition::NothingToCommit.into());
        }
        self.keep_tree(&memory, tree)?;
        let tree = self.git.find_tree(tree).or_broken(WHAT)?;
        let by = signature(by, now)?;
        let commit = self
            .git
            .commit(None, &by, &by, &message(text), &tree, &[&parent]);
        commit.or_broken(WHAT)
    }
}

impl LocalForge {
    pub(super) async fn revert(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        order: &RevertInstruction,
    ) -> Result<PullRequest, Failure> {
        let number = order.pull.number;
        let location = self.location(repo).await?;
        let lock = self.lock(&location).await?;
        let pull = self.row(repo, number).await?;
        let pull = self.settle(&location, pull).await?;
        if pull.state != StoredState::Merged {
            return Err(UnmetPrecondition::NotMerged(number).into());
        }
        let branch = self.free_branch(&location, &pull).await?;
        let title = format!("Revert \"{}\"", pull.title);
        let title = order.title.clone().unwrap_or(title);
        let reverts = format!("Reverts {}#{number}", location.name);
        let text = format!("{title}\n\n{reverts}");
        let (base, commit) = (pull.base.clone(), self.write(&location, pull, text).await?);
        context.mark.begins()?;
        self.make_ref(context, &location, &branch, commit).await?;
        // Opening a pull request takes the lock itself.
        drop(lock);
        let new = NewPullRequest {
            title: title.chars().take(MAX_TITLE_CHARS).collect(),
            head_owner: None,
            head: branch.clone(),
            base,
            body: Some(order.body.clone().unwrap_or(reverts)),
            draft: order.draft,
        };
        match self.create_pull(context, repo, &new).await {
            Err(failure) if context.mark.effect() != Effect::Done => Err(self
                .give_up(context, &location, &branch, commit, failure)
                .await),
            opened => opened,
        }
    }

    /// Returns a branch that does not exist. Fails if an open pull request reverts the same one.
    async fn free_branch(
        &self,
        location: &RepositoryLocation,
        pull: &StoredPull,
    ) -> Result<String, Failure> {
        let mut reading = self.database.read().await?;
        for branch in branches(pull) {
            let revert = StoredPull {
                head: branch.clone(),
                head_owner: None,
                ..pull.clone()
            };
            if let Some(number) = stored_pulls::open_between(&mut reading, &revert).await? {
                return Err(UnmetPrecondition::RevertExists(number).into());
            }
        }
        drop(reading);
        let (root, at, pull) = (Arc::clone(&self.root), location.clone(), pull.clone());
        run_blocking(move || {
            let opened = root.open_at(at)?;
            for branch in branches(&pull) {
                if opened.branch(&branch)?.is_none() {
                    return Ok(branch);
                }
            }
            let taken = branches(&pull).next().unwrap_or_default();
            Err(UnmetPrecondition::BranchExists(taken).into())
        })
        .await
    }

    async fn write(
        &self,
        location: &RepositoryLocation,
        pull: StoredPull,
        text: String,
    ) -> Result<Oid, Failure> {
        let (root, at) = (Arc::clone(&self.root), location.clone());
        let (by, now) = (self.identity.clone(), self.now());
        run_blocking(move || root.open_at(at)?.write_revert(&pull, &text, &by, now)).await
    }

    async fn make_ref(
        &self,
        context: &BackendContext,
        location: &RepositoryLocation,
        branch: &str,
        commit: Oid,
    ) -> Result<(), Failure> {
        let (root, at, name) = (Arc::clone(&self.root), location.clone(), branch_ref(branch));
        let made = run_blocking(move || {
            let opened = root.open_at(at)?;
            opened.sync_objects()?;
            let made = opened.git.reference(&name, commit, false, "revert");
            made.or_broken("the branch could not be made")?;
            opened.sync_ref(&name)
        });
        let made = made.await;
        if made.is_err() {
            // A branch that was made and not synced is unused, like one whose pull request was closed.
            context.mark.undone();
        }
        made
    }

    /// Deletes the branch again, after its pull request could not be opened.
    async fn give_up(
        &self,
        context: &BackendContext,
        location: &RepositoryLocation,
        branch: &str,
        commit: Oid,
        failure: Failure,
    ) -> Failure {
        let (root, at, name) = (Arc::clone(&self.root), location.clone(), branch_ref(branch));
        let deleted = run_blocking(move || {
            let opened = root.open_at(at)?;
            let mut reference = opened.git.find_reference(&name).or_broken(WHAT)?;
            match reference.target() == Some(commit) {
                true => reference.delete().or_broken(WHAT),
                false => Ok(()),
            }
        });
        match deleted.await {
            Ok(()) => {
                context.mark.undone();
                failure
            }
            Err(_) => {
                // The call has begun before.
                let _ = context.mark.begins();
                context.mark.done();
                Failure::Partly {
                    done: "the branch with the revert was made",
                    rest: Box::new(failure),
                }
            }
        }
    }
}
