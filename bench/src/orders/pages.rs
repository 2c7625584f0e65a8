//! Pages and lookups of orders in a store, compared with the same ones in a store ten times as large.

use super::fill::RowCounts;
use super::store::Engine;
use super::{CandorBuild, OrdersBench, contender, note_memory, serving};
use crate::figures::SubjectFigures;
use crate::requests::Case;
use crate::rounds::alternate;
use std::io;

/// The factor by which a page of the large store may take longer than one of the small store.
const LIMIT: f64 = 1.3;

/// As [`LIMIT`], for pages with bounds on the update time in the order of creation.
const UPDATES_LIMIT: f64 = 2.0;

fn limit(case: Case) -> f64 {
    match Case::UPDATES.contains(&case) {
        true => UPDATES_LIMIT,
        false => LIMIT,
    }
}

/// Returns the cases of pages.
fn cases() -> Vec<Case> {
    [Case::PAGES, Case::UPDATES, Case::LOOKUPS].concat()
}

/// Two stores of the same year, in which each customer has a hundred orders.
struct Pair {
    sizes: [(&'static str, u64); 2],
    names: [&'static str; 2],
}

const WHOLE: Pair = Pair {
    sizes: [("100,000", 100_000), ("1,000,000", 1_000_000)],
    names: ["candor, 100,000 orders", "candor, 1,000,000 orders"],
};

const QUICK: Pair = Pair {
    sizes: [("100,000", 100_000), ("200,000", 200_000)],
    names: ["candor, 100,000 orders", "candor, 200,000 orders"],
};

impl Pair {
    fn bar(&self, engine: &str, case: Case) -> String {
        let [(small, _), (large, _)] = self.sizes;
        let case = case.name();
        format!("{engine}, {case}: times as long with {large} orders as with {small}")
    }
}

/// Adds the bars on PostgreSQL without figures.
pub(super) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    for case in cases() {
        let bar = WHOLE.bar(Engine::POSTGRES, case);
        findings.at_most(&bar, limit(case), "×", Err(reason));
    }
}

/// Returns the name of these rounds in the tables.
const fn transport(engine: &Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "pages, SQLite",
        Engine::Postgres(_) => "pages, PostgreSQL",
    }
}

pub(super) fn measure(
    bench: &mut OrdersBench<'_>,
    engine: &Engine,
    side: CandorBuild<'_>,
) -> io::Result<()> {
    let pair = if bench.quick { QUICK } else { WHOLE };
    // Both before the first server: its connections would be closed while the other store is
    // created.
    let mut addresses = Vec::new();
    for (_, orders) in pair.sizes {
        let amount = RowCounts {
            orders,
            customers: orders / 100,
        };
        addresses.push(bench.stores.kept(engine, amount, bench.progress)?);
    }
    let mut contenders = Vec::new();
    for (address, name) in addresses.iter().zip(pair.names) {
        contenders.push(contender(name, serving(side, address)?));
    }
    let (plan, progress) = (bench.plan, &mut *bench.progress);
    let transport = transport(engine);
    let series = alternate(transport, &cases(), &mut contenders, plan, |what| {
        progress.say(what);
    })?;
    let findings = &mut bench.report.orders;
    for pages in series.chunks_exact(2) {
        let [small, large] = pages else { continue };
        let measured = large.times_behind(small);
        let bar = pair.bar(engine.name(), large.case);
        findings.at_most(&bar, limit(large.case), "×", Ok(&measured));
    }
    for contender in &contenders {
        let what = format!("{}, {} after all pages", engine.name(), contender.name);
        note_memory(findings, &what, contender)?;
    }
    bench.report.series.extend(series);
    Ok(())
}
