//! `candor workspace unlock`: unlocks a role.

use super::opened::WorkspaceArgs;
use super::serve::role;
use crate::cli::prompt;
use crate::cli::{CommandError, print};
use candor_workspace::lock::{self, Lock, LockError};
use candor_workspace::plan::visible;
use candor_workspace::{OwnerAction, PendingJournal, Role, pending_changes};
use clap::Args;

/// Show why the workspace is locked, and unlock it
///
/// A workspace is locked for a role after too many violations of the agent, or after a failure that a person must
/// see.
#[derive(Debug, Args)]
pub(in crate::cli) struct UnlockArgs {
    /// The role: executor (WINDSURF) or planner (ANTIGRAVITY) [default: both]
    #[arg(long, value_parser = role)]
    role: Option<Role>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Describes why a role is locked.
fn describe(role: Role, lock: &Lock) -> String {
    format!(
        "{} is locked since {}: {} at line {}\n  {}\n",
        role.label(),
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
        let is_selected = |role: &Role| self.role.is_none_or(|only| only == *role);
        let state = workspace.existing_state()?;
        for role in Role::ALL.into_iter().filter(is_selected) {
            let Some(state) = &state else { continue };
            let lock = match lock::read(state, role) {
                Ok(None) => continue,
                Ok(lock) => lock,
                // A person may remove a lock that cannot be read.
                Err(LockError::Damaged) => None,
                Err(error) => return Err(CommandError::new(error.to_string())),
            };
            locked = true;
            let reason = match &lock {
                Some(lock) => describe(role, lock),
                None => format!(
                    "{} is locked; the reason cannot be read because the file is damaged\n",
                    role.label()
                ),
            };
            print(reason.as_bytes())?;
            if !self.confirm()? {
                print(format!("{} stays locked\n", role.label()).as_bytes())?;
                continue;
            }
            let removed = lock::remove(state, role);
            removed.map_err(|error| CommandError::new(format!("cannot unlock: {error}")))?;
            let lock = lock.as_ref();
            workspace.record(&OwnerAction::Unlocked { role, lock });
            print(format!("{} is unlocked\n", role.label()).as_bytes())?;
        }
        let unfinished = match &state {
            Some(state) => pending_changes(&workspace.root, state)? != PendingJournal::Nothing,
            None => false,
        };
        if unfinished {
            let text = format!(
                "an interrupted change locks the workspace until it is settled; run:\n  {}\n",
                workspace.command("settle")
            );
            return print(text.as_bytes());
        }
        match locked {
            true => Ok(()),
            false => print(b"nothing is locked\n"),
        }
    }

    fn confirm(&self) -> Result<bool, CommandError> {
        match (self.yes, prompt::is_terminal()) {
            (true, _) => Ok(true),
            (false, true) => prompt::confirm("Unlock it?"),
            (false, false) => Err(CommandError::new(
                "there is no terminal to ask for confirmation",
            )
            .with_hint("run it in a terminal, or confirm with --yes")),
        }
    }
}
