//! The program `context`: `candor context` under a shorter name.

use std::process::ExitCode;

fn main() -> ExitCode {
    candor::cli::run_context(std::env::args_os())
}
