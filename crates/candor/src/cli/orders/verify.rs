//! `candor orders verify`: checks every invariant of a store.

use super::database::DatabaseArgs;
use crate::cli::{CommandError, print};
use crate::host::run;
use candor_orders::sql::{BrokenInvariant, Invariant, VerifyReport, verify};
use candor_workspace::visible_text;
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Check every invariant of a database
///
/// Compares sums, stock, quantities, payments, returns, keys, records and lookup rows with each other, in one
/// snapshot. Changes nothing, and servers may run meanwhile. Prints a line for each broken invariant with the ids
/// that break it, and exits with 1 if there is one.
#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl VerifyArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let location = self.database.existing()?;
        let report = run(|_| async {
            let report = verify(&location.url).await;
            report.map_err(|error| location.unusable(&error))
        })?;
        let text = match self.json {
            true => format!("{}\n", report_json(&report)),
            false => report_text(&report),
        };
        print(text.as_bytes())?;
        match report.broken.len() {
            0 => Ok(()),
            broken => Err(CommandError::new(format!(
                "{broken} of {} invariants do not hold",
                Invariant::ALL.len()
            ))
            .with_hint("docs/orders-operations.md describes what to do with a damaged store")),
        }
    }
}

fn report_text(report: &VerifyReport) -> String {
    if report.broken.is_empty() {
        let (orders, invariants) = (report.orders, Invariant::ALL.len());
        return format!("{orders} orders checked; all {invariants} invariants hold\n");
    }
    let mut text = String::new();
    for BrokenInvariant {
        invariant,
        count,
        ids,
    } in &report.broken
    {
        let more = count.saturating_sub(ids.len() as u64);
        let ids = ids.join(", ");
        let ids = visible_text(&ids);
        let (name, rule) = (invariant.name(), invariant.rule());
        let _ = write!(text, "{name}: it must hold that {rule}; not so for {ids}");
        match more {
            0 => text.push('\n'),
            more => {
                let _ = writeln!(text, " and {more} more");
            }
        }
    }
    text
}

fn report_json(report: &VerifyReport) -> Value {
    let broken = report.broken.iter().map(|broken| {
        json!({
            "invariant": broken.invariant.name(),
            "rule": broken.invariant.rule(),
            "count": broken.count,
            "ids": broken.ids,
        })
    });
    json!({
        "orders": report.orders,
        "invariants": Invariant::ALL.len(),
        "broken": broken.collect::<Vec<_>>(),
    })
}
