//! The start of the order tools on a store: the time to the first answer, and the memory after it.

use super::calls::AMOUNT;
use super::store::Engine;
use super::{CandorBuild, OrdersBench};
use crate::process::BenchProgram;
use crate::startup::starts;
use std::ffi::OsString;
use std::io;

const START: &str = "orders serve: start to the first answer";
const RESIDENT: &str = "orders serve: resident after the first answer";

/// The most milliseconds from the start to the first answer.
const START_MS: f64 = 50.0;

/// The most resident memory after the first answer, in MB.
const RESIDENT_MB: f64 = 30.0;

/// The number of times that the server is started.
const STARTS: u32 = 20;

pub(super) fn measure(bench: &mut OrdersBench<'_>, side: CandorBuild<'_>) -> io::Result<()> {
    let stores = &bench.stores;
    let store = stores.fresh(&Engine::Sqlite, "start", AMOUNT, bench.progress)?;
    let arguments = ["orders", "serve", "--database-from"].map(OsString::from);
    let program = BenchProgram {
        name: side.name,
        file: side.file.to_owned(),
        arguments: arguments.into_iter().chain([store.file.into()]).collect(),
        bare: false,
    };
    bench.progress.say("orders: starting");
    let starts = starts(&program, STARTS)?;
    let times: Vec<_> = starts.iter().map(|start| start.took_ms).collect();
    let memory: Vec<_> = starts
        .iter()
        .map(|start| start.memory.resident_mb)
        .collect();
    let findings = &mut bench.report.orders;
    findings.at_most(START, START_MS, "ms", Ok(&times));
    findings.at_most(RESIDENT, RESIDENT_MB, "MB", Ok(&memory));
    Ok(())
}
