//! Options for limits, deadlines, retries and the circuit breaker.

use crate::cli::failure_form::FailureFormArg;
use candor_guard::retry::RetryPolicy;
use candor_orders::{
    CALLS_A_MINUTE, CALLS_IN_FLIGHT, Config, DEADLINE, GuardConfig, TOOL_CALLS_A_MINUTE,
};
use clap::Args;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

/// The longest deadline, pause or wait.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Args)]
pub(super) struct GuardArgs {
    /// The maximum number of calls per minute and client; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = CALLS_A_MINUTE.get())]
    calls_per_minute: u32,
    /// The maximum number of calls per minute, client and tool; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = TOOL_CALLS_A_MINUTE.get())]
    tool_calls_per_minute: u32,
    /// The maximum number of calls that a client has running at once; 0 for any number
    #[arg(long, value_name = "N", default_value_t = CALLS_IN_FLIGHT.get())]
    calls_in_flight: usize,
    /// The deadline of a call with all its attempts, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = millis(DEADLINE), value_parser = clap::value_parser!(u64).range(1..=DAY_MS))]
    deadline_ms: u64,
    /// The number of consecutive failures after which the order system is not called for a while; 0 for never
    #[arg(long, value_name = "N", default_value_t = 5)]
    breaker_failures: u32,
    /// The time for which it is not called, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=DAY_MS))]
    breaker_pause_ms: u64,
    /// The maximum number of attempts of a call, if a retry is safe
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10))]
    attempts: u32,
    /// The maximum number of retries per hundred calls, for all calls together
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1000))]
    retry_percent: u32,
    /// The form of failures
    #[arg(long, value_enum, default_value_t = FailureFormArg::Auto)]
    failures: FailureFormArg,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(DAY_MS)
}

impl GuardArgs {
    /// Returns the configuration that these arguments set; `secrets` are kept out of logs.
    pub(super) fn config(&self, secrets: Vec<String>) -> Config {
        let defaults = GuardConfig::default();
        let attempts = NonZeroU32::new(self.attempts).unwrap_or(NonZeroU32::MIN);
        let guard = GuardConfig {
            deadline: self.deadline(),
            breaker_failures: NonZeroU32::new(self.breaker_failures),
            breaker_pause: Duration::from_millis(self.breaker_pause_ms),
            retry: RetryPolicy {
                attempts,
                ..defaults.retry
            },
            retry_percent: self.retry_percent,
            ..defaults
        };
        Config {
            failures: self.failures.into(),
            calls_a_minute: NonZeroU32::new(self.calls_per_minute),
            tool_calls_a_minute: NonZeroU32::new(self.tool_calls_per_minute),
            calls_in_flight: NonZeroUsize::new(self.calls_in_flight),
            guard,
            clients: None,
            compat: None,
            secrets,
        }
    }

    pub(super) fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms)
    }
}
