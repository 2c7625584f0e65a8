//! `candor workspace`: governed edits, with the agent's server and the owner's commands.

mod allow;
mod approve;
mod clean;
pub(super) mod directories;
pub(super) mod duration;
mod init;
mod local_time;
mod log_place;
mod matching_files;
mod opened;
mod plan_page;
mod review;
mod revoke;
mod serve;
mod settle;
mod sign;
mod size;
mod ssh_keygen;
mod start_checks;
mod status;
mod terms;
mod unlock;

use super::CommandError;
use clap::Subcommand;

pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 success, 1 wrong usage or a failure. Results go to stdout, messages to stderr.
A server that cannot start prints its failure as JSON on stderr.

The first approved edit:
  candor workspace init                     create your key and trust it
  candor workspace allow 'src/**'           let the agent change these files
  candor workspace serve --role executor    the command for your MCP client
  candor workspace status                   show plans, sessions and the log";

#[derive(Debug, Subcommand)]
pub(super) enum WorkspaceCommand {
    Init(init::WorkspaceInitArgs),
    Allow(allow::AllowArgs),
    Review(review::ReviewArgs),
    Approve(review::ApproveArgs),
    Revoke(revoke::RevokeArgs),
    Unlock(unlock::UnlockArgs),
    Settle(settle::SettleArgs),
    Clean(clean::CleanArgs),
    Status(status::WorkspaceStatusArgs),
    Log(log_place::LogPlaceArgs),
    Serve(serve::WorkspaceServeArgs),
}

impl WorkspaceCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            WorkspaceCommand::Init(init) => init.run(),
            WorkspaceCommand::Allow(allow) => allow.run(),
            WorkspaceCommand::Review(review) => review.run(),
            WorkspaceCommand::Approve(approve) => approve.run(),
            WorkspaceCommand::Revoke(revoke) => revoke.run(),
            WorkspaceCommand::Unlock(unlock) => unlock.run(),
            WorkspaceCommand::Settle(settle) => settle.run(),
            WorkspaceCommand::Clean(clean) => clean.run(),
            WorkspaceCommand::Status(status) => status.run(),
            WorkspaceCommand::Log(log) => log.run(),
            WorkspaceCommand::Serve(serve) => serve.run(),
        }
    }
}
