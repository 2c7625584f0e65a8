//! `candor workspace …`: governed edits, for the agent that edits and for the person who decides.

mod places;
mod serve;

use super::Trouble;
use clap::Subcommand;

/// What `--help` says after the commands.
pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 wrong usage or a failure to start; a server that cannot start prints its failure
as the envelope on stderr.

The first approved edit:
  candor workspace init                     make a key, and trust it
  candor workspace allow 'src/**'           let the agent change these files
  candor workspace serve --role executor    what an MCP client runs
  candor workspace status                   what happened";

#[derive(Debug, Subcommand)]
pub(super) enum WorkspaceCommand {
    /// Serve the workspace tools for one role over MCP, on stdin and stdout
    Serve(serve::ServeArgs),
}

impl WorkspaceCommand {
    pub(super) fn run(self) -> Result<(), Trouble> {
        match self {
            WorkspaceCommand::Serve(serve) => serve.run(),
        }
    }
}
