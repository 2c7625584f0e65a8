//! `candor workspace settle`: settles a change that was interrupted and can be neither finished nor undone.

use super::opened::{OpenedWorkspace, WorkspaceArgs};
use super::serve::os_user;
use crate::cli::prompt;
use crate::cli::{CommandError, print};
use crate::host::system_clock;
use candor_workspace::plan::visible;
use candor_workspace::{
    PendingChange, PendingJournal, SettleChoice, pending_changes, settle_journal,
};
use clap::Args;
use std::fmt::Write as _;

/// Show a change that was interrupted, and settle it
///
/// A server that is killed while it changes files leaves a journal, and the next session finishes or undoes the
/// change. If the tree was changed meanwhile so that neither is possible, the workspace is locked for both roles.
/// Put the files back and use --retry, or accept the tree as it is with --leave: the saved bytes are then kept in
/// the state directory, and the workspace is unlocked.
#[derive(Debug, Args)]
pub(in crate::cli) struct SettleArgs {
    /// Try again to finish or undo the change
    #[arg(long, conflicts_with = "leave")]
    retry: bool,
    /// Leave the files as they are, and keep the saved bytes in the state directory
    #[arg(long)]
    leave: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

impl SettleArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let pending = match workspace.existing_state()? {
            None => PendingJournal::Nothing,
            Some(state) => pending_changes(&workspace.root, &state)
                .map_err(|error| CommandError::new(format!("cannot read the journal: {error}")))?,
        };
        if pending == PendingJournal::Nothing {
            return print(b"nothing is pending\n");
        }
        print(describe(&pending).as_bytes())?;
        let Some(choice) = self.choice(&workspace)? else {
            return print(b"nothing was changed\n");
        };
        let settled = settle_journal(
            &workspace.root,
            &workspace.directories.state,
            &os_user(),
            &system_clock(),
            workspace.checkpoint_signer(),
            choice,
        );
        let done = settled.map_err(|error| {
            let hint = match choice {
                SettleChoice::Retry => format!(
                    "put the files back and try again, or leave them as they are:\n  {}",
                    workspace.command("settle --leave")
                ),
                SettleChoice::Leave => {
                    String::from("stop the servers of this workspace, then try again")
                }
            };
            CommandError::new(format!("cannot settle it: {error}")).with_hint(hint)
        })?;
        print(format!("{}\n", visible(&done)).as_bytes())
    }

    /// Returns the choice of the flags, confirmed, or of the person at the terminal.
    fn choice(&self, workspace: &OpenedWorkspace) -> Result<Option<SettleChoice>, CommandError> {
        if !self.yes && !prompt::is_terminal() {
            let hint = format!(
                "run it in a terminal, or choose one of:\n  {}\n  {}",
                workspace.command("settle --retry --yes"),
                workspace.command("settle --leave --yes")
            );
            let error = CommandError::new("there is no terminal to ask for confirmation");
            return Err(error.with_hint(hint));
        }
        let confirm = |question: &str| match self.yes {
            true => Ok(true),
            false => prompt::confirm(question),
        };
        if (self.retry || !self.leave) && confirm("Try again to finish or undo it?")? {
            return Ok(Some(SettleChoice::Retry));
        }
        let may_leave = self.leave || !self.retry;
        if may_leave && confirm("Leave the files as they are?")? {
            return Ok(Some(SettleChoice::Leave));
        }
        Ok(None)
    }
}

fn describe(pending: &PendingJournal) -> String {
    let PendingJournal::Change {
        tool_name,
        request_id,
        files,
    } = pending
    else {
        return String::from("the journal was not written by this program\n");
    };
    let mut text = format!(
        "a change was interrupted: {} of request {}\n",
        visible(tool_name),
        visible(request_id)
    );
    for PendingChange {
        path,
        before,
        intended,
        now,
    } in files
    {
        let hash = |hash: &Option<String>| hash.clone().unwrap_or_else(|| String::from("missing"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {}\n    before    {}\n    intended  {}\n    now       {now}",
            visible(path),
            hash(before),
            hash(intended)
        );
    }
    text
}
