//! The program `candor`.

use std::process::ExitCode;

fn main() -> ExitCode {
    candor::cli::run(std::env::args_os())
}
