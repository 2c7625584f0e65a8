//! Finds strace for the drills that lose what was not synced, or installs it with the package manager.

use super::StepOutcome;
use super::packages::{has_program, install, may_install};
use crate::problem::Problem;
use crate::repo::Repo;

const PACKAGE: &str = "strace";

pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    if has_program("strace") {
        return Ok(StepOutcome::Passed);
    }
    if !may_install() {
        let missing = "strace was not found: install it (Debian: strace)";
        return Ok(StepOutcome::Missing(missing.into()));
    }
    match install(repo, PACKAGE) {
        Ok(()) => Ok(StepOutcome::Passed),
        Err(problem) => Ok(StepOutcome::Missing(format!(
            "strace could not be installed: {}",
            problem.message()
        ))),
    }
}
