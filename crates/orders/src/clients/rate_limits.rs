//! The rate limits of clients. Clients with the same quota share a limiter, which counts each by its name, so
//! that a new version of the file of clients changes no count.

use candor_guard::{LimitExceeded, Limiter, Quota};
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex, PoisonError};

/// The quotas of one client; `None` means any number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateQuotas {
    pub(crate) calls: Option<NonZeroU32>,
    pub(crate) tool_calls: Option<NonZeroU32>,
}

/// Counts the calls of all clients.
#[derive(Debug)]
pub(crate) struct RateLimits {
    max_keys: NonZeroUsize,
    by_client: LimiterSet,
    by_tool: LimiterSet,
}

/// One limiter for each quota that was ever used.
type LimiterSet = Mutex<BTreeMap<NonZeroU32, Arc<Limiter>>>;

impl RateLimits {
    /// Creates limits that count at most `max_keys` clients, or pairs of client and tool, for each quota.
    pub(crate) fn new(max_keys: NonZeroUsize) -> RateLimits {
        RateLimits {
            max_keys,
            by_client: LimiterSet::default(),
            by_tool: LimiterSet::default(),
        }
    }

    /// Counts a call of a tool by a client, or returns how long the client has to wait.
    pub(crate) fn check(
        &self,
        quotas: RateQuotas,
        client: &str,
        tool: &'static str,
    ) -> Result<(), LimitExceeded> {
        let by_tool = quotas
            .tool_calls
            .map(|count| self.limiter(&self.by_tool, count));
        let by_client = quotas
            .calls
            .map(|count| self.limiter(&self.by_client, count));
        let asked = [
            by_tool.as_ref().map(|all| all.peek(&(client, tool))),
            by_client.as_ref().map(|all| all.peek(client)),
        ];
        let refused = asked.into_iter().flatten().filter_map(Result::err);
        // A client that waits for the longer time passes both limits.
        if let Some(longest) = refused.max_by_key(|limited| limited.after) {
            return Err(longest);
        }
        by_tool.map_or(Ok(()), |all| all.check(&(client, tool)))?;
        by_client.map_or(Ok(()), |all| all.check(client))
    }

    fn limiter(&self, limiters: &LimiterSet, count: NonZeroU32) -> Arc<Limiter> {
        let mut limiters = limiters.lock().unwrap_or_else(PoisonError::into_inner);
        let limiter = limiters
            .entry(count)
            .or_insert_with(|| Arc::new(Limiter::new(Quota::per_minute(count), self.max_keys)));
        Arc::clone(limiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(calls: u32, tool_calls: u32) -> RateQuotas {
        RateQuotas {
            calls: NonZeroU32::new(calls),
            tool_calls: NonZeroU32::new(tool_calls),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_client_has_its_own_quota() {
        let limits = RateLimits::new(NonZeroUsize::new(8).unwrap());
        let passes = |quotas, client| limits.check(quotas, client, "get-orders").is_ok();
        assert!(passes(quotas(1, 0), "a"));
        assert!(!passes(quotas(1, 0), "a"));
        assert!(passes(quotas(1, 0), "b"));
        assert!(passes(quotas(2, 0), "c") && passes(quotas(2, 0), "c"));
        assert!(!passes(quotas(2, 0), "c"));
        assert!(passes(quotas(0, 1), "a"));
        assert!(!passes(quotas(0, 1), "a"));
        assert!(passes(quotas(0, 0), "a"));
    }

    #[tokio::test(start_paused = true)]
    async fn refused_call_is_counted_by_no_limit() {
        let limits = RateLimits::new(NonZeroUsize::new(8).unwrap());
        let check = |tool| limits.check(quotas(2, 1), "a", tool);
        assert!(check("get-orders").is_ok());
        for _ in 0..5 {
            assert!(check("get-orders").is_err());
        }
        assert!(check("get-returns").is_ok());
    }
}
