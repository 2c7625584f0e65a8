//! What the owner decides about limits, deadlines, retries and the breaker.

use crate::cli::failure_form::FailureFormArg;
use candor_guard::retry::RetryPolicy;
use candor_orders::{CALLS_A_MINUTE, Config, DEADLINE, GuardConfig, TOOL_CALLS_A_MINUTE};
use clap::Args;
use std::num::NonZeroU32;
use std::time::Duration;

/// The longest deadline, pause or wait.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Args)]
pub(super) struct GuardArgs {
    /// How many calls a minute one client may make; 0 for any number
    #[arg(long, value_name = "N", default_value_t = CALLS_A_MINUTE.get())]
    calls_per_minute: u32,
    /// How many calls a minute one client may make of one tool; 0 for any number
    #[arg(long, value_name = "N", default_value_t = TOOL_CALLS_A_MINUTE.get())]
    tool_calls_per_minute: u32,
    /// How long a call may take, all its attempts together
    #[arg(long, value_name = "MS", default_value_t = millis(DEADLINE), value_parser = clap::value_parser!(u64).range(1..=DAY_MS))]
    deadline_ms: u64,
    /// After how many failures in a row the order system is left alone; 0 for never
    #[arg(long, value_name = "N", default_value_t = 5)]
    breaker_failures: u32,
    /// For how long it is left alone
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=DAY_MS))]
    breaker_pause_ms: u64,
    /// How often a call is tried at most, where trying again is safe
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10))]
    attempts: u32,
    /// How many retries all calls together may make for every hundred calls
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1000))]
    retry_percent: u32,
    /// The form of failures that the published schema shows
    #[arg(long, value_enum, default_value_t = FailureFormArg::Auto)]
    failures: FailureFormArg,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(DAY_MS)
}

impl GuardArgs {
    /// What these arguments decide; these texts are kept out of logs.
    pub(super) fn config(&self, secrets: Vec<String>) -> Config {
        let default_currency = GuardConfig::default();
        let attempts = NonZeroU32::new(self.attempts).unwrap_or(NonZeroU32::MIN);
        let guard = GuardConfig {
            deadline: self.deadline(),
            breaker_failures: NonZeroU32::new(self.breaker_failures),
            breaker_pause: Duration::from_millis(self.breaker_pause_ms),
            retry: RetryPolicy {
                attempts,
                ..default_currency.retry
            },
            retry_percent: self.retry_percent,
            ..default_currency
        };
        Config {
            failures: self.failures.into(),
            calls_a_minute: NonZeroU32::new(self.calls_per_minute),
            tool_calls_a_minute: NonZeroU32::new(self.tool_calls_per_minute),
            guard,
            secrets,
        }
    }

    pub(super) fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms)
    }
}
