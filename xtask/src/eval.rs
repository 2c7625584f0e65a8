//! `cargo xtask eval`: measures retrieval on collections that are not part of the repository.

use crate::problem::{Problem, ProblemContext};
use crate::repo::Repo;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const PACKAGE: &str = "candor-context";
const EXAMPLE: &str = "evaluate";
const PAGE: &str = "docs/retrieval.md";

pub(crate) fn run(
    repo: &Repo,
    cranfield: &Path,
    corpus: &Path,
    write: bool,
) -> Result<ExitCode, Problem> {
    let run = ["run", "--release", "--package", PACKAGE];
    let mut program = repo
        .cargo(run)
        .args(["--example", EXAMPLE, "--"])
        .args([Path::new("--cranfield"), &found(cranfield)?])
        .args([Path::new("--corpus"), &found(corpus)?]);
    if write {
        program = program.args(["--write", PAGE]);
    }
    program.run()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the absolute path, because the program runs at the root of the checkout.
fn found(folder: &Path) -> Result<PathBuf, Problem> {
    folder
        .canonicalize()
        .context(|| format!("cannot find the folder {}", folder.display()))
}
