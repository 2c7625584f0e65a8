//! The terms of an approval: until when it holds, and in which workspaces. They are decided before the person is
//! asked, and signed as they were shown.

use super::duration;
use super::opened::OpenedWorkspace;
use crate::cli::CommandError;
use candor_fault::Timestamp;
use candor_sandbox::Offer;
use candor_workspace::approval::ApprovalBinding;
use candor_workspace::repository::RepositoryError;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// The default duration of an approval.
const DEFAULT_DURATION: &str = "8h";

#[derive(Debug, Args)]
pub(super) struct TermArgs {
    /// The duration of the approval: 30m, 4h, 7d
    #[arg(long = "for", value_name = "DURATION", default_value = DEFAULT_DURATION, value_parser = duration::parse)]
    duration: Duration,
    /// The workspaces in which the approval holds
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = Bind::Here)]
    bind: Bind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bind {
    /// This path, while HEAD belongs to the same repository
    Here,
    /// Every clone of this repository, at any path
    Repository,
}

/// The binding of approvals, the duration of each, and the protection of this machine.
pub(super) struct ApprovalTerms {
    pub(super) binding: ApprovalBinding,
    /// The reason why the binding has no repository.
    pub(super) without_repository: Option<RepositoryError>,
    pub(super) duration: Duration,
    /// The sandbox that this machine offers to the commands of plans.
    pub(super) offer: Offer,
}

impl TermArgs {
    /// Finds out to what an approval of a plan in this workspace is bound.
    pub(super) fn decide(
        &self,
        workspace: &OpenedWorkspace,
    ) -> Result<ApprovalTerms, CommandError> {
        let (repository, without_repository) = match workspace.repository.root_commits() {
            Ok(repository) => (Some(repository), None),
            Err(why) => (None, Some(why)),
        };
        let root = match (self.bind, &without_repository) {
            (Bind::Here, _) => Some(workspace.name()),
            (Bind::Repository, None) => None,
            (Bind::Repository, Some(why)) => return Err(no_identity(why)),
        };
        Ok(ApprovalTerms {
            binding: ApprovalBinding { root, repository },
            without_repository,
            duration: self.duration,
            offer: candor_sandbox::probe(&crate::cli::sandbox::helper()),
        })
    }
}

fn no_identity(why: &RepositoryError) -> CommandError {
    let hint = match why {
        RepositoryError::NoCommit => {
            "make a commit first, or bind the approval to this path with --bind here"
        }
        RepositoryError::Shallow => {
            "fetch the whole history, or bind the approval to this path with --bind here:\n  git fetch --unshallow"
        }
        _ => "bind the approval to this path with --bind here",
    };
    CommandError::new(format!(
        "the approval cannot be bound to the repository of this workspace: {why}"
    ))
    .with_hint(hint)
}

impl ApprovalTerms {
    /// Returns the end of an approval that begins now.
    pub(super) fn until(&self, workspace: &OpenedWorkspace) -> Result<Timestamp, CommandError> {
        let end = workspace.now().checked_add(self.duration);
        end.map_err(|error| CommandError::new(format!("the approval would have no end: {error}")))
    }
}
