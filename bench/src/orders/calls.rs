//! Reading, creating and refusing one order, on the order tools and on the bare handler.

use super::fill::RowCounts;
use super::store::Engine;
use super::{CandorBuild, OrdersBench, compare_statements, contender, note_memory, serving};
use crate::bars::{BARE, CANDOR};
use crate::figures::SubjectFigures;
use crate::requests::Case;
use crate::rounds::{Series, alternate};
use std::io;

/// The rows that the requests choose from.
pub(super) const AMOUNT: RowCounts = RowCounts {
    orders: 10_000,
    customers: 10_000,
};

/// The factor by which each call may be slower than the bare handler.
const BARS: [(Case, f64); 3] = [
    (Case::GetOrder, 1.5),
    (Case::CreateOrder, 2.0),
    (Case::RefusedOrder, 2.0),
];

fn bar(engine: &str, case: Case) -> String {
    let case = case.name();
    format!("{engine}, {case}: times slower than a bare handler with the same statements")
}

/// Reports the PostgreSQL bars as not measured, with the reason.
pub(super) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    for (case, limit) in BARS {
        findings.at_most(&bar(Engine::POSTGRES, case), limit, "×", Err(reason));
    }
}

/// Returns the name of these rounds in the tables.
const fn transport(engine: &Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "orders, SQLite",
        Engine::Postgres(_) => "orders, PostgreSQL",
    }
}

pub(super) fn measure(
    bench: &mut OrdersBench<'_>,
    engine: &Engine,
    sides: &[CandorBuild<'_>],
) -> io::Result<()> {
    if let Engine::Postgres(server) = engine {
        compare_statements::compare(bench, server, sides[0])?;
    }
    let stores = &bench.stores;
    let mut store = |name: &str| stores.fresh(engine, name, AMOUNT, bench.progress);
    let bare = store(BARE)?;
    let addresses: io::Result<Vec<_>> = sides.iter().map(|side| store(side.name)).collect();
    let addresses = addresses?;
    let mut contenders = vec![contender(BARE, bench.bare(&bare)?)];
    for (side, address) in sides.iter().zip(addresses) {
        contenders.push(contender(side.name, serving(*side, &address)?));
    }
    let transport = transport(engine);
    let (plan, progress) = (bench.plan, &mut *bench.progress);
    let series = alternate(transport, Case::ORDERS, &mut contenders, plan, |what| {
        progress.say(what);
    })?;
    let findings = &mut bench.report.orders;
    for (case, limit) in BARS {
        let of = |server: &str| find(&series, server, case);
        if let Some((own, bare)) = of(CANDOR).zip(of(BARE)) {
            let measured = own.times_behind(bare);
            findings.at_most(&bar(engine.name(), case), limit, "×", Ok(&measured));
        }
    }
    for contender in &contenders {
        let what = format!("{}, {} after all calls", engine.name(), contender.name);
        note_memory(findings, &what, contender)?;
    }
    bench.report.series.extend(series);
    Ok(())
}

fn find<'a>(all: &'a [Series], server: &str, case: Case) -> Option<&'a Series> {
    all.iter()
        .find(|series| series.server == server && series.case == case)
}
