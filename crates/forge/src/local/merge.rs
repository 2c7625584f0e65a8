//! Merges a pull request: open → merging → (the base moves) → merged. The base is moved by compare and
//! swap, so a concurrent push is noticed and never overwritten.

use super::branch_swap::{SwapOutcome, locked};
use super::errors::{OrBroken, run_blocking};
use super::merge_commits::{MergeBuild, MergeInputs};
use super::mergeability::MergeableState;
use super::pull_head::PullHead;
use super::repository_root::{OpenRepository, RepositoryLocation};
use super::stored_pulls::{self, StoredPull, StoredState};
use super::{ChangePoint, LocalForge};
use crate::{
    BackendContext, Failure, MergeInstruction, MergeMethod, MergedPull, MissingItem, RepoName,
    UnmergeablePull, UnmergeableReason, UnmetPrecondition,
};
use candor_fault::Effect;
use git2::Oid;
use std::sync::Arc;

const WRITE: &str = "the merge could not be put on record";

/// Attempts to merge on a base that other writers move.
const TRIES: usize = 4;

/// A merge whose objects are written.
struct PreparedMerge {
    from: Oid,
    to: Oid,
}

fn unmergeable(
    number: u64,
    reason: UnmergeableReason,
    word: MergeableState,
    failing_checks: Vec<String>,
) -> Failure {
    Failure::Unmergeable(UnmergeablePull {
        number,
        reason,
        state: Some(word.text().to_owned()),
        failing_checks,
        response: None,
        // The tool asks for them.
        conflicts: None,
    })
}

impl LocalForge {
    pub(super) async fn merge_pull(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        order: &MergeInstruction,
    ) -> Result<MergedPull, Failure> {
        let location = self.location(repo).await?;
        let _lock = self.lock(&location).await?;
        for _ in 0..TRIES {
            let pull = self.row(repo, order.number).await?;
            let mut pull = self.settle(&location, pull).await?;
            self.must_be_mergeable(&location, &pull, order).await?;
            pull.head_sha.clone_from(&order.head_sha);
            let ready = self.prepare(&location, &pull, order).await?;
            if let Some(merged) = self.carry_out(context, &location, &pull, &ready).await? {
                return Ok(merged);
            }
        }
        // The row and the base are unchanged.
        let pull = self.row(repo, order.number).await?;
        Err(UnmetPrecondition::BranchMoved(pull.base).into())
    }

    /// Fails if the pull request cannot be merged, with the first reason in a fixed order.
    async fn must_be_mergeable(
        &self,
        location: &RepositoryLocation,
        pull: &StoredPull,
        order: &MergeInstruction,
    ) -> Result<(), Failure> {
        let refuse = |reason, word, failing| Err(unmergeable(pull.number, reason, word, failing));
        match pull.state {
            StoredState::Merged => {
                return refuse(
                    UnmergeableReason::Merged,
                    MergeableState::Unknown,
                    Vec::new(),
                );
            }
            StoredState::Closed => {
                return refuse(
                    UnmergeableReason::Closed,
                    MergeableState::Unknown,
                    Vec::new(),
                );
            }
            StoredState::Open | StoredState::Merging => {}
        }
        let status = self.status(location.clone(), pull, true).await?;
        if status.head_sha != order.head_sha {
            return Err(Failure::HeadMoved {
                expected: order.head_sha.clone(),
                actual: Some(status.head_sha),
                state: None,
            });
        }
        let head_sha = &status.head_sha;
        let verdict = self.verdict(&location.name, pull, head_sha).await?;
        match (&status.gone, status.conflict) {
            _ if pull.draft => refuse(
                UnmergeableReason::Draft,
                MergeableState::Draft,
                verdict.failing,
            ),
            (Some(branch), _) => Err(MissingItem::Branch(branch.clone()).into()),
            (None, Some(true)) => refuse(
                UnmergeableReason::Conflict,
                MergeableState::Dirty,
                verdict.failing,
            ),
            _ if verdict.blocked => refuse(
                UnmergeableReason::Blocked,
                MergeableState::Blocked,
                verdict.failing,
            ),
            // If it is uncertain whether it conflicts, the merge itself fails with the reason.
            (None, Some(false) | None) => Ok(()),
        }
    }

    /// Writes the objects of a merge.
    async fn prepare(
        &self,
        location: &RepositoryLocation,
        pull: &StoredPull,
        order: &MergeInstruction,
    ) -> Result<PreparedMerge, Failure> {
        let (root, location) = (Arc::clone(&self.root), location.clone());
        let (pull, order) = (pull.clone(), order.clone());
        let (by, now) = (self.identity.clone(), self.now());
        run_blocking(move || {
            root.build(&location, |base| {
                let head = Oid::from_str(&pull.head_sha).or_broken("a head is no commit")?;
                PullHead::of(&root, base, &pull)?.copy_into(base, pull.number, head)?;
                let from = base.branch(&pull.base)?;
                let from = from.ok_or_else(|| MissingItem::Branch(pull.base.clone()))?;
                let built = base.build(&MergeInputs {
                    base: from,
                    head,
                    method: order.method,
                    message: &words(base, &pull, &order, from, head)?,
                    by: &by,
                    now,
                })?;
                let conflict = match order.method {
                    MergeMethod::Rebase => {
                        (UnmergeableReason::NotRebaseable, MergeableState::Clean)
                    }
                    MergeMethod::Merge | MergeMethod::Squash => {
                        (UnmergeableReason::Conflict, MergeableState::Dirty)
                    }
                };
                match built {
                    MergeBuild::Commit(to) => Ok(PreparedMerge { from, to }),
                    MergeBuild::Conflict => {
                        Err(unmergeable(pull.number, conflict.0, conflict.1, Vec::new()))
                    }
                }
            })
        })
        .await
    }

    /// Moves the base and records it. Returns `None` if another writer moved the base before.
    async fn carry_out(
        &self,
        context: &BackendContext,
        location: &RepositoryLocation,
        pull: &StoredPull,
        ready: &PreparedMerge,
    ) -> Result<Option<MergedPull>, Failure> {
        context.mark.begins()?;
        match self.record_start(pull, ready).await {
            Ok(true) => {}
            // The recorded state is settled by the next reader: the base has not moved.
            other => {
                context.mark.undone();
                return other.map(|_| None);
            }
        }
        self.check_probe(ChangePoint::MergeRecorded)?;
        let swapped = self.move_base(context, location, pull, ready).await;
        if !matches!(swapped, Ok(SwapOutcome::Done)) {
            if swapped.is_ok() {
                context.mark.undone();
            }
            if context.mark.effect() == Effect::None {
                // If this cannot be recorded either, the next reader settles the row by the base branch.
                drop(self.record_abandoned(pull).await);
            }
            return match swapped? {
                SwapOutcome::Locked => Err(locked()),
                SwapOutcome::Done | SwapOutcome::Moved => Ok(None),
            };
        }
        self.check_probe(ChangePoint::MergeMoved)?;
        context.mark.done();
        self.record_end(pull)
            .await
            .map_err(|failure| Failure::Partly {
                done: "the base branch has the pull request's changes",
                rest: Box::new(failure),
            })?;
        Ok(Some(MergedPull {
            sha: ready.to.to_string(),
        }))
    }

    async fn record_start(
        &self,
        pull: &StoredPull,
        ready: &PreparedMerge,
    ) -> Result<bool, Failure> {
        let (to, from) = (ready.to.to_string(), ready.from.to_string());
        let mut writing = self.database.write().await?;
        let begun = stored_pulls::begin_merge(&mut writing, pull, &to, &from).await?;
        writing.commit(WRITE).await?;
        Ok(begun)
    }

    async fn move_base(
        &self,
        context: &BackendContext,
        location: &RepositoryLocation,
        pull: &StoredPull,
        ready: &PreparedMerge,
    ) -> Result<SwapOutcome, Failure> {
        let (root, location) = (Arc::clone(&self.root), location.clone());
        let (branch, from, to) = (pull.base.clone(), ready.from, ready.to);
        let mark = context.mark.clone();
        run_blocking(move || {
            let base = root.open_at(location)?;
            match from == to {
                // The base needs no move if it is still there.
                true if base.branch(&branch)? == Some(to) => Ok(SwapOutcome::Done),
                true => Ok(SwapOutcome::Moved),
                false => base.swap_marked(&branch, from, to, &mark),
            }
        })
        .await
    }

    async fn record_abandoned(&self, pull: &StoredPull) -> Result<(), Failure> {
        let mut writing = self.database.write().await?;
        stored_pulls::give_up_merge(&mut writing, pull).await?;
        writing.commit(WRITE).await
    }

    async fn record_end(&self, pull: &StoredPull) -> Result<(), Failure> {
        let mut writing = self.database.write().await?;
        stored_pulls::end_merge(&mut writing, pull, self.now().as_microsecond()).await?;
        writing.commit(WRITE).await
    }
}

/// Returns the message of a merge: the instruction's, else GitHub's default.
fn words(
    base: &OpenRepository,
    pull: &StoredPull,
    order: &MergeInstruction,
    from: Oid,
    head: Oid,
) -> Result<String, Failure> {
    let number = pull.number;
    let (title, message) = match order.method {
        MergeMethod::Merge => {
            let owner = pull.head_owner.as_deref();
            let owner = owner.unwrap_or_else(|| base.location.name.owner());
            let title = format!("Merge pull request #{number} from {owner}/{}", pull.head);
            (title, pull.title.clone())
        }
        MergeMethod::Squash => {
            let (commits, more) = base.between(from, head)?;
            let subject = |commit: &git2::Commit<'_>| {
                let first = commit.summary_bytes().unwrap_or_default();
                format!("* {}", String::from_utf8_lossy(first))
            };
            let mut subjects: Vec<String> = commits.iter().map(subject).collect();
            if more {
                subjects.push("* and more".to_owned());
            }
            (format!("{} (#{number})", pull.title), subjects.join("\n"))
        }
        // Its commits keep their messages.
        MergeMethod::Rebase => return Ok(String::new()),
    };
    let title = order.title.clone().unwrap_or(title);
    let message = order.message.clone().unwrap_or(message);
    Ok(match message.is_empty() {
        true => title,
        false => format!("{title}\n\n{message}"),
    })
}
