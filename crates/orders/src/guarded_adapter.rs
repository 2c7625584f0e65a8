//! What stands around an order system: breaker, deadline, retry, in this order.

use crate::adapter::DEADLINE;
use crate::cursor::POSITION_MAX;
use crate::{
    Adapter, Failure, FinalFailure, IdempotencyKey, RefusalReason, Request, RequestContext,
    Response,
};
use candor_fault::Effect;
use candor_guard::retry::{Budget, Policy};
use candor_guard::{Breaker, Deadline, Retry};
use candor_street::{EffectMark, MetricsHub, Random};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

/// What the owner decides about the way to the order system.
#[derive(Debug, Clone)]
pub struct GuardConfig {
    /// How long a call may take, all attempts together.
    pub deadline: Duration,
    /// After how many failures in a row the order system is left alone; never, if nothing.
    pub breaker_failures: Option<NonZeroU32>,
    /// For how long.
    pub breaker_pause: Duration,
    /// How one call is tried again.
    pub retry: Policy,
    /// How many retries all calls may make: so many for every hundred calls.
    pub retry_percent: u32,
    /// How many retries may be saved up.
    pub retry_floor: NonZeroU32,
}

impl Default for GuardConfig {
    fn default() -> Self {
        GuardConfig {
            deadline: DEADLINE,
            breaker_failures: NonZeroU32::new(5),
            breaker_pause: Duration::from_secs(5),
            retry: Policy::default(),
            retry_percent: 20,
            retry_floor: NonZeroU32::new(10).unwrap_or(NonZeroU32::MIN),
        }
    }
}

/// An order system with its guard.
pub(crate) struct GuardedAdapter {
    adapter: Arc<dyn Adapter>,
    breaker: Option<Breaker>,
    deadline: Duration,
    retry: Retry,
    metrics: MetricsHub,
}

impl fmt::Debug for GuardedAdapter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Guarded")
            .field("deadline", &self.deadline)
            .field("breaker", &self.breaker)
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
        let budget = Budget::new(config.retry_percent, config.retry_floor);
        GuardedAdapter {
            adapter,
            breaker: config
                .breaker_failures
                .map(|failures| Breaker::new(failures, pause)),
            deadline: config.deadline,
            retry: Retry::new(config.retry, budget, move || random()),
            metrics,
        }
    }

    /// Asks the order system, as often and as long as the owner allows.
    pub(crate) async fn call(
        &self,
        request: &Request,
        key: Option<IdempotencyKey>,
        mark: &EffectMark,
    ) -> Result<Response, Failure> {
        let tool = request.operation().name();
        let pass = match self.breaker.as_ref().map(Breaker::enter).transpose() {
            Ok(pass) => pass,
            Err(open) => {
                self.metrics.count_breaker_refusal(tool);
                return Err(Failure::BreakerOpen(open.after));
            }
        };
        let context = RequestContext {
            deadline: Deadline::after(self.deadline),
            mark: mark.clone(),
            key,
        };
        let doubted = AtomicBool::new(false);
        let attempts = self.attempts(request, &context, &doubted);
        let done = context.deadline.run(attempts).await;
        let done = done.unwrap_or(Err(Failure::TimedOut(None)));
        let doubted = doubted.into_inner();
        let done = done.map_err(|failure| self.honest(failure, request, mark, doubted));
        match (&done, pass) {
            // Neither says anything about the order system.
            (_, None) | (Err(Failure::CallStopped(_) | Failure::Internal(..)), _) => {}
            (Err(failure), Some(pass)) if failure.is_trouble() => pass.failed(),
            (_, Some(pass)) => pass.succeeded(),
        }
        done
    }

    /// Attempts until one is enough; `doubted` tells whether one of them may have made its change
    /// without our learning of it.
    async fn attempts(
        &self,
        request: &Request,
        context: &RequestContext,
        doubted: &AtomicBool,
    ) -> Result<Response, Failure> {
        let operation = request.operation();
        if operation.changes() && !self.adapter.keeps_keys() {
            return self.ask(request, context).await;
        }
        // The code of the last failure; whether another attempt follows is known only then.
        let last = &AtomicI32::new(0);
        let attempt = |number| async move {
            if number > 1 {
                let code = last.load(Ordering::Relaxed);
                self.metrics.count_retry(operation.name(), code);
            }
            let done = self.ask(request, context).await;
            if let Err(failure) = &done {
                last.store(failure.code(), Ordering::Relaxed);
                if failure.is_trouble() && context.mark.effect() == Effect::Unknown {
                    // What later attempts take back of their own must not take back this.
                    context.mark.doubt();
                    doubted.store(true, Ordering::Relaxed);
                }
            }
            done
        };
        self.retry.run(context.deadline, attempt).await
    }

    /// One attempt, whose answer has to be of the kind that was asked for.
    async fn ask(&self, request: &Request, context: &RequestContext) -> Result<Response, Failure> {
        let response = self.adapter.call(request, context).await?;
        let fits = match &response {
            Response::One(_) => request.operation().changes(),
            Response::Page { next, .. } => {
                let short = |place: &String| place.len() <= POSITION_MAX;
                !request.operation().changes() && next.as_ref().is_none_or(short)
            }
        };
        if !fits {
            return Err(RefusalReason::InvalidAdapterResponse.into());
        }
        context.mark.done();
        Ok(response)
    }

    /// The failure that is true about the whole call, where the one of its last attempt is not.
    fn honest(
        &self,
        failure: Failure,
        request: &Request,
        mark: &EffectMark,
        doubted: bool,
    ) -> Failure {
        let keyless = request.operation().changes() && !self.adapter.keeps_keys();
        match failure {
            // It invites to make the change again, and nothing would keep it from being made twice.
            Failure::TimedOut(cause) | Failure::Unavailable(_, cause)
                if keyless && mark.effect() != Effect::None =>
            {
                let stands = FinalFailure::Refusal(RefusalReason::OutcomeUnknown.into());
                Failure::Final(Box::new(stands), cause)
            }
            // It says that nothing happened, and an earlier attempt may have made the change.
            Failure::Limited(after, cause) if doubted => Failure::Unavailable(Some(after), cause),
            Failure::Busy(_, after, cause) if doubted => Failure::Unavailable(after, cause),
            Failure::Unsupported if doubted => Failure::Unavailable(None, None),
            Failure::Final(stands, cause) if doubted && stands.refuses_us() => {
                Failure::Unavailable(None, cause)
            }
            failure => failure,
        }
    }
}
