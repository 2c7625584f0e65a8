//! The order tools: three calls beside a bare handler that runs the same statements, and pages in a
//! small store beside pages in a large one, each on SQLite and on PostgreSQL.

pub(crate) mod bare;
mod calls;
mod fill;
mod pages;
mod same;
mod statements;
mod store;

use crate::arguments::Options;
use crate::bars::BARE;
use crate::findings::Findings;
use crate::load::http::HttpLoad;
use crate::process::Program;
use crate::report::Report;
use crate::report::terminal::Progress;
use crate::rounds::{Contender, Plan};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use store::{Engine, Place, Stores};

const MISSING: &str = "PostgreSQL is not installed";

/// Where the order tools are, over HTTP, and where the bare handler is.
const TOOLS: &str = "/orders/mcp";
const HANDLER: &str = "/mcp";

/// What every measurement here needs.
struct Bench<'a> {
    /// This program, for the bare one in it.
    own: &'a Path,
    stores: Stores<'a>,
    quick: bool,
    plan: Plan,
    report: &'a mut Report,
    progress: &'a mut Progress,
}

/// A program that is measured here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) name: &'static str,
    pub(crate) file: &'a Path,
}

/// Measures everything about orders; the last of the sides are builds of candor.
pub(crate) fn measure(
    (own, sides): (&Path, &[Side<'_>]),
    options: &Options,
    plan: Plan,
    report: &mut Report,
    progress: &mut Progress,
) -> io::Result<()> {
    let Some(candor) = sides.first() else {
        return Ok(());
    };
    let kept = options.stores.clone().unwrap_or_else(usual);
    let mut bench = Bench {
        own,
        stores: Stores::new(candor.file, kept)?,
        quick: options.quick,
        plan,
        report,
        progress,
    };
    on(&mut bench, &Engine::Sqlite, sides)?;
    match bench.stores.postgres()? {
        Some(server) => on(&mut bench, &server, sides),
        None => {
            calls::unmeasured(&mut bench.report.orders, MISSING);
            pages::unmeasured(&mut bench.report.orders, MISSING);
            Ok(())
        }
    }
}

fn on(bench: &mut Bench<'_>, engine: &Engine, sides: &[Side<'_>]) -> io::Result<()> {
    calls::measure(bench, engine, sides)?;
    pages::measure(bench, engine, sides[0])
}

/// A directory that outlives a run, on a disk, which the account of PostgreSQL can enter.
fn usual() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    PathBuf::from(format!("/var/tmp/candor-bench-{user}"))
}

impl Bench<'_> {
    /// The bare handler on a store, running.
    fn bare(&self, place: &Place) -> io::Result<HttpLoad> {
        let program = Program {
            name: BARE,
            file: self.own.to_owned(),
            arguments: vec![OsString::from("bare-orders"), OsString::from(&place.url)],
            bare: true,
        };
        HttpLoad::new(&program, HANDLER)
    }
}

/// A build of candor on a store, running, with its limits off.
fn serving(side: Side<'_>, place: &Place) -> io::Result<HttpLoad> {
    let fixed = "orders serve --http --port 0 --calls-per-minute 0 --tool-calls-per-minute 0";
    let arguments = fixed.split(' ').chain(["--database", &place.database]);
    let program = Program {
        name: side.name,
        file: side.file.to_owned(),
        arguments: arguments.map(OsString::from).collect(),
        bare: false,
    };
    HttpLoad::new(&program, TOOLS)
}

fn contender(name: &'static str, load: HttpLoad) -> Contender {
    let load = Box::new(load);
    Contender { name, load }
}

/// Notes how much memory a server has, now and at most.
fn note_memory(findings: &mut Findings, what: &str, contender: &Contender) -> io::Result<()> {
    let memory = contender.load.process().memory()?;
    findings.note(format!("{what}: resident"), "MB", &[memory.resident_mb]);
    findings.note(format!("{what}: memory at most"), "MB", &[memory.peak_mb]);
    Ok(())
}
