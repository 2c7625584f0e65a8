//! `cargo xtask bench`: builds the binaries as they are shipped and runs the load generator on them.

use crate::problem::Problem;
use crate::program::Program;
use crate::repo::Repo;
use std::process::ExitCode;

const PACKAGE: &str = "candor-bench";
const PROFILE: &str = "dist";

pub(crate) fn run(repo: &Repo, quick: bool, args: &[String]) -> Result<ExitCode, Problem> {
    if repo.member(PACKAGE).is_none() {
        return Err(
            Problem::new(format!("there is no package {PACKAGE} in this workspace"))
                .hint("it must be in bench/, as a member of the workspace"),
        );
    }
    let build = [
        "build",
        "--profile",
        PROFILE,
        "--package",
        "candor",
        "--package",
        PACKAGE,
    ];
    repo.cargo(build).run()?;
    let program = repo.target.join(PROFILE).join(PACKAGE);
    let quick = quick.then_some("--quick");
    Program::new(program, &repo.root)
        .args(quick)
        .args(args)
        .run()?;
    Ok(ExitCode::SUCCESS)
}
