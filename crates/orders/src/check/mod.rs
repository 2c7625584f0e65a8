//! Checks whether an order system implements the adapter protocol. They create orders, so they are
//! for a test system.

mod features;
mod filters;
mod keys;
mod lookups;
mod new_orders;
mod order_changes;
mod probe;
mod protocol;
mod returns;
mod stock;
mod test_orders;

pub use probe::REQUEST_TIME;

use crate::http::{AdapterSetupError, HttpSettings};
use candor_street::Random;
use futures_util::future::BoxFuture;
use probe::{AdapterProbe, NotPassed, StepResult};
use serde::Serialize;
use std::fmt;

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AdapterCheckOutcome {
    Ok,
    Failed,
    /// The order system does not offer what the check needs.
    Skipped,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// Stable: never renamed.
    pub name: &'static str,
    pub outcome: AdapterCheckOutcome,
    pub expected: &'static str,
    /// The observation, or the reason why the check was skipped.
    pub seen: String,
}

/// The results of all checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// In the order of execution.
    pub checks: Vec<CheckResult>,
}

impl CheckReport {
    /// Counts the checks with this outcome.
    pub fn count(&self, outcome: AdapterCheckOutcome) -> usize {
        let those = self.checks.iter().filter(|check| check.outcome == outcome);
        those.count()
    }

    /// Returns true if no check failed.
    pub fn passed(&self) -> bool {
        self.count(AdapterCheckOutcome::Failed) == 0
    }
}

/// The units of stock that the checks may need.
pub const UNITS: i64 = 400;

/// The reason why no check was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckError {
    Setup(AdapterSetupError),
    /// No connection to the order system can be made; the reason of the operating system.
    Unreachable(String),
}

impl fmt::Display for CheckError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Setup(error) => error.fmt(out),
            CheckError::Unreachable(reason) => {
                write!(out, "the order system cannot be reached: {reason}")
            }
        }
    }
}

impl std::error::Error for CheckError {}

impl From<AdapterSetupError> for CheckError {
    fn from(error: AdapterSetupError) -> CheckError {
        CheckError::Setup(error)
    }
}

/// The options of the checks.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// A SKU with at least [`UNITS`] in stock. If absent, one is looked up with `get-inventory`.
    pub sku: Option<String>,
}

/// The state that the checks share.
struct CheckRun {
    probe: AdapterProbe,
    /// The same order system without a token, if a token is configured.
    stranger: Option<AdapterProbe>,
    options: CheckOptions,
}

type CheckFn = for<'a> fn(&'a mut CheckRun) -> BoxFuture<'a, StepResult>;

struct Check {
    name: &'static str,
    expected: &'static str,
    work: CheckFn,
}

/// Runs every check against a live order system. **This creates orders**, at most 100, each with an
/// external id or a tag that starts with `candor-check-`. `on_result` is called with each result as
/// it arrives.
pub async fn check_adapter(
    settings: &HttpSettings,
    options: CheckOptions,
    random: Random,
    mut on_result: impl FnMut(&CheckResult),
) -> Result<CheckReport, CheckError> {
    let mut unknown = settings.clone();
    let stranger = match unknown.bearer.take() {
        Some(_) => Some(AdapterProbe::new(&unknown, Random::clone(&random))?),
        None => None,
    };
    let mut run = CheckRun {
        probe: AdapterProbe::new(settings, random)?,
        stranger,
        options,
    };
    if let Some(reason) = run.probe.unreachable_reason().await {
        return Err(CheckError::Unreachable(reason));
    }
    let mut checks = Vec::new();
    for check in protocol::CHECKS
        .iter()
        .chain(new_orders::CHECKS)
        .chain(filters::CHECKS)
        .chain(lookups::CHECKS)
        .chain(order_changes::CHECKS)
        .chain(stock::CHECKS)
        .chain(returns::CHECKS)
        .chain(features::CHECKS)
        .chain(keys::CHECKS)
    {
        let (outcome, seen) = match (check.work)(&mut run).await {
            Ok(seen) => (AdapterCheckOutcome::Ok, seen),
            Err(NotPassed::Failed(seen)) => (AdapterCheckOutcome::Failed, seen),
            Err(NotPassed::Skipped(reason)) => (AdapterCheckOutcome::Skipped, reason),
        };
        let result = CheckResult {
            name: check.name,
            outcome,
            expected: check.expected,
            seen,
        };
        on_result(&result);
        checks.push(result);
    }
    Ok(CheckReport { checks })
}
