//! Attempts to write, from their record to their answer: each has one outcome and one line, even if
//! its call is stopped while the attempt is still being recorded.

use crate::write_log::WriteLog;
use candor_fault::Cause;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde_json::{Map, Value};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of a line, once it is there.
type Numbered = BoxFuture<'static, Result<u64, Cause>>;

/// The attempt to write that a call makes.
#[derive(Default)]
pub(crate) struct WriteAttempt {
    /// The number of its line, once it is recorded; the record of the outcome names it.
    line: OnceLock<Shared<Numbered>>,
    /// Set by the first end of the call: a write that outlives its answer ends twice.
    has_ended: AtomicBool,
}

impl WriteAttempt {
    /// Returns the number of the attempt's line once it is recorded; `None` if the call made no attempt.
    pub(crate) async fn number(&self) -> Option<u64> {
        self.line.get()?.clone().await.ok()
    }

    /// Marks the call as ended. Returns true on the first call.
    pub(crate) fn mark_ended(&self) -> bool {
        !self.has_ended.swap(true, Ordering::AcqRel)
    }
}

/// The log of writes of a server.
#[derive(Default)]
pub(crate) struct Attempts {
    pub(crate) log: Option<Arc<dyn WriteLog>>,
}

impl Attempts {
    /// Appends a line to the log, on a thread that may block.
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

    /// Records the attempt of a call. The outcome waits for this even if the call is stopped here.
    pub(crate) async fn record(
        &self,
        attempt: &WriteAttempt,
        members: Map<String, Value>,
    ) -> Result<(), Cause> {
        let line = attempt.line.get_or_init(|| self.append(members).shared());
        line.clone().await.map(drop)
    }
}
