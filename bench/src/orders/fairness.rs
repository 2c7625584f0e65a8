//! A client that reads one order and creates one, again and again: alone, and beside a client that
//! creates as many orders as it can.

use super::calls::AMOUNT;
use super::store::{Engine, Stores};
use super::{CandorBuild, OrdersBench, TOOLS, serving_with};
use crate::figures::{SubjectFigures, ratios};
use crate::load::http::HttpLoad;
use crate::requests::Case;
use crate::statistics::Latencies;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::io;
use std::time::{Duration, Instant};

/// The most times by which the calls of the calm client may take longer beside the busy one.
const LIMIT: f64 = 5.0;

/// The connections of the busy client. In a whole run it creates more than 10,000 orders.
const BUSY_CONNECTIONS: u64 = 64;

const CALM: &str = "the-token-of-the-calm-client";
const BUSY: &str = "the-token-of-the-busy-client";

fn bar(engine: &str) -> String {
    format!(
        "{engine}, a client with one read and one create at a time: times the p99 alone, beside one with {BUSY_CONNECTIONS} creates at a time"
    )
}

/// Adds the bar on PostgreSQL without a figure.
pub(super) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    findings.at_most(&bar(Engine::POSTGRES), LIMIT, "×", Err(reason));
}

pub(super) fn measure(
    bench: &mut OrdersBench<'_>,
    engine: &Engine,
    side: CandorBuild<'_>,
) -> io::Result<()> {
    let store = bench
        .stores
        .fresh(engine, "clients", AMOUNT, bench.progress)?;
    let clients = write_clients(&bench.stores)?;
    let program = serving_with(side, &store, &["--clients", &clients]);
    let load = HttpLoad::with_connections(&program, TOOLS, 1)?;
    let mut load = load.with_token(CALM);
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    call_in_turn(&mut load, bench.plan.slice())?;
    for round in 1..=bench.plan.rounds {
        let rounds = bench.plan.rounds;
        let text = format!("a calm client beside a busy one: round {round} of {rounds}");
        bench.progress.say(&text);
        alone.push(call_in_turn(&mut load, bench.plan.round)?);
        let busy = (Some(BUSY), Case::CreateOrder);
        let busy = load.disturb_with(busy.0, busy.1, BUSY_CONNECTIONS, round);
        beside.push(call_in_turn(&mut load, bench.plan.round)?);
        busy.end()?;
    }
    let findings = &mut bench.report.orders;
    let bar = bar(engine.name());
    findings.at_most(&bar, LIMIT, "×", Ok(&ratios(&beside, &alone)));
    findings.note(format!("{bar}: alone"), "µs", &alone);
    findings.note(format!("{bar}: beside"), "µs", &beside);
    Ok(())
}

/// Reads and creates an order in turn for this long. Returns the 99th percentile of the latency in
/// microseconds.
fn call_in_turn(load: &mut HttpLoad, how_long: Duration) -> io::Result<f64> {
    let (mut latencies, started) = (Latencies::default(), Instant::now());
    while started.elapsed() < how_long {
        for case in [Case::GetOrder, Case::CreateOrder] {
            let sent = Instant::now();
            load.once(case)?;
            latencies.note(sent.elapsed());
        }
    }
    Ok(latencies.percentile(99))
}

/// Writes the file of the clients and returns its path.
fn write_clients(stores: &Stores<'_>) -> io::Result<String> {
    let client = |name: &str, token: &str| {
        let hash = Sha256::digest(token);
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({ "name": name, "tokens": [format!("sha256:{hash}")], "scopes": ["read", "write"] })
    };
    let clients = [client("calm", CALM), client("busy", BUSY)];
    let file = json!({ "version": 1, "clients": clients }).to_string();
    let path = stores.write("clients.json", &file)?;
    Ok(path.display().to_string())
}
