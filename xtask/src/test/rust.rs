//! Steps that consist of one cargo command.

use super::{Depth, StepOutcome, reached, skipped};
use crate::clients::{self, Installation};
use crate::problem::Problem;
use crate::program::Program;
use crate::repo::{self, Repo};

pub(crate) fn fmt(repo: &Repo) -> Result<StepOutcome, Problem> {
    let check = repo.cargo(["fmt", "--all", "--check"]).run();
    check.map_err(|problem| problem.hint("to format every file, run:\n  cargo fmt --all"))?;
    Ok(StepOutcome::Passed)
}

/// Checks with every feature, so that code which only CI builds is included.
pub(crate) fn clippy(repo: &Repo) -> Result<StepOutcome, Problem> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--all-features"];
    let program = repo.cargo(arguments).args(["--", "-D", "warnings"]);
    program.run().map(|()| StepOutcome::Passed)
}

/// The variable that gives drills their full counts.
const LONG: &str = "CANDOR_LONG";

/// The variable with the features of this build, for tests that build the example.
const FEATURES: &str = "CANDOR_FEATURES";

pub(crate) fn tests(repo: &Repo, depth: Depth) -> Result<StepOutcome, Problem> {
    let targets = ["--lib", "--bins", "--tests", "--examples"];
    let (mut program, note) = runner(repo, depth, &targets);
    let folder = skipped::fresh(repo, "tests")?;
    program = program
        .env(reached::FOLDER, reached::fresh(repo, "tests")?)
        .env(skipped::FOLDER, &folder)
        .env(FEATURES, repo.features().join(","));
    if depth != Depth::Quick
        && let Installation::Ready(variables) = clients::variables(repo)?
    {
        for (name, value) in variables {
            program = program.env(name, value);
        }
    }
    if depth == Depth::Long {
        program = program.env(LONG, "true");
    }
    program.run()?;
    match skipped::read(&folder)? {
        none if none.is_empty() => Ok(note),
        tests => Ok(StepOutcome::Skipped(tests)),
    }
}

pub(crate) fn doctests(repo: &Repo) -> Result<StepOutcome, Problem> {
    let program = repo.cargo(["test", "--doc", "--workspace"]);
    program
        .args(features(&repo.features()))
        .env(reached::FOLDER, reached::fresh(repo, "doctests")?)
        .run()
        .map(|()| StepOutcome::Passed)
}

pub(crate) fn docs(repo: &Repo) -> Result<StepOutcome, Problem> {
    let program = repo.cargo(["doc", "--no-deps", "--workspace"]);
    program
        .args(features(&repo.features()))
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
        .map(|()| StepOutcome::Passed)
}

/// Returns the command that tests the given targets of the workspace, with nextest if it is installed.
fn runner(repo: &Repo, depth: Depth, targets: &[&str]) -> (Program, StepOutcome) {
    let nextest = repo::has_subcommand(repo, "nextest");
    let program = if nextest {
        let quiet = ["--status-level", "slow", "--final-status-level", "fail"];
        repo.cargo([
            "nextest",
            "run",
            "--workspace",
            "--profile",
            depth.profile(),
        ])
        .args(quiet)
    } else {
        repo.cargo(["test", "--workspace"])
    };
    let note = if nextest {
        StepOutcome::Passed
    } else {
        StepOutcome::Noted("with cargo test: cargo-nextest is not installed".into())
    };
    (program.args(targets).args(features(&repo.features())), note)
}

/// Returns `--features a,b`, or no argument if there are no features.
pub(crate) fn features(wanted: &[String]) -> Vec<String> {
    match wanted {
        [] => Vec::new(),
        _ => vec!["--features".into(), wanted.join(",")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_one_argument() {
        assert_eq!(features(&[]), Vec::<String>::new());
        assert_eq!(
            features(&["a/x".into(), "b/y".into()]),
            ["--features", "a/x,b/y"]
        );
    }
}
