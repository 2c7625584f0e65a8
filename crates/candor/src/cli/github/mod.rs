//! `candor github`: the GitHub tools, and the local forge that they work on without GitHub.

mod manage;
mod options;
mod serve;

use super::Trouble;
use crate::host::system_clock;
use candor_forge::local::{Identity, LocalForge, Refused};
use candor_forge::{Failure, Forge, Missing};
use clap::Subcommand;
pub(super) use options::{WriteArgs, server};
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Subcommand)]
pub(super) enum GithubCommand {
    Serve(serve::ServeArgs),
    Init(manage::InitArgs),
    Import(manage::ImportArgs),
    Status(manage::StatusArgs),
    Protect(manage::ProtectArgs),
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
    pub(super) fn run(self) -> Result<(), Trouble> {
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
pub(super) async fn open_local(dir: &Path) -> Result<Arc<dyn Forge>, Trouble> {
    candor_forge::local::init(dir)
        .await
        .map_err(|error| refused(&error))?;
    Ok(Arc::new(open(dir).await?))
}

async fn open(dir: &Path) -> Result<LocalForge, Trouble> {
    let forge = LocalForge::open(dir, system_clock(), identity()).await;
    forge.map_err(|error| refused(&error))
}

/// A sentence about a forge that cannot be had, and what to do.
fn refused(error: &Refused) -> Trouble {
    let trouble = Trouble::new(error.to_string());
    match error {
        Refused::NotAForge(_) => trouble.hinting("make one with `candor github init`"),
        Refused::NotEmpty(_) => trouble.hinting("name another directory with --data-dir"),
        Refused::Newer { .. } => trouble.hinting("take a newer candor, or another --data-dir"),
        Refused::Exists(_) => trouble.hinting("choose another owner/name"),
        Refused::NotARepository(_) => trouble.hinting("give the directory of a clone"),
        Refused::BadPattern(_) => trouble.hinting("write a branch; * stands for any text but /"),
        Refused::Failed(failure) => match **failure {
            Failure::Missing(Missing::Repository) => {
                trouble.hinting("`candor github status` shows all repositories")
            }
            _ => trouble,
        },
    }
}
