//! `candor workspace unlock`: a person lets a locked role work again.

use super::opened::WorkspaceArgs;
use super::prompt;
use super::serve::role;
use crate::cli::{CommandError, print};
use candor_workspace::lock::{self, Lock, LockError};
use candor_workspace::plan::visible;
use candor_workspace::{OwnerAction, Role};
use clap::Args;

/// Show why the workspace is locked, and unlock it
///
/// A workspace is locked for a role when an agent tried too often what it may not do, or when something
/// is wrong that a person has to look at.
#[derive(Debug, Args)]
pub(in crate::cli) struct UnlockArgs {
    /// The role: executor (WINDSURF) or planner (ANTIGRAVITY) [default: both]
    #[arg(long, value_parser = role)]
    role: Option<Role>,
    /// Do not ask whether you are sure
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Why a role is locked, in a few lines.
pub(super) fn why(role: Role, lock: &Lock) -> String {
    format!(
        "{role} is locked since {}: {} at line {}\n  {}\n",
        visible(&lock.timestamp),
        visible(&lock.error_code),
        lock.seq,
        visible(&lock.human_message)
    )
}

impl UnlockArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let mut locked = false;
        let wanted = |role: &Role| self.role.is_none_or(|only| only == *role);
        let state = workspace.existing_state()?;
        for role in Role::ALL.into_iter().filter(wanted) {
            let Some(state) = &state else { continue };
            let lock = match lock::read(state, role) {
                Ok(None) => continue,
                Ok(lock) => lock,
                // A person may remove what nobody can read.
                Err(LockError::Damaged) => None,
                Err(error) => return Err(CommandError::new(error.to_string())),
            };
            locked = true;
            let shown = match &lock {
                Some(lock) => why(role, lock),
                None => format!("{role} is locked, and why cannot be read: the file is damaged\n"),
            };
            print(shown.as_bytes())?;
            if !self.confirm()? {
                print(format!("{role} stays locked\n").as_bytes())?;
                continue;
            }
            let removed = lock::remove(state, role);
            removed.map_err(|error| CommandError::new(format!("it stays locked: {error}")))?;
            let lock = lock.as_ref();
            workspace.record(&OwnerAction::Unlocked { role, lock });
            print(format!("{role} is unlocked\n").as_bytes())?;
        }
        match locked {
            true => Ok(()),
            false => print(b"nothing is locked\n"),
        }
    }

    fn confirm(&self) -> Result<bool, CommandError> {
        match (self.yes, prompt::is_terminal()) {
            (true, _) => Ok(true),
            (false, true) => prompt::yes("Unlock it?"),
            (false, false) => Err(CommandError::new("there is no terminal to ask on")
                .with_hint("run it in a terminal; a machine gives --yes")),
        }
    }
}
