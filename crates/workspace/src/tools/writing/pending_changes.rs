//! Changes that are applied, and undone unless the call is recorded.

use crate::audit_line;
use crate::failure::Failure;
use crate::notes::{CallNotes, Unrecorded};
use crate::tools::ToolContext;
use crate::tools::commands::ChangedByCommands;
use crate::write::{AppliedChanges, ChangeOrigin, FileChange, WriteTurn};
use candor_disk::RealDisk;
use candor_fault::Cause;
use candor_street::Pending;
use futures_util::future::BoxFuture;
use std::io;
use std::sync::Arc;

/// Applies changes that have passed every check.
pub(in crate::tools) fn apply(
    work: &ToolContext,
    turn: WriteTurn<RealDisk>,
    changes: &[FileChange],
) -> Result<AppliedChanges<RealDisk>, Failure> {
    let about = change_origin(work);
    let id = (work.server.config.ids)();
    let id: String = id
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(16)
        .collect();
    Ok(turn.apply(about, changes, &id)?)
}

/// Returns the origin of the changes of a call.
pub(in crate::tools) fn change_origin(work: &ToolContext) -> ChangeOrigin {
    let ToolContext { session, cx, .. } = work;
    let call = &cx.call;
    let args_hash = audit_line::args_hash(call);
    cx.notes
        .update(|notes| notes.args_hash = Some(args_hash.clone()));
    ChangeOrigin {
        session_id: session.id.clone(),
        request_id: audit_line::redact_and_cut(&call.id),
        tool_name: call.name.clone(),
        args_hash,
        after_seq: session.last_seq(),
    }
}

type AfterKeep = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Changes that wait for their record.
pub(in crate::tools) struct PendingChanges {
    /// The changes that the call made itself.
    applied: Option<AppliedChanges<RealDisk>>,
    /// The changes of its commands, which came later.
    pub(super) by_commands: Option<ChangedByCommands>,
    notes: Arc<CallNotes>,
    then: Option<AfterKeep>,
}

impl PendingChanges {
    pub(in crate::tools) fn new(
        work: &ToolContext,
        applied: AppliedChanges<RealDisk>,
    ) -> PendingChanges {
        PendingChanges {
            applied: Some(applied),
            by_commands: None,
            notes: Arc::clone(&work.cx.notes),
            then: None,
        }
    }

    /// Returns the changes of commands.
    pub(in crate::tools) fn by_commands(
        work: &ToolContext,
        changed: ChangedByCommands,
    ) -> PendingChanges {
        PendingChanges {
            applied: None,
            by_commands: Some(changed),
            notes: Arc::clone(&work.cx.notes),
            then: None,
        }
    }

    /// Leaves everything as it is, because it is on record.
    fn make_final(self) -> io::Result<()> {
        if let Some(changed) = self.by_commands {
            changed.keep()?;
        }
        if let Some(applied) = self.applied {
            applied.keep()?;
        }
        self.then.map_or(Ok(()), |then| then())
    }

    /// Takes everything back, the latest change first.
    pub(super) fn take_back(self) -> io::Result<()> {
        if let Some(changed) = self.by_commands {
            changed.undo()?;
        }
        self.applied.map_or(Ok(()), AppliedChanges::undo)
    }

    /// Adds an action that runs once the change is final.
    pub(in crate::tools) fn then(
        mut self,
        then: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> PendingChanges {
        self.then = Some(Box::new(then));
        self
    }
}

fn blocking(
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> BoxFuture<'static, Result<(), Cause>> {
    Box::pin(async {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(io::Error::other)
            .flatten()
            .map_err(Cause::from)
    })
}

impl Pending for PendingChanges {
    fn keep(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>> {
        match self.then {
            // Two small writes that wait for no disk: another thread would take longer to be woken.
            None => Box::pin(std::future::ready(self.make_final().map_err(Cause::from))),
            Some(_) => blocking(move || self.make_final()),
        }
    }

    fn undo(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>> {
        blocking(move || match self.notes.read().unrecorded {
            // It is uncertain whether the line is in the log: the next session checks it, and
            // settles the change.
            Unrecorded::Perhaps => Err(io::Error::other("left for the next session to settle")),
            _ => self.take_back(),
        })
    }
}
