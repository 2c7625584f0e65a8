//! `candor internal-sandbox`: this program as the helper that confines a plan's commands. It is not part
//! of the grammar: only the workspace server starts it.

use candor_workspace::preflight::{Stage, helper_main};
use std::ffi::OsString;
use std::process::ExitCode;

/// What the server puts before the stage.
const NAME: &str = "internal-sandbox";

/// The stage that this command line asks for.
pub(super) fn stage(arguments: &[OsString]) -> Option<Stage> {
    match arguments {
        [_, name, stage] if name == NAME => stage.to_str()?.parse().ok(),
        _ => None,
    }
}

pub(super) fn run(stage: Stage) -> ExitCode {
    ExitCode::from(helper_main(stage))
}
