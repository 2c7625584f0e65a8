//! `resolve` on the server: one client, the cache open and watched, the same mix of queries in
//! every round; and the oracle in memory on some of these queries, whose answers must be identical.

use super::corpus_words::CorpusWords;
use super::resolving::checked;
use super::{CORPUS, ContextBench};
use crate::figures::{SubjectFigures, mean};
use crate::statistics::{millis, percentile};
use crate::tool_client::{ToolClient, ToolRequest};
use candor_context::{Document, oracle};
use std::io;
use std::path::Path;
use std::time::Instant;

const SLOWEST: (&str, f64) = ("resolve on the server: p99", 2.0);
const FASTER: (&str, f64) = (
    "resolve on the server: times faster than the oracle in memory",
    500.0,
);

/// The calls in flight in the second pass.
const PIPELINED: usize = 4;

/// The number of times that the server answers a query that the oracle answers once.
const REPEATED: usize = 20;

/// Adds the bars without figures.
pub(crate) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    findings.at_most(SLOWEST.0, SLOWEST.1, "ms", Err(reason));
    findings.at_least(FASTER.0, FASTER.1, "×", Err(reason));
}

/// The figures of each round.
#[derive(Default)]
struct ServingFigures {
    half: Vec<f64>,
    slowest: Vec<f64>,
    pipelined_half: Vec<f64>,
    pipelined: Vec<f64>,
    looking_half: Vec<f64>,
    looking: Vec<f64>,
    server: Vec<f64>,
    oracle: Vec<f64>,
    faster: Vec<f64>,
}

/// Measures the mix, round by round.
pub(crate) fn measure(
    bench: &mut ContextBench<'_>,
    root: &Path,
    documents: &[Document],
    vocabulary: &CorpusWords,
) -> io::Result<()> {
    let (calls, looked, sampled) = match bench.quick {
        true => (400, 20, 2),
        false => (3000, 100, 5),
    };
    let queries = vocabulary.mix(calls);
    let requests: Vec<_> = queries.iter().map(|query| asking(query)).collect();
    let mut watched = bench.context.serve_root(root, &[])?;
    watched.query(&requests[..calls.min(200)], 1)?;
    let mut figures = ServingFigures::default();
    for round in 0..bench.rounds as usize {
        let rounds = bench.rounds;
        bench
            .progress
            .say(&format!("context: server, round {} of {rounds}", round + 1));
        let mut all = watched.query(&requests, 1)?;
        figures.half.push(percentile(&mut all, 50));
        figures.slowest.push(percentile(&mut all, 99));
        let mut all = watched.query(&requests, PIPELINED)?;
        figures.pipelined_half.push(percentile(&mut all, 50));
        figures.pipelined.push(percentile(&mut all, 99));
        let sample = queries.iter().skip(round * sampled).take(sampled);
        beside_oracle(&mut figures, &mut watched, documents, sample)?;
    }
    // Never two servers at once: each checks every file once a second, beside its calls.
    drop(watched);
    bench.progress.say("context: server without watching");
    let mut looking = bench.context.serve_root(root, &["--no-watch"])?;
    looking.query(&requests[..5], 1)?;
    for _ in 0..bench.rounds {
        let mut all = looking.query(&requests[..looked], 1)?;
        figures.looking_half.push(percentile(&mut all, 50));
        figures.looking.push(percentile(&mut all, 99));
    }
    report(&mut bench.findings, &figures);
    Ok(())
}

fn asking(query: &str) -> ToolRequest {
    ToolRequest::resolve(CORPUS, query)
}

/// Runs some queries on the oracle, and in turn on the server.
fn beside_oracle<'q>(
    figures: &mut ServingFigures,
    server: &mut ToolClient,
    documents: &[Document],
    queries: impl Iterator<Item = &'q String>,
) -> io::Result<()> {
    let (mut by_oracle, mut by_server) = (Vec::new(), Vec::new());
    for query in queries {
        let request = asking(query);
        let text = server.text(&request)?;
        let (query, budget) = checked(query)?;
        let started = Instant::now();
        let answer = oracle(documents, &query, budget);
        by_oracle.push(millis(started.elapsed()));
        let same = answer.to_line().is_ok_and(|bytes| bytes == text.as_bytes());
        if !same {
            let query = query.raw();
            let message = format!("server and oracle differ about `{query}`");
            return Err(io::Error::other(message));
        }
        drop(answer);
        by_server.push(mean(&server.query(&vec![request; REPEATED], 1)?));
    }
    figures.faster.push(mean(&by_oracle) / mean(&by_server));
    figures.oracle.push(mean(&by_oracle));
    figures.server.push(mean(&by_server));
    Ok(())
}

fn report(findings: &mut SubjectFigures, figures: &ServingFigures) {
    findings.at_most(SLOWEST.0, SLOWEST.1, "ms", Ok(&figures.slowest));
    findings.at_least(FASTER.0, FASTER.1, "×", Ok(&figures.faster));
    let mut note = |what: &str, all: &[f64]| findings.note(format!("server, {what}"), "ms", all);
    note("one call at a time: p50", &figures.half);
    note("one call at a time: p99", &figures.slowest);
    note("four calls at once: p50", &figures.pipelined_half);
    note("four calls at once: p99", &figures.pipelined);
    note("--no-watch: p50", &figures.looking_half);
    note("--no-watch: p99", &figures.looking);
    note("mean of what the oracle answers too", &figures.server);
    note("the oracle in memory, mean of the same", &figures.oracle);
}
