//! The checks that tell whether an order system speaks the adapter protocol. They make orders: they
//! are for a test system.

mod keys;
mod new_orders;
mod order_changes;
mod probe;
mod protocol;
mod test_orders;

pub use probe::REQUEST_TIME;

use crate::http::{AdapterSetupError, HttpSettings};
use candor_street::Random;
use futures_util::future::BoxFuture;
use probe::{NotPassed, Probe, StepResult};
use serde::Serialize;

/// What became of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// It was as expected.
    Ok,
    /// It was not.
    Failed,
    /// It needs what the order system does not offer.
    Skipped,
}

/// One check and what was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// Its name, which does not change.
    pub name: &'static str,
    /// What became of it.
    pub outcome: CheckOutcome,
    /// What is expected.
    pub expected: &'static str,
    /// What was seen, or why it was not looked at.
    pub seen: String,
}

/// All checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Each check, in the order in which they were made.
    pub checks: Vec<CheckResult>,
}

impl CheckReport {
    /// How many checks came out so.
    pub fn count(&self, outcome: CheckOutcome) -> usize {
        let those = self.checks.iter().filter(|check| check.outcome == outcome);
        those.count()
    }

    /// Whether nothing failed.
    pub fn passed(&self) -> bool {
        self.count(CheckOutcome::Failed) == 0
    }
}

/// How many units the checks may need.
pub const UNITS: i64 = 100;

/// What the checks order, unless told.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// A SKU with at least [`UNITS`] in stock; else one is looked up with `get-inventory`.
    pub sku: Option<String>,
}

/// What the checks share: what to ask, and what to order.
struct CheckRun {
    probe: Probe,
    /// The same order system without a token, where there is one.
    stranger: Option<Probe>,
    options: CheckOptions,
}

/// The work of a check.
type CheckFn = for<'a> fn(&'a mut CheckRun) -> BoxFuture<'a, StepResult>;

/// One check.
struct Check {
    name: &'static str,
    expected: &'static str,
    work: CheckFn,
}

/// Makes every check against a live order system. **Orders are made there**, at most 30, each with an
/// external id or a tag that begins with `candor-check-`. `random` brings 64 evenly distributed bits;
/// `on_result` is told each result as it comes.
pub async fn check_adapter(
    settings: &HttpSettings,
    options: CheckOptions,
    random: Random,
    mut on_result: impl FnMut(&CheckResult),
) -> Result<CheckReport, AdapterSetupError> {
    let mut unknown = settings.clone();
    let stranger = match unknown.bearer.take() {
        Some(_) => Some(Probe::new(&unknown, Random::clone(&random))?),
        None => None,
    };
    let mut run = CheckRun {
        probe: Probe::new(settings, random)?,
        stranger,
        options,
    };
    let mut checks = Vec::new();
    for check in protocol::CHECKS
        .iter()
        .chain(new_orders::CHECKS)
        .chain(order_changes::CHECKS)
        .chain(keys::CHECKS)
    {
        let (outcome, seen) = match (check.work)(&mut run).await {
            Ok(seen) => (CheckOutcome::Ok, seen),
            Err(NotPassed::Failed(seen)) => (CheckOutcome::Failed, seen),
            Err(NotPassed::Skipped(reason)) => (CheckOutcome::Skipped, reason),
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
