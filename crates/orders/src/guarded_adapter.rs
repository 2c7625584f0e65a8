//! An adapter with its guard: breaker, deadline and retry, in this order.

use crate::adapter::DEADLINE;
use crate::cursor::MAX_POSITION;
use crate::{
    Adapter, Failure, FinalFailure, IdempotencyKey, NotReady, RefusalReason, Request,
    RequestContext, Response, ServerReadiness,
};
use candor_fault::Effect;
use candor_guard::retry::{RetryBudget, RetryPolicy};
use candor_guard::{Breaker, BreakerState, Deadline, Retrier};
use candor_street::{EffectMark, MetricsHub, Random};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
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

/// An adapter with its guard.
pub(crate) struct GuardedAdapter {
    adapter: Arc<dyn Adapter>,
    /// Queries and changes fail apart, for instance if a database can only be read.
    query_breaker: Option<Breaker>,
    change_breaker: Option<Breaker>,
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
        let breaker = || {
            let failures = config.breaker_failures;
            failures.map(|failures| Breaker::new(failures, pause))
        };
        GuardedAdapter {
            adapter,
            query_breaker: breaker(),
            change_breaker: breaker(),
            deadline: config.deadline,
            retry: Retrier::new(config.retry, budget, move || random()),
            metrics,
        }
    }

    /// Returns true if the order system stores final outcomes with their keys.
    pub(crate) fn keeps_keys(&self) -> bool {
        self.adapter.keeps_keys()
    }

    /// Checks whether the order system can be used now.
    pub(crate) async fn readiness(&self) -> ServerReadiness {
        let state = |breaker: &Option<Breaker>| breaker.as_ref().map(Breaker::state);
        let checked = tokio::time::timeout(CHECK_TIMEOUT, self.adapter.readiness()).await;
        ServerReadiness {
            adapter: self.adapter.name(),
            checked: checked.unwrap_or(Err(NotReady::Unreachable)),
            queries: state(&self.query_breaker).unwrap_or(BreakerState::Closed),
            changes: state(&self.change_breaker).unwrap_or(BreakerState::Closed),
        }
    }

    /// Sends a request, with as many attempts and as much time as the configuration allows.
    pub(crate) async fn call(
        &self,
        request: &Request,
        client: &str,
        key: Option<IdempotencyKey>,
        mark: &EffectMark,
    ) -> Result<Response, Failure> {
        let tool = request.operation().name();
        let breaker = match request.operation().changes() {
            true => &self.change_breaker,
            false => &self.query_breaker,
        };
        let pass = match breaker.as_ref().map(Breaker::enter).transpose() {
            Ok(pass) => pass,
            Err(open) => {
                self.metrics.count_breaker_refusal(tool);
                return Err(Failure::BreakerOpen(open.after));
            }
        };
        let context = RequestContext {
            deadline: Deadline::after(self.deadline),
            mark: mark.clone(),
            client: client.to_owned(),
            key,
        };
        let doubted = AtomicBool::new(false);
        let run_attempts = self.run_attempts(request, &context, &doubted);
        let done = context.deadline.run(run_attempts).await;
        let done = done.unwrap_or(Err(Failure::TimedOut(None)));
        let doubted = doubted.into_inner();
        let done = done.map_err(|failure| self.overall_failure(failure, request, mark, doubted));
        match (&done, pass) {
            // None of them is evidence about the order system.
            (_, None)
            | (Err(Failure::CallStopped(_) | Failure::Waited(_) | Failure::Internal(..)), _) => {}
            (Err(failure), Some(pass)) if failure.is_trouble() => pass.failed(),
            (_, Some(pass)) => pass.succeeded(),
        }
        done
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
        if operation.changes() && !self.adapter.keeps_keys() {
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
        let is_keyless = request.operation().changes() && !self.adapter.keeps_keys();
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
