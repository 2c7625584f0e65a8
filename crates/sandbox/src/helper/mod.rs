//! The two helper processes of a command: warden and cell.

mod cell;
mod filter;
mod limits;
mod rules;
mod sweep;
mod warden;

use std::str::FromStr;

/// One of the two helper processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Watches the command and ends it.
    Warden,
    /// Confines itself and becomes the command.
    Cell,
}

impl Stage {
    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Warden => "warden",
            Stage::Cell => "cell",
        }
    }
}

impl FromStr for Stage {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        [Stage::Warden, Stage::Cell]
            .into_iter()
            .find(|stage| stage.name() == name)
            .ok_or(())
    }
}

/// Runs a stage and returns the exit code. Must be called in a separate process that has started no
/// thread. The job is read from stdin, the report goes to stdout, the command's output to stderr.
pub fn helper_main(stage: Stage) -> u8 {
    match stage {
        Stage::Warden => warden::main(),
        Stage::Cell => cell::main(),
    }
}
