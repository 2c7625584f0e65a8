//! The commands of developers and CI: `cargo xtask test`, `codegen`, `bench`, `eval` and `fuzz`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program talks to a person at a terminal"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "this program is the outermost layer: nobody could hand it the environment"
)]

mod args;
mod bench;
mod clients;
mod codegen;
mod conformance;
mod dependencies;
mod eval;
mod fuzz;
mod ledger;
mod openapi;
mod problem;
mod program;
mod repo;
mod retry;
mod table;
mod test;

use args::{Parsed, Task};
use problem::Problem;
use repo::Repo;
use std::process::ExitCode;

fn main() -> ExitCode {
    let task = match args::parse(std::env::args_os()) {
        Parsed::Task(task) => task,
        Parsed::Help(text) => {
            println!("{text}");
            return ExitCode::SUCCESS;
        }
        Parsed::Wrong(text) => {
            eprintln!("{text}");
            return ExitCode::FAILURE;
        }
    };
    match perform(task) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<ExitCode, Problem> {
    let repo = Repo::find()?;
    match task {
        Task::Test(wanted) => test::run(&repo, &wanted),
        Task::Codegen { check, openapi } => {
            if let Some(from) = openapi {
                openapi::run(&repo, &from, check)?;
            }
            codegen::run(&repo, check).map(|outcome| {
                outcome.print();
                ExitCode::SUCCESS
            })
        }
        Task::Bench { quick, args } => bench::run(&repo, quick, &args),
        Task::Eval {
            cranfield,
            corpus,
            write,
        } => eval::run(&repo, &cranfield, &corpus, write),
        Task::Fuzz { seconds, target } => fuzz::run(&repo, seconds, target.as_deref()),
    }
}
