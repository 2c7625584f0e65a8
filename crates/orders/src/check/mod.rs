//! The checks that tell whether an order system speaks the adapter protocol. They make orders: they
//! are for a test system.

mod asking;
mod keys;
mod making;
mod moving;
mod placing;
mod probe;

pub use probe::REQUEST_TIME;

use crate::http::{Settings, SetupError};
use futures_util::future::BoxFuture;
use probe::{Checked, Probe, Stop};
use serde::Serialize;

/// What became of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
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
    pub outcome: Outcome,
    /// What is expected.
    pub expected: &'static str,
    /// What was seen, or why it was not looked at.
    pub seen: String,
}

/// All checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Each check, in the order in which they were made.
    pub checks: Vec<CheckResult>,
}

impl Report {
    /// How many checks came out so.
    pub fn count(&self, outcome: Outcome) -> usize {
        let those = self.checks.iter().filter(|check| check.outcome == outcome);
        those.count()
    }

    /// Whether nothing failed.
    pub fn passed(&self) -> bool {
        self.count(Outcome::Failed) == 0
    }
}

/// How many units the checks may need.
pub const UNITS: i64 = 100;

/// What the checks order, unless told.
#[derive(Debug, Clone, Default)]
pub struct Goods {
    /// A SKU with at least [`UNITS`] in stock; else one is looked up with `get-inventory`.
    pub sku: Option<String>,
}

/// What the checks share: what to ask, and what to order.
struct Stage {
    probe: Probe,
    /// The same order system without a token, where there is one.
    stranger: Option<Probe>,
    goods: Goods,
}

/// The work of a check.
type Work = for<'a> fn(&'a mut Stage) -> BoxFuture<'a, Checked>;

/// One check.
struct Check {
    name: &'static str,
    expected: &'static str,
    work: Work,
}

/// Makes every check against a live order system. **Orders are made there**, at most 30, each with an
/// external id or a tag that begins with `candor-check-`. `random` brings 64 evenly distributed bits;
/// `on_result` is told each result as it comes.
pub async fn check_adapter(
    settings: &Settings,
    goods: Goods,
    random: impl Fn() -> u64 + Send + Sync + Clone + 'static,
    mut on_result: impl FnMut(&CheckResult),
) -> Result<Report, SetupError> {
    let mut unknown = settings.clone();
    let stranger = match unknown.bearer.take() {
        Some(_) => Some(Probe::new(&unknown, Box::new(random.clone()))?),
        None => None,
    };
    let mut stage = Stage {
        probe: Probe::new(settings, Box::new(random))?,
        stranger,
        goods,
    };
    let mut checks = Vec::new();
    for check in asking::CHECKS
        .iter()
        .chain(making::CHECKS)
        .chain(moving::CHECKS)
        .chain(keys::CHECKS)
    {
        let (outcome, seen) = match (check.work)(&mut stage).await {
            Ok(seen) => (Outcome::Ok, seen),
            Err(Stop::Failed(seen)) => (Outcome::Failed, seen),
            Err(Stop::Skipped(why)) => (Outcome::Skipped, why),
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
    Ok(Report { checks })
}
