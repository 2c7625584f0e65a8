//! Moves branches by compare and swap, durably.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use super::revision::branch_ref;
use crate::Failure;
use candor_fault::Cause;
use candor_street::EffectMark;
use git2::{ErrorCode, Oid};
use std::thread;
use std::time::Duration;

/// Attempts and pause for a ref that another program locks.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// The outcome of moving a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwapOutcome {
    Done,
    /// Another writer moved or deleted it.
    Moved,
    /// Another program keeps it locked, or ended without unlocking it.
    Locked,
}

/// Returns the failure for a ref that stays locked.
pub(super) fn locked() -> Failure {
    Failure::Broken(
        "another program keeps the branch locked",
        Cause::from("the ref's lock file stays; where no program writes it, remove that file"),
    )
}

impl OpenRepository {
    /// Moves a branch for a call. A failed move leaves no effect if the branch has still its commit.
    pub(super) fn swap_marked(
        &self,
        branch: &str,
        from: Oid,
        to: Oid,
        mark: &EffectMark,
    ) -> Result<SwapOutcome, Failure> {
        let swapped = self.swap(branch, from, to);
        if swapped.is_err() && matches!(self.branch(branch), Ok(Some(there)) if there == from) {
            mark.undone();
        }
        swapped
    }

    /// Moves a branch from one commit to another. Blocks for a short time if it is locked.
    pub(super) fn swap(&self, branch: &str, from: Oid, to: Oid) -> Result<SwapOutcome, Failure> {
        const WHAT: &str = "the branch could not be moved";
        self.sync_objects()?;
        let name = branch_ref(branch);
        for _ in 0..TRIES {
            let moved = self.git.reference_matching(&name, to, true, from, "candor");
            match moved.map(drop) {
                Ok(()) => {
                    self.sync_ref(&name)?;
                    return Ok(SwapOutcome::Done);
                }
                Err(error) => match error.code() {
                    ErrorCode::Modified | ErrorCode::NotFound => return Ok(SwapOutcome::Moved),
                    ErrorCode::Locked => thread::sleep(PAUSE),
                    _ => return Err(error).or_broken(WHAT),
                },
            }
        }
        Ok(SwapOutcome::Locked)
    }
}
