//! `cargo xtask codegen`: runs the program that generates files from the code.

use crate::problem::Problem;
use crate::repo::Repo;
use crate::test::StepOutcome;

const PACKAGE: &str = "candor-codegen";

pub(crate) fn run(repo: &Repo, check: bool) -> Result<StepOutcome, Problem> {
    let program = repo.cargo(["run", "--quiet", "--package", PACKAGE, "--", "."]);
    if check {
        let checked = program.args(["--check"]).run();
        checked.map_err(|problem| {
            problem
                .hint("to write the files again, run this and commit them:\n  cargo xtask codegen")
        })?;
    } else {
        program.run()?;
    }
    Ok(StepOutcome::Passed)
}
