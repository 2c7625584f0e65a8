//! `resolve` on the command line, a new process for each query, compared with a bare program that
//! checks every file of the cache and prints the files of the same documents.

use super::ContextBench;
use super::cache::BuiltCache;
use super::command::BUDGET;
use super::corpus_words::{CorpusWords, KINDS};
use crate::figures::{SubjectFigures, ratios};
use crate::process::timed;
use crate::statistics::{millis, percentile};
use candor_context::{Document, Query, TokenBudget, oracle};
use serde::Deserialize;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Instant;

const LIMIT: f64 = 1.5;

#[derive(Deserialize)]
struct ResolveAnswer {
    documents: Vec<SelectedDocument>,
}

#[derive(Deserialize)]
struct SelectedDocument {
    id: String,
}

fn name(kind: &str) -> String {
    format!("resolve of {kind}: times slower than the bare program")
}

/// Adds the bars without figures.
pub(crate) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    for kind in KINDS {
        findings.at_most(&name(kind), LIMIT, "×", Err(reason));
    }
}

/// Measures one query of each kind.
pub(crate) fn measure(
    bench: &mut ContextBench<'_>,
    cache: &BuiltCache,
    documents: &[Document],
    vocabulary: &CorpusWords,
) -> io::Result<()> {
    let looked_at = bench.scratch.join("looked-at");
    lines(&looked_at, cache.names())?;
    for (kind, query) in KINDS.into_iter().zip(vocabulary.queries()) {
        bench.progress.say(&format!("context: resolve of {kind}"));
        let printed = bench.scratch.join("printed");
        prepare(bench, cache, &query, &printed)?;
        let bare: [OsString; 4] = [
            "bare-stat".into(),
            cache.place().into(),
            looked_at.clone().into(),
            printed.into(),
        ];
        let (mut own, mut bares, mut oracles) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..bench.rounds {
            let (mut of_own, mut of_bare) = (Vec::new(), Vec::new());
            for turn in 0..if bench.quick { 4 } else { 12 } {
                // Each goes first every second time.
                for which in [turn % 2, (turn + 1) % 2] {
                    match which {
                        0 => {
                            let (took, _) = bench.context.resolve(cache.folder(), &query)?;
                            of_own.push(millis(took));
                        }
                        _ => of_bare.push(millis(timed(bench.own, &bare)?.0)),
                    }
                }
            }
            own.push(percentile(&mut of_own, 50));
            bares.push(percentile(&mut of_bare, 50));
            oracles.push(by_oracle(documents, &query)?);
        }
        let found = ratios(&own, &bares);
        bench.findings.at_most(&name(kind), LIMIT, "×", Ok(&found));
        let what = |which: &str| format!("resolve of {kind}, {which}");
        bench.findings.note(what("command line"), "ms", &own);
        bench.findings.note(what("bare program"), "ms", &bares);
        bench
            .findings
            .note(what("oracle in memory"), "ms", &oracles);
    }
    Ok(())
}

/// Writes a list of the files that the answer to a query contains.
fn prepare(
    bench: &ContextBench<'_>,
    cache: &BuiltCache,
    query: &str,
    printed: &Path,
) -> io::Result<()> {
    let (_, answer) = bench.context.resolve(cache.folder(), query)?;
    let answer: ResolveAnswer = serde_json::from_slice(&answer)?;
    let unknown = || io::Error::other("an answer with a document that the manifest lacks");
    let names = answer.documents.iter();
    let names = names.map(|one| cache.name_of(&one.id).ok_or_else(unknown));
    lines(printed, names.collect::<io::Result<Vec<_>>>()?)
}

fn lines<'a>(file: &Path, lines: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
    let lines: Vec<_> = lines.into_iter().collect();
    std::fs::write(file, lines.join("\n"))
}

/// Returns how long the oracle takes to read every word of every document, without writing the
/// answer.
fn by_oracle(documents: &[Document], query: &str) -> io::Result<f64> {
    let (query, budget) = checked(query)?;
    let started = Instant::now();
    let answer = oracle(documents, &query, budget);
    let took = started.elapsed();
    drop(answer);
    Ok(millis(took))
}

/// Returns a query for the library.
pub(crate) fn checked(query: &str) -> io::Result<(Query, TokenBudget)> {
    let wrong = |failure| io::Error::other(format!("a query that is refused: {failure:?}"));
    Ok((
        Query::new(query).map_err(wrong)?,
        TokenBudget::new(BUDGET).map_err(wrong)?,
    ))
}
