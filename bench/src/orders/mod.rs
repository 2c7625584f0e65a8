//! The order tools: three calls compared with a bare handler that runs the same statements, and
//! pages in a small store compared with pages in a large one, each on SQLite and on PostgreSQL; and
//! the cost of comparing the answers of a backend with their requests.

pub(crate) mod bare;
mod calls;
mod compare_statements;
mod comparison;
mod fairness;
mod fill;
mod groups;
mod pages;
mod start;
mod statements;
mod store;

use crate::arguments::{BenchOptions, BenchPart};
use crate::bars::BARE;
use crate::figures::SubjectFigures;
use crate::load::http::HttpLoad;
use crate::process::BenchProgram;
use crate::report::BenchReport;
use crate::report::terminal::ProgressLine;
use crate::rounds::{Contender, RoundPlan};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use store::{Engine, StoreAddress, Stores};

const MISSING: &str = "PostgreSQL is not installed";

/// The HTTP paths of the order tools and of the bare handler.
const TOOLS: &str = "/orders/mcp";
const HANDLER: &str = "/mcp";

/// The inputs of every measurement of orders.
struct OrdersBench<'a> {
    /// This program, which contains the bare one.
    own: &'a Path,
    stores: Stores<'a>,
    quick: bool,
    plan: RoundPlan,
    report: &'a mut BenchReport,
    progress: &'a mut ProgressLine,
}

/// A build of candor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CandorBuild<'a> {
    pub(crate) name: &'static str,
    pub(crate) file: &'a Path,
}

/// Measures everything about orders, on these builds of candor.
pub(crate) fn measure(
    (own, sides): (&Path, &[CandorBuild<'_>]),
    options: &BenchOptions,
    plan: RoundPlan,
    report: &mut BenchReport,
    progress: &mut ProgressLine,
) -> io::Result<()> {
    let Some(candor) = sides.first() else {
        return Ok(());
    };
    let kept = options.stores.clone().unwrap_or_else(usual);
    let mut bench = OrdersBench {
        own,
        stores: Stores::new(candor.file, kept)?,
        quick: options.quick,
        plan,
        report,
        progress,
    };
    if options.wants(BenchPart::OrdersCalls) {
        start::measure(&mut bench, *candor)?;
        comparison::measure(&mut bench)?;
    }
    on(&mut bench, &Engine::Sqlite, (options, sides))?;
    match bench.stores.postgres()? {
        Some(server) => on(&mut bench, &server, (options, sides)),
        None => {
            let findings = &mut bench.report.orders;
            if options.wants(BenchPart::OrdersCalls) {
                calls::unmeasured(findings, MISSING);
            }
            if options.wants(BenchPart::OrdersChanges) {
                groups::unmeasured(findings, MISSING);
                fairness::unmeasured(findings, MISSING);
            }
            if options.wants(BenchPart::OrdersPages) {
                pages::unmeasured(findings, MISSING);
            }
            Ok(())
        }
    }
}

fn on(
    bench: &mut OrdersBench<'_>,
    engine: &Engine,
    (options, sides): (&BenchOptions, &[CandorBuild<'_>]),
) -> io::Result<()> {
    if options.wants(BenchPart::OrdersCalls) {
        calls::measure(bench, engine, sides)?;
    }
    if options.wants(BenchPart::OrdersChanges) {
        groups::measure(bench, engine, sides[0])?;
        fairness::measure(bench, engine, sides[0])?;
    }
    if options.wants(BenchPart::OrdersPages) {
        pages::measure(bench, engine, sides[0])?;
    }
    Ok(())
}

/// Returns a directory that outlives a run, on a disk, which the account of PostgreSQL can enter.
fn usual() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    PathBuf::from(format!("/var/tmp/candor-bench-{user}"))
}

impl OrdersBench<'_> {
    /// Starts the bare handler on a store.
    fn bare(&self, address: &StoreAddress) -> io::Result<HttpLoad> {
        let program = BenchProgram {
            name: BARE,
            file: self.own.to_owned(),
            arguments: vec![OsString::from("bare-orders"), OsString::from(&address.url)],
            bare: true,
        };
        HttpLoad::new(&program, HANDLER)
    }
}

/// Starts a build of candor on a store, without limits.
fn serving(side: CandorBuild<'_>, address: &StoreAddress) -> io::Result<HttpLoad> {
    HttpLoad::new(&serving_with(side, address, &[]), TOOLS)
}

/// Returns a build of candor on a store, without limits and with further flags.
fn serving_with(side: CandorBuild<'_>, address: &StoreAddress, flags: &[&str]) -> BenchProgram {
    let fixed = "orders serve --http --port 0 --calls-per-minute 0 --tool-calls-per-minute 0";
    let arguments = fixed.split(' ').chain(flags.iter().copied());
    let arguments = arguments.chain(["--database-from"]).map(OsString::from);
    BenchProgram {
        name: side.name,
        file: side.file.to_owned(),
        arguments: arguments.chain([address.file.clone().into()]).collect(),
        bare: false,
    }
}

fn contender(name: &'static str, load: HttpLoad) -> Contender {
    let load = Box::new(load);
    Contender { name, load }
}

/// Adds the current and the peak memory of a server.
fn note_memory(findings: &mut SubjectFigures, what: &str, contender: &Contender) -> io::Result<()> {
    let memory = contender.load.process().memory()?;
    findings.note(format!("{what}: resident"), "MB", &[memory.resident_mb]);
    findings.note(format!("{what}: memory at most"), "MB", &[memory.peak_mb]);
    Ok(())
}
