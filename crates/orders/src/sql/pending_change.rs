//! A change on its way to the database, shared by the call that waits for it and the task that makes
//! it.
//!
//! The call may leave at any time. The task checks that before it commits: a change whose call has
//! left is not made, and a call that leaves after the commit was sent knows from its mark that the
//! effect is unknown.

use super::keys::{self, KeyOutcome};
use crate::adapter::{IdempotencyKey, Request, RequestContext};
use crate::failure::{Failure, WaitedFor};
use candor_fault::Cause;
use candor_guard::Deadline;
use candor_street::EffectMark;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout_at;

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const COMMITTING: u8 = 2;
const LEFT: u8 = 3;

/// The stage of a change, known to its call and to its task.
#[derive(Debug, Default)]
pub(super) struct ChangeStage {
    stage: AtomicU8,
    left: Notify,
}

impl ChangeStage {
    fn step(&self, from: u8, to: u8) -> bool {
        let step = self
            .stage
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        step.is_ok()
    }

    fn is(&self, stage: u8) -> bool {
        self.stage.load(Ordering::Acquire) == stage
    }

    /// Returns when the call has left before the commit.
    pub(super) async fn left(&self) {
        while !self.is(LEFT) {
            self.left.notified().await;
        }
    }

    /// Records that nobody waits for the change. Returns true if it had not started.
    fn leave(&self) -> bool {
        let was_waiting = self.step(WAITING, LEFT);
        if was_waiting || self.step(RUNNING, LEFT) {
            self.left.notify_one();
        }
        was_waiting
    }
}

/// A change that waits for its turn or is being made.
pub(super) struct PendingChange {
    pub(super) request: Request,
    pub(super) key: IdempotencyKey,
    pub(super) fingerprint: String,
    pub(super) deadline: Deadline,
    pub(super) mark: EffectMark,
    pub(super) stage: Arc<ChangeStage>,
    reply: oneshot::Sender<Result<KeyOutcome, Failure>>,
}

impl fmt::Debug for PendingChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PendingChange({})", self.request.operation().name())
    }
}

impl PendingChange {
    /// Returns the change of a request, and the ticket of the call that waits for it.
    pub(super) fn new(
        request: &Request,
        key: &IdempotencyKey,
        context: &RequestContext,
    ) -> (PendingChange, ChangeTicket) {
        let (reply, answer) = oneshot::channel();
        let stage = Arc::<ChangeStage>::default();
        let change = PendingChange {
            request: request.clone(),
            key: key.clone(),
            fingerprint: keys::fingerprint(request),
            deadline: context.deadline,
            mark: context.mark.clone(),
            stage: Arc::clone(&stage),
            reply,
        };
        (change, ChangeTicket { stage, answer })
    }

    /// Starts the change, or starts it anew. Returns false if it came too late.
    pub(super) fn start(&self) -> bool {
        let starts = self.stage.step(WAITING, RUNNING) || self.stage.is(RUNNING);
        starts && !self.deadline.passed()
    }

    /// Returns true if the change may still be committed.
    pub(super) fn is_in_time(&self) -> bool {
        self.stage.is(RUNNING) && !self.deadline.passed()
    }

    /// Marks the change as committed from now on. Returns false if its call has left.
    pub(super) fn begin_commit(&self) -> bool {
        if self.mark.begins().is_err() {
            return false;
        }
        let begins = self.stage.step(RUNNING, COMMITTING);
        if !begins {
            self.mark.undone();
        }
        begins
    }

    /// Takes [`PendingChange::begin_commit`] back: nothing was committed.
    pub(super) fn undo_commit(&self) {
        if self.stage.step(COMMITTING, RUNNING) {
            self.mark.undone();
        }
    }

    /// Answers the call. A call that has left needs no answer.
    pub(super) fn answer(self, outcome: Result<KeyOutcome, Failure>) {
        let _ = self.reply.send(outcome);
    }
}

/// The right to the answer of a change. If it is dropped, the change is not made, unless its commit
/// was sent.
#[derive(Debug)]
pub(super) struct ChangeTicket {
    stage: Arc<ChangeStage>,
    answer: oneshot::Receiver<Result<KeyOutcome, Failure>>,
}

impl ChangeTicket {
    /// Waits for the answer until the deadline.
    pub(super) async fn answer(mut self, deadline: Deadline) -> Result<KeyOutcome, Failure> {
        match timeout_at(deadline.instant(), &mut self.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => {
                let cause = Box::new(Cause::from("its task has ended"));
                Err(Failure::Internal("a change has no answer", cause))
            }
            Err(_) if self.stage.leave() => Err(Failure::Waited(WaitedFor::Lane)),
            Err(_) => Err(Failure::TimedOut(None)),
        }
    }
}

impl Drop for ChangeTicket {
    fn drop(&mut self) {
        self.stage.leave();
    }
}
