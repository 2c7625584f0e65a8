//! `candor workspace clean`: removes plans that nobody has approved, and build directories that nobody needs.

use super::directories::BuildDirArgs;
use super::duration;
use super::opened::{OpenedWorkspace, WorkspaceArgs};
use crate::cli::prompt;
use crate::cli::{CommandError, print};
use candor_disk::Disk;
use candor_workspace::OwnerAction;
use candor_workspace::command::{FoundBuildDir, remove_ended};
use candor_workspace::plan::{PlanHash, PlanNames, store};
use clap::Args;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Remove build directories whose approvals have ended, and old plans that nobody has approved
///
/// A plan with an approval stays, even if the approval has expired or was revoked.
#[derive(Debug, Args)]
pub(in crate::cli) struct CleanArgs {
    /// Remove drafts that are older than this too: 12h, 30d
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    drafts: Option<Duration>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Another file of approvers, in the format of OpenSSH's allowed_signers (repeatable)
    #[arg(long, value_name = "FILE")]
    approvers: Vec<PathBuf>,
    #[command(flatten)]
    build: BuildDirArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

impl CleanArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let builds = self.remove_builds(&workspace)?;
        let detail = match builds {
            1 => String::from("1 build directory removed"),
            count => format!("{count} build directories removed"),
        };
        if builds > 0 || self.drafts.is_none() {
            print(format!("{detail}\n").as_bytes())?;
        }
        match self.drafts {
            Some(age) => self.remove_drafts(&workspace, age),
            None => Ok(()),
        }
    }

    /// Removes the build directories whose approvals have ended. Returns their number.
    fn remove_builds(&self, workspace: &OpenedWorkspace) -> Result<usize, CommandError> {
        let of_root = self.build.of_root(&workspace.root)?;
        let signers = workspace.signers(&self.approvers)?;
        let revocations = workspace.revocations()?;
        let is_valid = |found: &FoundBuildDir| {
            let hash = PlanHash::read(&found.plan);
            hash.is_some_and(|hash| {
                found.is_needed(workspace.approval_of(&hash, &signers, &revocations))
            })
        };
        remove_ended(&of_root, is_valid).map_err(|error| {
            CommandError::new(format!("cannot remove {}: {error}", of_root.display()))
        })
    }

    fn remove_drafts(
        &self,
        workspace: &OpenedWorkspace,
        least_age: Duration,
    ) -> Result<(), CommandError> {
        let disk = workspace.root.disk();
        let failed =
            |error: std::io::Error| CommandError::new(format!("cannot remove the drafts: {error}"));
        let names = PlanNames::new(store::names(&disk).map_err(failed)?);
        let now = SystemTime::from(workspace.now());
        let is_old = |path: &String| {
            let changed = std::fs::symlink_metadata(workspace.root.path().join(path));
            let changed = changed.and_then(|metadata| metadata.modified());
            changed.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age >= least_age))
        };
        let old: Vec<_> = names
            .drafts()
            .map(|hash| store::path(&hash))
            .filter(is_old)
            .collect();
        if old.is_empty() {
            return print(b"no draft is that old\n");
        }
        let drafts = match old.len() {
            1 => String::from("1 draft"),
            count => format!("{count} drafts"),
        };
        if !self.yes {
            if !prompt::is_terminal() {
                let error = CommandError::new("there is no terminal to ask for confirmation");
                return Err(error.with_hint("run it in a terminal, or confirm with --yes"));
            }
            if !prompt::confirm(&format!("Remove {drafts}?"))? {
                return print(b"nothing was removed\n");
            }
        }
        for path in &old {
            disk.unlink(path).map_err(failed)?;
        }
        disk.sync_dir(store::PLANS_DIR).map_err(failed)?;
        let detail = format!("{drafts} removed");
        workspace.record(&OwnerAction::Cleaned { detail: &detail });
        print(format!("{detail}\n").as_bytes())
    }
}
