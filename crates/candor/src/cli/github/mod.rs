//! `candor github`: the GitHub tools, and the local forge that replaces GitHub.

mod authentication;
mod discussion_commands;
mod owner_commands;
mod serve;
mod token_file;
mod tool_options;
mod write_options;

use super::CommandError;
use super::data_dir::DataDirArgs;
use super::shell_words::quote;
use crate::host::system_clock;
use candor_forge::local::{Identity, LocalForge, LocalForgeError};
use candor_forge::{DiscussionForge as _, Failure, Forge, MissingItem, UnmetPrecondition};
use clap::Subcommand;
use std::path::Path;
use std::sync::Arc;
pub(super) use tool_options::ToolArgs;
pub(super) use write_options::{WriteArgs, server};

#[derive(Debug, Subcommand)]
pub(super) enum GithubCommand {
    Serve(serve::GithubServeArgs),
    Init(owner_commands::GithubInitArgs),
    Import(owner_commands::GithubImportArgs),
    Status(owner_commands::GithubStatusArgs),
    Protect(owner_commands::ProtectArgs),
    Comment(discussion_commands::CommentArgs),
    Review(discussion_commands::ReviewArgs),
    Label(discussion_commands::LabelArgs),
}

pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 success, 1 wrong usage or a failure. Results go to stdout, messages to stderr.

Try:
  candor github init                               create a forge with a sample repository
  candor github import ~/src/project me/project    copy one of your clones
  candor github protect me/project main --require-check ci/test
  candor github status me/project                  show branches, pull requests and rules
  candor github review me/project 1 --approve --as Ada
  candor github serve --allow-writes               serve the tools on stdio";

impl GithubCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            GithubCommand::Serve(serve) => serve.run(),
            GithubCommand::Init(init) => init.run(),
            GithubCommand::Import(import) => import.run(),
            GithubCommand::Status(status) => status.run(),
            GithubCommand::Protect(protect) => protect.run(),
            GithubCommand::Comment(comment) => comment.run(),
            GithubCommand::Review(review) => review.run(),
            GithubCommand::Label(label) => label.run(),
        }
    }
}

/// Returns the author of commits in the local forge.
fn identity() -> Identity {
    Identity {
        name: String::from("Candor"),
        email: String::from("candor@localhost"),
    }
}

/// Opens the local forge in this directory. If there is none, creates one with the sample repository; completes
/// one whose creation was interrupted.
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

/// Opens the local forge of a data directory with its log of writes, in which merges by auto-merge are
/// recorded.
async fn open_recorded(data: &DataDirArgs) -> Result<LocalForge, CommandError> {
    let forge = open(&data.forge()?).await?;
    forge.record_own_writes(write_options::write_log(&data.directory()?)?);
    Ok(forge)
}

/// Converts a refusal of the local forge into an error with a hint.
fn forge_error(error: &LocalForgeError) -> CommandError {
    let command_error = CommandError::new(error.to_string());
    match error {
        LocalForgeError::NotAForge(forge) => {
            let data = forge.parent().unwrap_or(forge).display().to_string();
            command_error.with_hint(format!(
                "to create one, run:\n  candor github init --data-dir {}",
                quote(&data)
            ))
        }
        LocalForgeError::NotEmpty(_) => {
            command_error.with_hint("name another directory with --data-dir")
        }
        LocalForgeError::Newer { .. } => {
            command_error.with_hint("use a newer candor, or name another directory with --data-dir")
        }
        LocalForgeError::Exists(_) => command_error.with_hint("choose another owner/name"),
        LocalForgeError::NotARepository(_) => {
            command_error.with_hint("name the directory of a clone")
        }
        LocalForgeError::BadPattern(_) => {
            command_error.with_hint("write a branch; * matches any text without /")
        }
        LocalForgeError::Failed(failure) => match **failure {
            Failure::Missing(MissingItem::Repository) => {
                command_error.with_hint("to show all repositories, run:\n  candor github status")
            }
            Failure::Unmet(UnmetPrecondition::OwnPull(_)) => {
                command_error.with_hint("give another name with --as")
            }
            _ => command_error,
        },
    }
}
