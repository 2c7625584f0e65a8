//! Growth: the same share of ten times as many documents, and the memory of a server of the largest
//! cache.

use super::ContextBench;
use super::synthetic::{self, SHARES, TERMS};
use crate::figures::{SubjectFigures, ratios};
use crate::report::thousands;
use crate::statistics::percentile;
use crate::tool_client::{ToolClient, ToolRequest};
use std::io;

/// The sizes of the measured caches, in documents.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

const GROWTH: f64 = 3.0;

const MEMORY: (&str, f64) = (
    "server over 100,000 documents: memory beyond the size of its index",
    100.0,
);

/// The number of calls in a round, whose median is reported.
const CALLS: usize = 200;

/// A server of one synthetic cache.
struct SyntheticServer {
    documents: usize,
    client: ToolClient,
    index_mb: f64,
    /// The median of each round, in milliseconds, for each share.
    medians: [Vec<f64>; SHARES.len()],
}

fn name(share: usize) -> String {
    let percent = share as f64 / 10.0;
    format!("a word in {percent} % of documents: times slower with 100,000 than with 10,000")
}

/// Measures each share on each size in turn.
pub(crate) fn measure(bench: &mut ContextBench<'_>) -> io::Result<()> {
    let sizes = match bench.quick {
        true => &SIZES[..1],
        false => &SIZES[..],
    };
    let mut all = Vec::new();
    for documents in sizes {
        all.push(grow(bench, *documents)?);
    }
    for round in 0..=bench.rounds {
        let rounds = bench.rounds;
        bench
            .progress
            .say(&format!("context: growth, round {round} of {rounds}"));
        for (place, share) in SHARES.into_iter().enumerate() {
            let mut asked = one_round(&mut all, share)?;
            // The first round warms up.
            for (grown, times) in all.iter_mut().zip(&mut asked).filter(|_| round > 0) {
                grown.medians[place].push(percentile(times, 50));
            }
        }
    }
    report(&mut bench.findings, &all)
}

/// Builds a cache of this many documents and serves it.
fn grow(bench: &mut ContextBench<'_>, documents: usize) -> io::Result<SyntheticServer> {
    bench
        .progress
        .say(&format!("context: making {documents} documents"));
    let sources = bench.scratch.join(format!("sources-{documents}"));
    let root = bench.scratch.join(format!("root-{documents}"));
    synthetic::write(documents, &sources)?;
    std::fs::create_dir(&root)?;
    let cache = bench.context.built(&sources, &root.join("synthetic"))?;
    Ok(SyntheticServer {
        documents,
        client: bench.context.serve_root(&root, &[])?,
        index_mb: cache.index_mb()?,
        medians: Default::default(),
    })
}

/// Returns how long calls took on each size, in short turns.
fn one_round(all: &mut [SyntheticServer], share: usize) -> io::Result<Vec<Vec<f64>>> {
    let terms = (0..TERMS).map(|which| synthetic::term(share, which));
    let requests: Vec<_> = terms
        .map(|term| ToolRequest::resolve("synthetic", &term))
        .collect();
    let mut times: Vec<Vec<f64>> = all.iter().map(|_| Vec::new()).collect();
    for _ in 0..CALLS / TERMS {
        for (grown, times) in all.iter_mut().zip(&mut times) {
            times.extend(grown.client.query(&requests, 1)?);
        }
    }
    Ok(times)
}

fn report(findings: &mut SubjectFigures, all: &[SyntheticServer]) -> io::Result<()> {
    let find = |documents| all.iter().find(|grown| grown.documents == documents);
    let (small, large) = (find(SIZES[1]), find(SIZES[2]));
    for (place, share) in SHARES.into_iter().enumerate() {
        let growth = match (small, large) {
            (Some(small), Some(large)) => Ok(ratios(&large.medians[place], &small.medians[place])),
            _ => Err("--quick"),
        };
        let found = growth.as_deref().map_err(|reason| *reason);
        findings.at_most(&name(share), GROWTH, "×", found);
        for grown in all {
            let documents = thousands(grown.documents as f64);
            let percent = share as f64 / 10.0;
            let what = format!("server, {documents} documents, a word in {percent} %: p50");
            findings.note(what, "ms", &grown.medians[place]);
        }
    }
    let Some(large) = large else {
        findings.at_most(MEMORY.0, MEMORY.1, "MB", Err("--quick"));
        return Ok(());
    };
    let resident = large.client.process().memory()?.resident_mb;
    findings.at_most(MEMORY.0, MEMORY.1, "MB", Ok(&[resident - large.index_mb]));
    findings.note("server over 100,000 documents: resident", "MB", &[resident]);
    let what = "server over 100,000 documents: index and signatures";
    findings.note(what, "MB", &[large.index_mb]);
    Ok(())
}
