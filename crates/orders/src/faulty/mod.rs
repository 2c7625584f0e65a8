//! An adapter that fails on demand, around another adapter: for tests, and for authors of clients.

mod injection;
mod script;

pub use script::{MAX_SCRIPT, MAX_SCRIPT_CALLS, MAX_SCRIPT_RULES, MAX_SCRIPT_WAIT};
pub use script::{Script, ScriptError};

use crate::{
    Adapter, AdapterFuture, Failure, OrderOperation, ReadinessFuture, RefusalReason, Request,
    RequestContext, Response,
};
use candor_fault::Cause;
use candor_street::MetricsHub;
use script::InjectedFault;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// An adapter around another one that fails as its script demands.
pub struct FaultyAdapter {
    inner: Arc<dyn Adapter>,
    script: Script,
    calls: [AtomicU64; OrderOperation::ALL.len()],
}

impl FaultyAdapter {
    pub fn new(inner: Arc<dyn Adapter>, script: Script) -> FaultyAdapter {
        FaultyAdapter {
            inner,
            script,
            calls: Default::default(),
        }
    }

    /// Counts the call, and returns its number among those of its operation, starting at 1.
    fn next_number(&self, operation: OrderOperation) -> u64 {
        let calls = self.calls.get(operation as usize);
        calls.map_or(0, |calls| calls.fetch_add(1, Ordering::Relaxed)) + 1
    }

    async fn fail(
        &self,
        fault: &InjectedFault,
        request: &Request,
        context: &RequestContext,
    ) -> Result<Response, Failure> {
        let millis = |wait: &Option<u64>| wait.map(Duration::from_millis);
        let failure = match fault {
            // The caller has already waited.
            InjectedFault::Latency { .. } => return self.inner.call(request, context).await,
            InjectedFault::Unavailable { retry_after_ms } => {
                Failure::Unavailable(millis(retry_after_ms), injected_cause())
            }
            InjectedFault::Timeout {} => Failure::TimedOut(injected_cause()),
            InjectedFault::Limited { retry_after_ms } => {
                Failure::Limited(Duration::from_millis(*retry_after_ms), injected_cause())
            }
            InjectedFault::Refused {
                original_error,
                retryable,
            } => refused(original_error, *retryable),
            InjectedFault::Unsupported {} => Failure::Unsupported,
            InjectedFault::Garbage {} => with_cause(RefusalReason::InvalidAdapterResponse.into()),
            InjectedFault::Hang {} => pending().await,
            InjectedFault::LostAnswer {} => self.discard_answer(request, context).await,
            InjectedFault::LostHang {} => match self.discard_answer(request, context).await {
                stopped @ Failure::CallStopped(_) => stopped,
                _ => pending().await,
            },
        };
        Err(failure)
    }

    /// Completes the request and discards the answer, so that its effect is unknown. A call that
    /// was cancelled before its change began has no answer to discard.
    async fn discard_answer(&self, request: &Request, context: &RequestContext) -> Failure {
        match self.inner.call(request, context).await {
            Err(stopped @ Failure::CallStopped(_)) => stopped,
            _ => {
                context.mark.doubt();
                Failure::Unavailable(None, injected_cause())
            }
        }
    }
}

impl fmt::Debug for FaultyAdapter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Faulty")
            .field("script", &self.script)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl Adapter for FaultyAdapter {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn readiness(&self) -> ReadinessFuture<'_> {
        self.inner.readiness()
    }

    fn call<'a>(&'a self, request: &'a Request, context: &'a RequestContext) -> AdapterFuture<'a> {
        Box::pin(async move {
            let operation = request.operation();
            let injection = self
                .script
                .injection(operation, self.next_number(operation));
            if !injection.latency.is_zero() {
                tokio::time::sleep(injection.latency).await;
            }
            match injection.fault {
                None => self.inner.call(request, context).await,
                Some(fault) => self.fail(fault, request, context).await,
            }
        })
    }

    fn report_to(&self, metrics: &MetricsHub) {
        self.inner.report_to(metrics);
    }

    fn keeps_keys(&self) -> bool {
        self.inner.keeps_keys()
    }

    fn may_repeat(&self, change: &Request) -> bool {
        self.inner.may_repeat(change)
    }
}

/// The logged cause of an injected failure.
fn injected_cause() -> Option<Box<Cause>> {
    Some(Box::new(Cause::from("injected by the script")))
}

fn with_cause(failure: Failure) -> Failure {
    match failure {
        Failure::Final(stands, _) => Failure::Final(stands, injected_cause()),
        failure => failure,
    }
}

fn refused(reason: &RefusalReason, retryable: bool) -> Failure {
    match retryable {
        true => Failure::Busy(Box::new(reason.clone().into()), None, injected_cause()),
        false => with_cause(reason.clone().into()),
    }
}
