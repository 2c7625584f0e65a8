//! `candor internal-sandbox`: this program as the helper that confines commands. It is not a documented
//! subcommand, because only the workspace server starts it.

use candor_sandbox::{Helper, Stage, helper_main};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The name of the subcommand, which precedes the stage.
const NAME: &str = "internal-sandbox";

/// Returns the stage if this is the command line of a helper.
pub(super) fn stage(arguments: &[OsString]) -> Option<Stage> {
    match arguments {
        [_, name, stage] if name == NAME => stage.to_str()?.parse().ok(),
        _ => None,
    }
}

pub(super) fn run(stage: Stage) -> ExitCode {
    helper_main(stage)
}

/// Returns this program as the helper.
pub(super) fn helper() -> Helper {
    Helper {
        // The running program, even if its file was replaced meanwhile.
        program: PathBuf::from("/proc/self/exe"),
        first_args: vec![String::from(NAME)],
    }
}
