//! What this program does when it is started again for a command.

mod cell;
mod filter;
mod limits;
mod rules;
mod sweep;
mod warden;

use std::str::FromStr;

/// Which of the helper's two processes this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Watches the command and ends it.
    Warden,
    /// Confines itself and becomes the command.
    Cell,
}

impl Stage {
    /// Its name on the command line.
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

/// Runs a stage; to be called from a process of its own that has started no thread. The order comes on
/// stdin, the report leaves on stdout, the command's output on stderr. Answers the exit code.
pub fn helper_main(stage: Stage) -> u8 {
    match stage {
        Stage::Warden => warden::main(),
        Stage::Cell => cell::main(),
    }
}
