//! Changes that share commits, compared with the same changes one by one, and readers of single
//! orders beside many creators of one SKU.

use super::calls::AMOUNT;
use super::store::Engine;
use super::{CandorBuild, OrdersBench, TOOLS, contender, serving_with};
use crate::bars::Sense;
use crate::figures::{SubjectFigures, ratios};
use crate::load::http::HttpLoad;
use crate::load::{Load as _, RoundTally};
use crate::process::BenchProgram;
use crate::requests::Case;
use crate::rounds::alternate;
use std::io;

/// A load whose changes are compared with and without shared commits.
struct GroupCase {
    connections: u64,
    case: Case,
    /// The least ratio of changes per second.
    least: f64,
}

const SQLITE: [GroupCase; 3] = [
    GroupCase {
        connections: 32,
        case: Case::CreateOrder,
        least: 4.0,
    },
    GroupCase {
        connections: 32,
        case: Case::RefusedCancel,
        least: 4.0,
    },
    GroupCase {
        connections: 1,
        case: Case::CreateOrder,
        least: 0.95,
    },
];

const POSTGRES: [GroupCase; 2] = [
    GroupCase {
        connections: 200,
        case: Case::CreateHot,
        least: 3.0,
    },
    GroupCase {
        connections: 16,
        case: Case::CreateOrder,
        least: 0.95,
    },
];

const READERS: u64 = 4;
const CREATORS: u64 = 200;

/// The least rate of readers beside the creators, and the most p99, as ratios to those alone.
const READER_BARS: [(&str, Sense, f64); 2] = [
    (
        "PostgreSQL, 4 readers by id: times the rate alone, beside 200 creators of one SKU",
        Sense::AtLeast,
        0.33,
    ),
    (
        "PostgreSQL, 4 readers by id: times the p99 alone, beside 200 creators of one SKU",
        Sense::AtMost,
        10.0,
    ),
];

const GROUPED: &str = "candor, --commit-group 64";
const SINGLE: &str = "candor, --commit-group 1";

impl GroupCase {
    fn bar(&self, engine: &str) -> String {
        let (case, connections) = (self.case.name(), self.connections);
        format!("{engine}, {connections} connections, {case}: times the rate of --commit-group 1")
    }
}

/// Adds the bars on PostgreSQL without figures.
pub(super) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    for case in POSTGRES {
        let bar = case.bar(Engine::POSTGRES);
        findings.at_least(&bar, case.least, "×", Err(reason));
    }
    for (bar, sense, limit) in READER_BARS {
        match sense {
            Sense::AtLeast => findings.at_least(bar, limit, "×", Err(reason)),
            Sense::AtMost => findings.at_most(bar, limit, "×", Err(reason)),
        }
    }
}

pub(super) fn measure(
    bench: &mut OrdersBench<'_>,
    engine: &Engine,
    side: CandorBuild<'_>,
) -> io::Result<()> {
    let cases: &[GroupCase] = match engine {
        Engine::Sqlite => &SQLITE,
        Engine::Postgres(_) => &POSTGRES,
    };
    for case in cases {
        compare(bench, engine, side, case)?;
    }
    match engine {
        Engine::Sqlite => Ok(()),
        Engine::Postgres(_) => read_beside_creators(bench, engine, side),
    }
}

fn compare(
    bench: &mut OrdersBench<'_>,
    engine: &Engine,
    side: CandorBuild<'_>,
    group: &GroupCase,
) -> io::Result<()> {
    let (mut contenders, mut addresses) = (Vec::new(), Vec::new());
    for (name, store, flag) in [(GROUPED, "grouped", "64"), (SINGLE, "single", "1")] {
        let address = bench.stores.fresh(engine, store, AMOUNT, bench.progress)?;
        let program = serving_with(side, &address, &["--commit-group", flag]);
        let load = HttpLoad::with_connections(&program, TOOLS, group.connections)?;
        contenders.push(contender(name, load));
        addresses.push(address);
    }
    let transport = match engine {
        Engine::Sqlite => "commit groups, SQLite",
        Engine::Postgres(_) => "commit groups, PostgreSQL",
    };
    let (plan, progress) = (bench.plan, &mut *bench.progress);
    let series = alternate(transport, &[group.case], &mut contenders, plan, |what| {
        progress.say(what);
    })?;
    if let [grouped, single] = series.as_slice() {
        let measured = single.times_behind(grouped);
        let bar = group.bar(engine.name());
        let findings = &mut bench.report.orders;
        findings.at_least(&bar, group.least, "×", Ok(&measured));
        for series in [grouped, single] {
            let rates: Vec<_> = series.rounds.iter().map(|round| round.per_second).collect();
            findings.note(format!("{bar}: {}", series.server), "/s", &rates);
        }
    }
    // The servers have ended with their changes.
    drop(contenders);
    let mut verified = addresses.iter().map(|store| bench.stores.verify(store));
    verified.try_for_each(|verified| verified)
}

/// Measures readers of single orders, alone and beside creators, in turn.
fn read_beside_creators(
    bench: &mut OrdersBench<'_>,
    engine: &Engine,
    side: CandorBuild<'_>,
) -> io::Result<()> {
    let address = bench
        .stores
        .fresh(engine, "readers", AMOUNT, bench.progress)?;
    let program: BenchProgram = serving_with(side, &address, &[]);
    let mut load = HttpLoad::with_connections(&program, TOOLS, READERS)?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for round in 1..=bench.plan.rounds {
        let text = format!(
            "readers beside creators: round {round} of {}",
            bench.plan.rounds
        );
        bench.progress.say(&text);
        let mut tally = RoundTally::default();
        load.slice(Case::GetOrder, bench.plan.round, &mut tally)?;
        alone.push(tally.round());
        let creators = load.disturb(Case::CreateHot, CREATORS, round);
        let mut tally = RoundTally::default();
        load.slice(Case::GetOrder, bench.plan.round, &mut tally)?;
        beside.push(tally.round());
        creators.end()?;
    }
    let rates = |rounds: &[crate::load::Round]| -> Vec<f64> {
        rounds.iter().map(|round| round.per_second).collect()
    };
    let p99 = |rounds: &[crate::load::Round]| -> Vec<f64> {
        rounds.iter().map(|round| round.p99_us).collect()
    };
    let findings = &mut bench.report.orders;
    let [(rate, _, least), (tail, _, most)] = READER_BARS;
    let measured = ratios(&rates(&beside), &rates(&alone));
    findings.at_least(rate, least, "×", Ok(&measured));
    let measured = ratios(&p99(&beside), &p99(&alone));
    findings.at_most(tail, most, "×", Ok(&measured));
    findings.note("PostgreSQL, 4 readers by id alone", "/s", &rates(&alone));
    findings.note(
        "PostgreSQL, 4 readers beside 200 creators",
        "/s",
        &rates(&beside),
    );
    Ok(())
}
