//! An adapter with its guard: breaker, deadline and retry, in this order.

use crate::adapter::DEADLINE;
use crate::cursor::MAX_POSITION;
use crate::{
    Adapter, Failure, FinalFailure, IdempotencyKey, NotReady, RefusalReason, Request,
    RequestContext, Response, ServerReadiness,
};
use candor_fault::Effect;
use candor_guard::retry::{RetryBudget, RetryPolicy};
use candor_guard::{Breaker, BreakerChange, BreakerState, Deadline, Retrier};
use candor_street::{EffectMark, MetricsHub, Random};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// The most time of a check whether the order system can be used.
const CHECK_TIMEOUT: Duration = Duration::from_millis(800);

/// The configuration of the guard.
#[derive(Debug, Clone)]
pub struct GuardConfig {
    /// The time that a call may take, including all attempts. `Server::deadline` cannot replace it: that
    /// one answers `TIMEOUT` for a change that has begun and lets it go on, whereas here a change without
    /// keys ends as `OUTCOME_UNKNOWN`, its wait is dropped, and the breaker counts the timeout.
    pub deadline: Duration,
    /// The number of consecutive failures that opens the breaker. `None` disables it.
    pub breaker_failures: Option<NonZeroU32>,
    /// The time that the breaker stays open.
    pub breaker_pause: Duration,
    pub retry: RetryPolicy,
    /// The retries that all calls together may make, for every hundred calls.
    pub retry_percent: u32,
    /// The retries that may be saved up.
    pub retry_floor: NonZeroU32,
}

impl Default for GuardConfig {
    fn default() -> Self {
        GuardConfig {
            deadline: DEADLINE,
            breaker_failures: NonZeroU32::new(5),
            breaker_pause: Duration::from_secs(5),
            retry: RetryPolicy::default(),
            retry_percent: 20,
            retry_floor: NonZeroU32::new(10).unwrap_or(NonZeroU32::MIN),
        }
    }
}

/// The caller of a request.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) client: &'a str,
    pub(crate) tenant: Option<String>,
    pub(crate) trace_parent: Option<String>,
}

/// A breaker with its name in logs and metrics.
#[derive(Debug)]
struct NamedBreaker {
    name: &'static str,
    breaker: Breaker,
    /// How often it has opened.
    openings: AtomicU64,
}

/// A breaker that has opened or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BreakerEvent {
    pub(crate) breaker: &'static str,
    pub(crate) is_open: bool,
    /// How often it has opened since the server started. No two events of a breaker are equal.
    pub(crate) openings: u64,
}

/// An adapter with its guard.
pub(crate) struct GuardedAdapter {
    adapter: Arc<dyn Adapter>,
    /// Queries and changes fail apart, for instance if a database can only be read.
    query_breaker: Option<NamedBreaker>,
    change_breaker: Option<NamedBreaker>,
    deadline: Duration,
    retry: Retrier,
    metrics: MetricsHub,
}

impl fmt::Debug for GuardedAdapter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Guarded")
            .field("deadline", &self.deadline)
            .field("query_breaker", &self.query_breaker)
            .field("change_breaker", &self.change_breaker)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl GuardedAdapter {
    pub(crate) fn new(
        adapter: Arc<dyn Adapter>,
        config: &GuardConfig,
        random: Random,
        metrics: MetricsHub,
    ) -> GuardedAdapter {
        let pause = config.breaker_pause;
        let budget = RetryBudget::new(config.retry_percent, config.retry_floor);
        let breaker = |name| {
            let failures = config.breaker_failures?;
            metrics.set_breaker_open(name, false);
            Some(NamedBreaker {
                name,
                breaker: Breaker::new(failures, pause),
                openings: AtomicU64::new(0),
            })
        };
        adapter.report_to(&metrics);
        GuardedAdapter {
            adapter,
            query_breaker: breaker("queries"),
            change_breaker: breaker("changes"),
            deadline: config.deadline,
            retry: Retrier::new(config.retry, budget, move || random()),
            metrics,
        }
    }

    /// Returns the time that a call may take.
    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Returns true if the order system stores final outcomes with their keys.
    pub(crate) fn keeps_keys(&self) -> bool {
        self.adapter.keeps_keys()
    }

    /// Checks whether the order system can be used now.
    pub(crate) async fn readiness(&self) -> ServerReadiness {
        let state =
            |named: &Option<NamedBreaker>| named.as_ref().map(|named| named.breaker.state());
        let checked = tokio::time::timeout(CHECK_TIMEOUT, self.adapter.readiness()).await;
        ServerReadiness {
            adapter: self.adapter.name(),
            checked: checked.unwrap_or(Err(NotReady::Unreachable)),
            queries: state(&self.query_breaker).unwrap_or(BreakerState::Closed),
            changes: state(&self.change_breaker).unwrap_or(BreakerState::Closed),
        }
    }

    /// Sends a request, with as many attempts and as much time as the configuration allows. Returns
    /// the answer, and the breaker that it has opened or closed.
    pub(crate) async fn call(
        &self,
        request: &Request,
        caller: Caller<'_>,
        key: Option<IdempotencyKey>,
        mark: &EffectMark,
    ) -> (Result<Response, Failure>, Option<BreakerEvent>) {
        let tool = request.operation().name();
        let breaker = match request.operation().changes() {
            true => &self.change_breaker,
            false => &self.query_breaker,
        };
        let entered = breaker.as_ref().map(|named| named.breaker.enter());
        let pass = match entered.transpose() {
            Ok(pass) => pass,
            Err(open) => {
                self.metrics.count_breaker_refusal(tool);
                return (Err(Failure::BreakerOpen(open.after)), None);
            }
        };
        let context = RequestContext {
            deadline: Deadline::after(self.deadline),
            mark: mark.clone(),
            client: caller.client.to_owned(),
            tenant: caller.tenant,
            trace_parent: caller.trace_parent,
            key,
        };
        let doubted = AtomicBool::new(false);
        let run_attempts = self.run_attempts(request, &context, &doubted);
        let done = context.deadline.run(run_attempts).await;
        let done = done.unwrap_or(Err(Failure::TimedOut(None)));
        let doubted = doubted.into_inner();
        let done = done.map_err(|failure| self.overall_failure(failure, request, mark, doubted));
        let change = match (&done, pass) {
            // None of them is evidence about the order system.
            (_, None)
            | (Err(Failure::CallStopped(_) | Failure::Waited(_) | Failure::Internal(..)), _) => {
                None
            }
            (Err(failure), Some(pass)) if failure.is_trouble() => pass.failed(),
            (_, Some(pass)) => pass.succeeded(),
        };
        let change = breaker.as_ref().zip(change);
        (
            done,
            change.map(|(named, change)| self.count(named, change)),
        )
    }

    /// Counts a breaker that has opened or closed.
    fn count(&self, named: &NamedBreaker, change: BreakerChange) -> BreakerEvent {
        let is_open = change == BreakerChange::Opened;
        self.metrics.set_breaker_open(named.name, is_open);
        let openings = match change {
            BreakerChange::Opened => named.openings.fetch_add(1, Ordering::Relaxed) + 1,
            BreakerChange::Closed => named.openings.load(Ordering::Relaxed),
        };
        BreakerEvent {
            breaker: named.name,
            is_open,
            openings,
        }
    }

    /// Makes attempts until one is enough. Sets `doubted` if an attempt may have made its change
    /// without an answer.
    async fn run_attempts(
        &self,
        request: &Request,
        context: &RequestContext,
        doubted: &AtomicBool,
    ) -> Result<Response, Failure> {
        let operation = request.operation();
        if operation.changes() && !self.adapter.may_repeat(request) {
            return self.attempt_once(request, context).await;
        }
        // The code of the last failure. It is counted as a retry only if another attempt follows.
        let last = &AtomicI32::new(0);
        let attempt = |number| async move {
            if number > 1 {
                let code = last.load(Ordering::Relaxed);
                self.metrics.count_retry(operation.name(), code);
            }
            let done = self.attempt_once(request, context).await;
            if let Err(failure) = &done {
                last.store(failure.code(), Ordering::Relaxed);
                if failure.is_trouble() && context.mark.effect() == Effect::Unknown {
                    // A later attempt that undoes its own effect must not undo the effect of this
                    // one.
                    context.mark.doubt();
                    doubted.store(true, Ordering::Relaxed);
                }
            }
            done
        };
        self.retry.run(context.deadline, attempt).await
    }

    /// Makes one attempt. The answer must be of the kind that the request needs.
    async fn attempt_once(
        &self,
        request: &Request,
        context: &RequestContext,
    ) -> Result<Response, Failure> {
        let response = self.adapter.call(request, context).await?;
        let fits = match &response {
            Response::One { .. } => request.operation().changes(),
            Response::Page { next, .. } => {
                let short = |position: &String| position.len() <= MAX_POSITION;
                !request.operation().changes() && next.as_ref().is_none_or(short)
            }
        };
        if !fits {
            return Err(RefusalReason::InvalidAdapterResponse.into());
        }
        context.mark.done();
        Ok(response)
    }

    /// Returns the failure that is true for all attempts together, if that of the last one is not.
    fn overall_failure(
        &self,
        failure: Failure,
        request: &Request,
        mark: &EffectMark,
        doubted: bool,
    ) -> Failure {
        let is_keyless = request.operation().changes() && !self.adapter.may_repeat(request);
        match failure {
            // This failure invites a retry, and nothing would prevent a second change.
            Failure::TimedOut(cause) | Failure::Unavailable(_, cause)
                if is_keyless && mark.effect() != Effect::None =>
            {
                let final_failure = FinalFailure::Refusal(RefusalReason::OutcomeUnknown.into());
                Failure::Final(Box::new(final_failure), cause)
            }
            // This failure claims that nothing happened, but an earlier attempt may have made the
            // change.
            Failure::Limited(after, cause) if doubted => Failure::Unavailable(Some(after), cause),
            Failure::Busy(_, after, cause) if doubted => Failure::Unavailable(after, cause),
            Failure::Unsupported if doubted => Failure::Unavailable(None, None),
            Failure::Final(final_failure, cause) if doubted && final_failure.refuses_us() => {
                Failure::Unavailable(None, cause)
            }
            failure => failure,
        }
    }
}
