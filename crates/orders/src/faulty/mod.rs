//! An order system that fails to order, around one that works: for tests, and for authors of clients.

mod fate;
mod script;

pub use script::{SCRIPT_CALLS_MAX, SCRIPT_MAX, SCRIPT_RULES_MAX, SCRIPT_WAIT_MAX};
pub use script::{Script, ScriptError};

use crate::{Adapter, Answering, Failure, Operation, Request, Response, Turn, Why};
use candor_fault::Cause;
use script::Fault;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// An adapter around another that fails as its script says.
pub struct Faulty {
    inner: Arc<dyn Adapter>,
    script: Script,
    calls: [AtomicU64; Operation::ALL.len()],
}

impl Faulty {
    /// The adapter with the faults of this script.
    pub fn new(inner: Arc<dyn Adapter>, script: Script) -> Faulty {
        Faulty {
            inner,
            script,
            calls: Default::default(),
        }
    }

    /// The number of this call among those of its operation, from 1.
    fn number(&self, operation: Operation) -> u64 {
        let calls = self.calls.get(operation as usize);
        calls.map_or(0, |calls| calls.fetch_add(1, Ordering::Relaxed)) + 1
    }

    async fn fail(
        &self,
        fault: &Fault,
        request: &Request,
        turn: &Turn,
    ) -> Result<Response, Failure> {
        let millis = |wait: &Option<u64>| wait.map(Duration::from_millis);
        let failure = match fault {
            // Waited for already.
            Fault::Latency { .. } => return self.inner.call(request, turn).await,
            Fault::Unavailable { retry_after_ms } => {
                Failure::Unavailable(millis(retry_after_ms), injected())
            }
            Fault::Timeout {} => Failure::TimedOut(injected()),
            Fault::Limited { retry_after_ms } => {
                Failure::Limited(Duration::from_millis(*retry_after_ms), injected())
            }
            Fault::Refused {
                original_error,
                retryable,
            } => refused(original_error, *retryable),
            Fault::Unsupported {} => Failure::Unsupported,
            Fault::Garbage {} => with_cause(Why::InvalidAdapterResponse.into()),
            Fault::Hang {} => pending().await,
            Fault::LostAnswer {} => self.lost(request, turn).await,
            Fault::LostHang {} => match self.lost(request, turn).await {
                stopped @ Failure::CallStopped(_) => stopped,
                _ => pending().await,
            },
        };
        Err(failure)
    }

    /// Asks to the end and loses the answer: whether a change was made is not known from then on. A call
    /// that was stopped before its change began has no answer to lose.
    async fn lost(&self, request: &Request, turn: &Turn) -> Failure {
        match self.inner.call(request, turn).await {
            Err(stopped @ Failure::CallStopped(_)) => stopped,
            _ => {
                turn.mark.doubt();
                Failure::Unavailable(None, injected())
            }
        }
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Faulty")
            .field("script", &self.script)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl Adapter for Faulty {
    fn call<'a>(&'a self, request: &'a Request, turn: &'a Turn) -> Answering<'a> {
        Box::pin(async move {
            let operation = request.operation();
            let fate = self.script.fate(operation, self.number(operation));
            if !fate.latency.is_zero() {
                tokio::time::sleep(fate.latency).await;
            }
            match fate.fault {
                None => self.inner.call(request, turn).await,
                Some(fault) => self.fail(fault, request, turn).await,
            }
        })
    }

    fn keeps_keys(&self) -> bool {
        self.inner.keeps_keys()
    }
}

/// What the log says about a failure that was made to order.
fn injected() -> Option<Box<Cause>> {
    Some(Box::new(Cause::from("injected by the script")))
}

fn with_cause(failure: Failure) -> Failure {
    match failure {
        Failure::Final(stands, _) => Failure::Final(stands, injected()),
        failure => failure,
    }
}

fn refused(why: &Why, retryable: bool) -> Failure {
    match retryable {
        true => Failure::Busy(Box::new(why.clone().into()), None, injected()),
        false => with_cause(why.clone().into()),
    }
}
