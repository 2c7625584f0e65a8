//! Attempts to write, from their record to their answer: each has one outcome, even where its call is
//! stopped while the attempt is still being recorded, and one line.

use crate::writes::WriteLog;
use candor_fault::Cause;
use candor_street::Call;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of a line, once it is there.
type Numbered = BoxFuture<'static, Result<u64, Cause>>;

/// The number of a call's attempt, kept with the call: the record of the outcome names it.
struct Attempt(u64);

/// The attempts of a server, and the log that has them.
#[derive(Default)]
pub(crate) struct Attempts {
    pub(crate) log: Option<Arc<dyn WriteLog>>,
    /// Those that are being recorded, by the place of their call.
    recording: Mutex<BTreeMap<usize, Shared<Numbered>>>,
    /// Those that are recorded, and whose calls were not answered yet.
    unanswered: Mutex<BTreeSet<u64>>,
}

impl Attempts {
    /// Appends a line to the log, on a thread where that may wait.
    pub(crate) fn append(&self, members: Map<String, Value>) -> Numbered {
        let Some(log) = self.log.clone() else {
            return Box::pin(async { Err(Cause::from("there is no log of writes")) });
        };
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || log.append(members)).await;
            written
                .map_err(io::Error::other)
                .flatten()
                .map_err(Cause::from)
        })
    }

    /// Puts the attempt of a call on record.
    pub(crate) async fn record(
        &self,
        call: &Call,
        members: Map<String, Value>,
    ) -> Result<(), Cause> {
        let recording = self.append(members).shared();
        locked(&self.recording).insert(place(call), recording.clone());
        // Whoever stops the call here leaves the entry for its outcome to wait for.
        let recorded = recording.await;
        locked(&self.recording).remove(&place(call));
        let number = recorded?;
        locked(&self.unanswered).insert(number);
        call.kept.get_or_init(|| Attempt(number));
        Ok(())
    }

    /// The number of a call's attempt, once that is on record; nothing where it made none.
    pub(crate) async fn number(&self, call: &Call) -> Option<u64> {
        if let Some(Attempt(number)) = call.kept.get() {
            return Some(*number);
        }
        let recording = locked(&self.recording).remove(&place(call));
        recording?.await.ok()
    }

    /// Whether a call ends for the first time: a write that outlives its answer ends twice.
    pub(crate) fn is_first_end(&self, call: &Call) -> bool {
        let attempt = call.kept.get();
        attempt.is_none_or(|Attempt(number)| locked(&self.unanswered).remove(number))
    }
}

/// What tells a running call from every other: it stays where it is until its end.
fn place(call: &Call) -> usize {
    std::ptr::from_ref(call).addr()
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
