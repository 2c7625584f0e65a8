//! `candor workspace clean`: removes plans that nobody has approved.

use super::opened::WorkspaceArgs;
use super::{duration, prompt};
use crate::cli::{CommandError, print};
use candor_disk::Disk;
use candor_workspace::OwnerAction;
use candor_workspace::plan::{PlanNames, store};
use clap::Args;
use std::time::{Duration, SystemTime};

/// Remove old plans that nobody has approved
///
/// A plan with an approval stays, even if the approval has expired or was revoked.
#[derive(Debug, Args)]
pub(in crate::cli) struct CleanArgs {
    /// Remove drafts that are older than this: 12h, 30d
    #[arg(long, value_name = "DURATION", required = true, value_parser = duration::parse)]
    drafts: Duration,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

impl CleanArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let disk = workspace.root.disk();
        let failed =
            |error: std::io::Error| CommandError::new(format!("cannot remove the drafts: {error}"));
        let names = PlanNames::new(store::names(&disk).map_err(failed)?);
        let now = SystemTime::from(workspace.now());
        let is_old = |path: &String| {
            let changed = std::fs::symlink_metadata(workspace.root.path().join(path));
            let changed = changed.and_then(|metadata| metadata.modified());
            changed.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age >= self.drafts))
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
