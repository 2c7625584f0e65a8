//! The benchmark: servers, context caches and, in the same rounds, the barest programs that could
//! do their work. Every bar is a ratio of the two, so that it has the same meaning on every
//! machine.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for people: tables and progress.

mod approver;
mod arguments;
mod bare;
mod bars;
mod connections;
mod context;
mod figures;
mod load;
mod local_forge;
mod machine;
mod orders;
mod process;
mod record;
mod report;
mod requests;
mod rounds;
mod run;
mod startup;
mod statistics;
mod tool_client;
mod workspace;

use arguments::{Bare, BenchArguments};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = BenchArguments::parse();
    let done = match &arguments.bare {
        Some(Bare::Stdio) => bare::stdio::run().map(|()| true),
        Some(Bare::Pipes) => bare::stdio::run_on_pipes().map(|()| true),
        Some(Bare::Http) => bare::http::run().map(|()| true),
        Some(Bare::Answer { file }) => bare::http::run_with_answer(file).map(|()| true),
        Some(Bare::Stat {
            folder,
            looked_at,
            printed,
        }) => bare::files::stat(folder, looked_at, printed).map(|()| true),
        Some(Bare::Namespaces) => bare::namespaces::run().map(|()| true),
        Some(Bare::ProcessOne) => bare::namespaces::process_one().map(|()| true),
        Some(Bare::Orders { url }) => orders::bare::run(url).map(|()| true),
        None => run::run(&arguments.options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            report::terminal::complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
