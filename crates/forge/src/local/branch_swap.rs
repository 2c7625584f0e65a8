//! Branches that are moved: compared and swapped, lasting when that is said.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use super::revision::branch_ref;
use crate::Failure;
use candor_fault::Cause;
use git2::{ErrorCode, Oid};
use std::thread;
use std::time::Duration;

/// How often, and how far apart, a ref is tried that another program is writing.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// What became of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwapOutcome {
    /// It is where it was to be.
    Done,
    /// It was not where it had been seen, or is gone.
    Moved,
    /// Another program keeps it locked, or has ended without unlocking it.
    Locked,
}

/// What is told of a ref that stays locked.
pub(super) fn locked() -> Failure {
    Failure::Broken(
        "another program keeps the branch locked",
        Cause::from("the ref's lock file stays; where no program writes it, remove that file"),
    )
}

impl OpenRepository {
    /// Moves a branch from one commit to another. Blocks a little where it is locked.
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
