//! Checks the locked packages for known vulnerabilities, if a database is configured.

use super::StepOutcome;
use crate::problem::Problem;
use crate::repo::{self, Repo};
use std::path::Path;

const DATABASE: &str = "CANDOR_ADVISORY_DB";

/// Reads the checkout that the variable names, and never fetches a newer one.
pub(crate) fn check(repo: &Repo) -> Result<StepOutcome, Problem> {
    let Some(database) = std::env::var_os(DATABASE).filter(|path| !path.is_empty()) else {
        return Ok(StepOutcome::NotChecked(format!(
            "{DATABASE} does not name a checkout of the RustSec database"
        )));
    };
    if !Path::new(&database).is_dir() {
        return Err(Problem::new(format!(
            "{DATABASE} is {database:?}, which is not a directory"
        ))
        .hint("set it to a checkout of the RustSec advisory database"));
    }
    if !repo::has_subcommand(repo, "audit") {
        return Ok(StepOutcome::NotChecked(
            "cargo-audit is missing (`cargo install cargo-audit`)".into(),
        ));
    }
    let arguments = ["audit", "--no-fetch", "--deny", "warnings", "--db"];
    let program = repo.cargo(arguments).args([database]);
    program.run().map(|()| StepOutcome::Passed)
}
