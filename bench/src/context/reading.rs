//! Version 1 of the server and the commands: searches over several caches, parts of documents, and
//! searches with another tokenizer.

use super::ContextBench;
use super::copy;
use super::corpus_words::CorpusWords;
use super::seeded_numbers::SeededNumbers;
use crate::figures::{SubjectFigures, mean, ratios};
use crate::statistics::{millis, percentile};
use crate::tool_client::{ToolClient, ToolRequest};
use candor_context::Document;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

const SEVERAL: (&str, f64) = (
    "context_search over four caches: times one cache of all their documents",
    1.3,
);
const LINES: (&str, f64) = ("context_get of 40 lines on the server: p99", 2.0);
const TOKENIZER: (&str, f64) = ("search with --tokenizer o200k: times bytes4", 1.1);

/// The number of caches that the documents are divided into.
const PARTS: usize = 4;

/// The number of lines of a call.
const MANY_LINES: usize = 40;

/// The number of searches before the other server gets its turn.
const TURN: usize = 25;

const SEED: u64 = 40;

const OPTION: &str = "--tokenizer";

/// Adds the bars without figures.
pub(crate) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    findings.at_most(SEVERAL.0, SEVERAL.1, "×", Err(reason));
    findings.at_most(LINES.0, LINES.1, "ms", Err(reason));
    findings.at_most(TOKENIZER.0, TOKENIZER.1, "×", Err(reason));
}

/// Builds the caches with an index of passages, then measures.
pub(crate) fn measure(
    bench: &mut ContextBench<'_>,
    sources: &Path,
    documents: &[Document],
    vocabulary: &CorpusWords,
) -> io::Result<()> {
    if !bench.context.has_option("build", OPTION)? {
        unmeasured(&mut bench.findings, "an earlier version");
        return Ok(());
    }
    bench.progress.say("context: building caches with passages");
    let folder = bench.scratch.join("reading");
    std::fs::create_dir(&folder)?;
    let whole = folder.join("whole");
    bench.context.build_with(sources, &whole, &[])?;
    let other = folder.join("o200k");
    bench
        .context
        .build_with(sources, &other, &[OPTION, "o200k"])?;
    let parts = divided(bench, sources, &folder)?;
    let mut one = bench.context.serve_path(&whole)?;
    several(bench, &mut one, &parts, vocabulary)?;
    lines(bench, &mut one, documents)?;
    drop(one);
    tokenizers(bench, [&whole, &other], vocabulary)
}

/// Builds a cache of every fourth document. Returns the directory of the caches.
fn divided(bench: &ContextBench<'_>, sources: &Path, folder: &Path) -> io::Result<PathBuf> {
    let part = |number: usize| folder.join(format!("sources-{number}"));
    let all: Vec<PathBuf> = (0..PARTS).map(part).collect();
    copy::divide(sources, &all)?;
    let root = folder.join("parts");
    std::fs::create_dir(&root)?;
    for (number, part) in all.iter().enumerate() {
        let cache = root.join(format!("part-{number}"));
        bench.context.build_with(part, &cache, &[])?;
    }
    Ok(root)
}

/// Measures the same searches on both servers, in turns.
fn several(
    bench: &mut ContextBench<'_>,
    one: &mut ToolClient,
    parts: &Path,
    vocabulary: &CorpusWords,
) -> io::Result<()> {
    let queries = vocabulary.mix(if bench.quick { 100 } else { 1000 });
    let requests: Vec<_> = queries
        .iter()
        .map(|query| ToolRequest::search(query))
        .collect();
    let mut four = bench.context.serve_path(parts)?;
    for request in &requests[..20] {
        same(&one.answer(request)?, &four.answer(request)?)?;
    }
    let (mut of_one, mut of_four) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        let rounds = bench.rounds;
        let progress = format!("context: search, round {} of {rounds}", round + 1);
        bench.progress.say(&progress);
        let (mut by_one, mut by_four) = (Vec::new(), Vec::new());
        for (turn, requests) in requests.chunks(TURN).enumerate() {
            // Each goes first every second time.
            if turn % 2 == 0 {
                by_one.extend(one.query(requests, 1)?);
            }
            by_four.extend(four.query(requests, 1)?);
            if turn % 2 == 1 {
                by_one.extend(one.query(requests, 1)?);
            }
        }
        of_one.push(mean(&by_one));
        of_four.push(mean(&by_four));
    }
    let found = ratios(&of_four, &of_one);
    bench
        .findings
        .at_most(SEVERAL.0, SEVERAL.1, "×", Ok(&found));
    let mut note = |what: &str, all: &[f64]| bench.findings.note(what, "ms", all);
    note("context_search over four caches, mean", &of_four);
    note("context_search over one cache, mean", &of_one);
    Ok(())
}

/// Checks that two answers are about the same passages. Figures about others would be worthless. Only
/// the order of passages with equal scores depends on their caches.
fn same(one: &Value, four: &Value) -> io::Result<()> {
    let seen = |answer: &Value| {
        let found = &answer["result"]["structuredContent"];
        let best = found["passages"][0]["score"].clone();
        (best, found["selection"]["passages_considered"].clone())
    };
    match seen(one) == seen(four) {
        true => Ok(()),
        false => Err(io::Error::other("one cache and four caches differ")),
    }
}

/// Measures calls for lines from anywhere in documents from all over the corpus.
fn lines(
    bench: &mut ContextBench<'_>,
    server: &mut ToolClient,
    documents: &[Document],
) -> io::Result<()> {
    let mut chance = SeededNumbers::new(SEED);
    let long: Vec<_> = documents
        .iter()
        .map(|one| (one, one.content.lines().count()))
        .filter(|(_, lines)| *lines >= MANY_LINES)
        .collect();
    let request = |_| {
        let (document, lines) = chance.of(&long)?;
        let from = 1 + chance.below(lines - MANY_LINES + 1);
        Some(ToolRequest::lines(
            &document.id,
            from,
            from + MANY_LINES - 1,
        ))
    };
    let calls = if bench.quick { 400 } else { 3000 };
    let requests: Vec<_> = (0..calls).filter_map(request).collect();
    let (mut half, mut slowest) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        let rounds = bench.rounds;
        let progress = format!("context: lines, round {} of {rounds}", round + 1);
        bench.progress.say(&progress);
        let mut all = server.query(&requests, 1)?;
        half.push(percentile(&mut all, 50));
        slowest.push(percentile(&mut all, 99));
    }
    let found = match requests.is_empty() {
        true => Err("no document has 40 lines"),
        false => Ok(&slowest[..]),
    };
    bench.findings.at_most(LINES.0, LINES.1, "ms", found);
    let mut note = |what: &str, all: &[f64]| bench.findings.note(what, "ms", all);
    note("context_get of 40 lines: p50", &half);
    note("context_get of 40 lines: p99", &slowest);
    Ok(())
}

/// Measures one query of each kind on the command line.
fn tokenizers(
    bench: &mut ContextBench<'_>,
    caches: [&Path; 2],
    vocabulary: &CorpusWords,
) -> io::Result<()> {
    let mut rounds: [Vec<f64>; 2] = Default::default();
    for round in 0..bench.rounds {
        let progress = format!(
            "context: tokenizers, round {} of {}",
            round + 1,
            bench.rounds
        );
        bench.progress.say(&progress);
        let mut sums = [0.0; 2];
        for query in vocabulary.queries() {
            let mut all: [Vec<f64>; 2] = Default::default();
            for turn in 0..if bench.quick { 4 } else { 12 } {
                // Each goes first every second time.
                for which in [turn % 2, (turn + 1) % 2] {
                    let took = bench.context.search(caches[which], &query)?;
                    all[which].push(millis(took));
                }
            }
            for (sum, all) in sums.iter_mut().zip(&mut all) {
                *sum += percentile(all, 50);
            }
        }
        for (round, sum) in rounds.iter_mut().zip(sums) {
            round.push(sum / vocabulary.queries().len() as f64);
        }
    }
    let [bytes, vocabulary] = rounds;
    let found = ratios(&vocabulary, &bytes);
    bench
        .findings
        .at_most(TOKENIZER.0, TOKENIZER.1, "×", Ok(&found));
    let mut note = |what: &str, all: &[f64]| bench.findings.note(what, "ms", all);
    note("search on the command line, bytes4", &bytes);
    note("search on the command line, o200k", &vocabulary);
    Ok(())
}
