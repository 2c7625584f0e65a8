//! `cargo xtask bench`: the release binaries, built and handed to the load generator.

use crate::problem::Problem;
use crate::program::Program;
use crate::repo::Repo;
use std::process::ExitCode;

const PACKAGE: &str = "candor-bench";

pub(crate) fn run(repo: &Repo, quick: bool, args: &[String]) -> Result<ExitCode, Problem> {
    if repo.member(PACKAGE).is_none() {
        return Err(
            Problem::new(format!("there is no package {PACKAGE} in this workspace"))
                .hint("it belongs into bench/, as a member of the workspace"),
        );
    }
    let build = [
        "build",
        "--release",
        "--package",
        "candor",
        "--package",
        PACKAGE,
    ];
    repo.cargo(build).run()?;
    let program = repo.target.join("release").join(PACKAGE);
    let quick = quick.then_some("--quick");
    Program::new(program, &repo.root)
        .args(quick)
        .args(args)
        .run()?;
    Ok(ExitCode::SUCCESS)
}
