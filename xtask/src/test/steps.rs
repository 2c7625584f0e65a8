//! The steps of a test run, in order, and the selection of steps for a run.

use super::{Depth, StepOutcome};
use crate::args::TestArgs;
use crate::problem::Problem;
use crate::repo::Repo;
use crate::{clients, codegen, conformance, dependencies};
use clap::ValueEnum;

/// The cheap steps come first, so that a run fails early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum TestStep {
    /// Every file is formatted.
    Fmt,
    /// .ci/run is executable and runs exactly this command.
    CiScript,
    /// Licences, second versions of packages, and a written reason for each dependency.
    Dependencies,
    /// Known vulnerabilities, if CANDOR_ADVISORY_DB names a database.
    Advisories,
    /// Every fuzz target has a corpus, which ordinary tests replay.
    FuzzCorpus,
    /// No warning of the compiler or of clippy.
    Clippy,
    /// The generated files are up to date.
    Codegen,
    /// Find PostgreSQL for the tests, or install it (Debian, as root).
    Postgres,
    /// Find strace for the drills that lose unsynced data, or install it (Debian, as root).
    Strace,
    /// Install the official MCP clients that the tests drive (Node, Python).
    Clients,
    /// Unit and integration tests.
    Tests,
    /// The examples in the documentation of the code.
    Doctests,
    /// The documentation builds without a warning.
    Docs,
    /// The example server answers, and stays short.
    Weather,
    /// The MCP conformance suite against the playground, both revisions (Node).
    Conformance,
    /// The tests above have seen every code of the registries on the wire.
    Reached,
}

impl TestStep {
    /// Returns the name as typed after `--only`.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    pub(crate) fn about(self) -> String {
        let value = self.to_possible_value();
        let help = value.and_then(|value| value.get_help().map(ToString::to_string));
        help.unwrap_or_default()
    }

    /// Returns true for steps that install nothing and use no MCP client.
    fn is_quick(self) -> bool {
        use TestStep::{Clippy, Codegen, Doctests, Fmt, Tests};
        matches!(self, Fmt | Clippy | Codegen | Tests | Doctests)
    }

    pub(crate) fn perform(self, repo: &Repo, depth: Depth) -> Result<StepOutcome, Problem> {
        match self {
            TestStep::Fmt => super::rust::fmt(repo),
            TestStep::CiScript => super::ci_script::check(repo),
            TestStep::Dependencies => dependencies::check(repo),
            TestStep::Advisories => super::advisories::check(repo),
            TestStep::FuzzCorpus => super::fuzz_corpus::check(repo),
            TestStep::Clippy => super::rust::clippy(repo),
            TestStep::Codegen => codegen::run(repo, true),
            TestStep::Postgres => super::postgres::check(repo),
            TestStep::Strace => super::strace::check(repo),
            TestStep::Tests => super::rust::tests(repo, depth),
            TestStep::Doctests => super::rust::doctests(repo),
            TestStep::Docs => super::rust::docs(repo),
            TestStep::Weather => super::weather::check(repo),
            TestStep::Clients => clients::check(repo),
            TestStep::Conformance => conformance::check(repo),
            TestStep::Reached => super::reached::check(repo),
        }
    }
}

/// The steps of a run, and those that `--quick` leaves out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunPlan {
    pub(crate) steps: Vec<TestStep>,
    pub(crate) left_out: Vec<TestStep>,
}

impl RunPlan {
    pub(crate) fn new(wanted: &TestArgs) -> RunPlan {
        if let Some(only) = wanted.only {
            return RunPlan {
                steps: vec![only],
                left_out: Vec::new(),
            };
        }
        let all = TestStep::value_variants().iter().copied();
        let (steps, left_out) = all
            .filter(|step| wanted.from.is_none_or(|from| *step >= from))
            .partition(|step| !wanted.quick || step.is_quick());
        RunPlan { steps, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_run_takes_every_step() {
        let plan = RunPlan::new(&TestArgs::default());
        assert_eq!(plan.steps, TestStep::value_variants());
        assert_eq!(plan.left_out, []);
    }

    #[test]
    fn only_takes_one() {
        let wanted = TestArgs {
            only: Some(TestStep::Docs),
            ..TestArgs::default()
        };
        assert_eq!(RunPlan::new(&wanted).steps, [TestStep::Docs]);
    }

    #[test]
    fn from_takes_the_rest() {
        let wanted = TestArgs {
            from: Some(TestStep::Conformance),
            ..TestArgs::default()
        };
        assert_eq!(
            RunPlan::new(&wanted).steps,
            [TestStep::Conformance, TestStep::Reached]
        );
    }

    #[test]
    fn quick_says_what_it_leaves_out() {
        let wanted = TestArgs {
            quick: true,
            from: Some(TestStep::Tests),
            ..TestArgs::default()
        };
        let plan = RunPlan::new(&wanted);
        assert_eq!(plan.steps, [TestStep::Tests, TestStep::Doctests]);
        assert!(plan.left_out.contains(&TestStep::Reached));
        assert!(!plan.left_out.contains(&TestStep::Fmt));
    }

    #[test]
    fn every_step_has_name_and_description() {
        for step in TestStep::value_variants() {
            assert!(!step.name().is_empty() && !step.about().is_empty());
        }
        assert_eq!(TestStep::FuzzCorpus.name(), "fuzz-corpus");
    }
}
