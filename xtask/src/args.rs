//! Parses the command line.

use crate::test::TestStep;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cargo xtask test                     run every test, with small counts in the drills
  cargo xtask test --quick             run before a commit: at most five minutes, no services, no Node
  cargo xtask test --long              run every test with full counts, as CI does
  cargo xtask test --only conformance  run one step
  cargo xtask test --from docs         run this step and all later ones
  cargo xtask codegen                  write the files that are generated from the code
  cargo xtask codegen --openapi FILE   also write the extract of GitHub's OpenAPI description
  cargo xtask bench --quick            compare speed with the bare programs, in short rounds
  cargo xtask bench --corpus DIR       also measure context caches, on a tree of Markdown
  cargo xtask eval --cranfield DIR --corpus DIR --write
                                       measure retrieval, and write docs/retrieval.md
  cargo xtask fuzz 600 --target core   fuzz one target for ten minutes

Environment:
  CI=true             like --long; a missing requirement (Node, Python, network) is a failure
  CANDOR_ADVISORY_DB  a checkout of the RustSec advisory database, for the step `advisories`
  NO_COLOR            print without colours";

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The commands of developers and CI",
    after_help = EXAMPLES
)]
struct CommandLine {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Task {
    /// Run the steps of CI, up to the first failure.
    Test(TestArgs),
    /// Write the files that are generated from the code.
    Codegen {
        /// Write nothing; fail if a committed file differs.
        #[arg(long)]
        check: bool,
        /// Also regenerate the description of GitHub's API for the tests, from
        /// generated/api.github.com.json of an unpacked @octokit/openapi.
        #[arg(long, value_name = "FILE")]
        openapi: Option<PathBuf>,
    },
    /// Build the programs as they are shipped, and compare their speed with the bare programs.
    Bench {
        /// Run short rounds, which show that everything works but do not check the bars.
        #[arg(long)]
        quick: bool,
        /// Arguments for candor-bench.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure retrieval on the Cranfield collection and on a tree of Markdown files.
    Eval {
        /// The folder with cran.all.1400, cran.qry and cranqrel.
        #[arg(long, value_name = "DIR")]
        cranfield: PathBuf,
        /// A tree of Markdown files.
        #[arg(long, value_name = "DIR")]
        corpus: PathBuf,
        /// Also write the figures to docs/retrieval.md.
        #[arg(long)]
        write: bool,
    },
    /// Fuzz with a nightly toolchain and cargo-fuzz, store the findings, minimise the corpus.
    Fuzz {
        /// The time for all targets together.
        #[arg(default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
        seconds: u64,
        /// Fuzz only this target of fuzz/fuzz_targets.
        #[arg(long)]
        target: Option<String>,
    },
}

#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct TestArgs {
    /// Skip services, MCP clients, steps that install something, and slow tests.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run the long drills with full counts; CI=true does the same.
    #[arg(long, conflicts_with = "quick")]
    pub(crate) long: bool,
    /// Run this step alone.
    #[arg(long, value_name = "STEP", conflicts_with_all = ["quick", "from"])]
    pub(crate) only: Option<TestStep>,
    /// Run this step and all later ones; the help of --only lists the steps.
    #[arg(long, value_name = "STEP", hide_possible_values = true)]
    pub(crate) from: Option<TestStep>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Task(Task),
    Help(String),
    Wrong(String),
}

pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Parsed {
    match CommandLine::try_parse_from(args) {
        Ok(CommandLine { task: Some(task) }) => Parsed::Task(task),
        Ok(CommandLine { task: None }) => {
            Parsed::Help(CommandLine::command().render_help().to_string())
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            Parsed::Help(error.render().to_string())
        }
        Err(error) => Parsed::Wrong(format!(
            "{}\nhint: to see every command with examples, run:\n  cargo xtask help",
            error.render().to_string().trim_end()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Parsed {
        parse(
            std::iter::once("xtask")
                .chain(line.split_whitespace())
                .map(OsString::from),
        )
    }

    fn wrong(line: &str) -> String {
        match parsed(line) {
            Parsed::Wrong(text) => text,
            other => panic!("`{line}` was taken as {other:?}"),
        }
    }

    #[test]
    fn command_line_definition_is_valid() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn no_command_prints_the_help() {
        let Parsed::Help(text) = parsed("") else {
            panic!("no help")
        };
        assert!(text.contains("cargo xtask test --quick"));
        assert!(matches!(parsed("help"), Parsed::Help(_)));
        assert!(matches!(parsed("test --help"), Parsed::Help(_)));
    }

    #[test]
    fn steps_are_taken_by_name() {
        let wanted = TestArgs {
            only: Some(TestStep::Doctests),
            ..TestArgs::default()
        };
        assert_eq!(
            parsed("test --only doctests"),
            Parsed::Task(Task::Test(wanted))
        );
    }

    #[test]
    fn long_is_taken_with_a_step() {
        let wanted = TestArgs {
            only: Some(TestStep::Tests),
            long: true,
            ..TestArgs::default()
        };
        assert_eq!(
            parsed("test --long --only tests"),
            Parsed::Task(Task::Test(wanted))
        );
    }

    #[test]
    fn a_wrong_flag_names_the_nearest_and_the_help() {
        let text = wrong("test --quik");
        assert!(text.contains("'--quick'"), "{text}");
        assert!(
            text.ends_with("hint: to see every command with examples, run:\n  cargo xtask help"),
            "{text}"
        );
    }

    #[test]
    fn an_unknown_step_lists_the_steps() {
        let text = wrong("test --only docktests");
        assert!(
            text.contains("conformance") && text.contains("doctests"),
            "{text}"
        );
    }

    #[test]
    fn only_excludes_from_and_quick() {
        assert!(wrong("test --only fmt --from docs").contains("cannot be used with"));
        assert!(wrong("test --only fmt --quick").contains("cannot be used with"));
    }

    #[test]
    fn bench_hands_the_rest_on() {
        let wanted = Task::Bench {
            quick: true,
            args: vec!["stdio".into(), "--rounds".into(), "5".into()],
        };
        assert_eq!(
            parsed("bench --quick stdio --rounds 5"),
            Parsed::Task(wanted)
        );
        let passed_through = Task::Bench {
            quick: false,
            args: vec!["--json".into()],
        };
        assert_eq!(parsed("bench --json"), Parsed::Task(passed_through));
    }

    #[test]
    fn eval_takes_both_collections() {
        let wanted = Task::Eval {
            cranfield: "a".into(),
            corpus: "b".into(),
            write: false,
        };
        assert_eq!(
            parsed("eval --cranfield a --corpus b"),
            Parsed::Task(wanted)
        );
        assert!(wrong("eval --cranfield a").contains("--corpus"));
    }

    #[test]
    fn fuzzing_takes_at_least_a_second() {
        let wanted = Task::Fuzz {
            seconds: 300,
            target: None,
        };
        assert_eq!(parsed("fuzz"), Parsed::Task(wanted));
        assert!(wrong("fuzz 0").contains("0"));
    }
}
