//! `candor github`: the GitHub tools, and the local forge that they work on without GitHub.

mod owner_commands;
mod serve;
mod write_options;

use super::CommandError;
use crate::host::system_clock;
use candor_forge::local::{Identity, LocalForge, LocalForgeError};
use candor_forge::{Failure, Forge, MissingItem};
use clap::Subcommand;
use std::path::Path;
use std::sync::Arc;
pub(super) use write_options::{WriteArgs, server};

#[derive(Debug, Subcommand)]
pub(super) enum GithubCommand {
    Serve(serve::GithubServeArgs),
    Init(owner_commands::GithubInitArgs),
    Import(owner_commands::GithubImportArgs),
    Status(owner_commands::GithubStatusArgs),
    Protect(owner_commands::ProtectArgs),
}

pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 wrong usage or a failure. Answers go to stdout, talk to stderr.

Try:
  candor github init                                    a forge with the repository sample/hello
  candor github import ~/src/project me/project         a copy of a clone of yours
  candor github protect me/project main --require-check ci/test
  candor github status me/project                       its branches, pull requests, rules
  candor github serve --allow-writes                    the tools, on stdio";

impl GithubCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            GithubCommand::Serve(serve) => serve.run(),
            GithubCommand::Init(init) => init.run(),
            GithubCommand::Import(import) => import.run(),
            GithubCommand::Status(status) => status.run(),
            GithubCommand::Protect(protect) => protect.run(),
        }
    }
}

/// Who makes the commits of the local forge.
fn identity() -> Identity {
    Identity {
        name: String::from("Candor"),
        email: String::from("candor@localhost"),
    }
}

/// The local forge in this directory; where there is none, one with the sample repository is made,
/// and one that was not made to its end is completed.
pub(super) async fn open_local(dir: &Path) -> Result<Arc<dyn Forge>, CommandError> {
    candor_forge::local::init(dir)
        .await
        .map_err(|error| forge_error(&error))?;
    Ok(Arc::new(open(dir).await?))
}

async fn open(dir: &Path) -> Result<LocalForge, CommandError> {
    let forge = LocalForge::open(dir, system_clock(), identity()).await;
    forge.map_err(|error| forge_error(&error))
}

/// A sentence about a forge that cannot be had, and what to do.
fn forge_error(error: &LocalForgeError) -> CommandError {
    let shown = CommandError::new(error.to_string());
    match error {
        LocalForgeError::NotAForge(_) => shown.with_hint("make one with `candor github init`"),
        LocalForgeError::NotEmpty(_) => shown.with_hint("name another directory with --data-dir"),
        LocalForgeError::Newer { .. } => {
            shown.with_hint("take a newer candor, or another --data-dir")
        }
        LocalForgeError::Exists(_) => shown.with_hint("choose another owner/name"),
        LocalForgeError::NotARepository(_) => shown.with_hint("give the directory of a clone"),
        LocalForgeError::BadPattern(_) => {
            shown.with_hint("write a branch; * stands for any text but /")
        }
        LocalForgeError::Failed(failure) => match **failure {
            Failure::Missing(MissingItem::Repository) => {
                shown.with_hint("`candor github status` shows all repositories")
            }
            _ => shown,
        },
    }
}
