//! Context caches: command line, server, growth, builds, updates and memory, each compared with the least
//! that could be done. Everything happens in a temporary directory; the corpus is only copied.
//! Nothing is removed before the end: on ext4, creating files is slow after many were removed.

mod building;
mod cache;
mod client;
mod command;
mod copy;
mod corpus_words;
mod growth;
mod reading;
mod resolving;
mod seeded_numbers;
mod serving;
mod source_changes;
mod stat_calls;
mod synthetic;
mod unread_answers;
mod watching;

use crate::arguments::{BenchOptions, BenchPart};
use crate::figures::SubjectFigures;
use crate::report::terminal::ProgressLine;
use command::ContextProgram;
use corpus_words::CorpusWords;
use std::io;
use std::path::{Path, PathBuf};

const NO_CORPUS: &str = "no --corpus";

/// The inputs of every measurement of caches.
struct ContextBench<'a> {
    context: ContextProgram,
    /// This program, which contains the bare ones.
    own: &'a Path,
    scratch: PathBuf,
    quick: bool,
    rounds: u32,
    findings: SubjectFigures,
    progress: &'a mut ProgressLine,
}

/// Measures everything about context caches.
pub(crate) fn measure(
    candor: &Path,
    own: &Path,
    options: &BenchOptions,
    progress: &mut ProgressLine,
) -> io::Result<SubjectFigures> {
    let scratch = tempfile::Builder::new().prefix("candor-bench-").tempdir()?;
    // Under this name the program is `context`.
    let context = scratch.path().join("context");
    std::os::unix::fs::symlink(candor.canonicalize()?, &context)?;
    let mut bench = ContextBench {
        context: ContextProgram { file: context },
        own,
        scratch: scratch.path().to_owned(),
        quick: options.quick,
        rounds: options.rounds(),
        findings: SubjectFigures::about("context"),
        progress,
    };
    match &options.corpus {
        Some(corpus) if WITH_CORPUS.iter().any(|part| options.wants(*part)) => {
            on_corpus(&mut bench, corpus, options)?;
        }
        Some(_) => {}
        None => without_corpus(&mut bench.findings, options),
    }
    if options.wants(BenchPart::ContextAnswers) {
        unread_answers::measure(&mut bench)?;
    }
    if options.wants(BenchPart::ContextGrowth) {
        growth::measure(&mut bench)?;
    }
    let findings = bench.findings;
    scratch.close()?;
    Ok(findings)
}

/// The parts that need a corpus.
const WITH_CORPUS: [BenchPart; 3] = [
    BenchPart::ContextResolve,
    BenchPart::ContextReading,
    BenchPart::ContextBuilds,
];

fn without_corpus(findings: &mut SubjectFigures, options: &BenchOptions) {
    if options.wants(BenchPart::ContextResolve) {
        resolving::unmeasured(findings, NO_CORPUS);
        serving::unmeasured(findings, NO_CORPUS);
    }
    if options.wants(BenchPart::ContextReading) {
        reading::unmeasured(findings, NO_CORPUS);
    }
    if options.wants(BenchPart::ContextBuilds) {
        building::unmeasured(findings, NO_CORPUS);
    }
}

fn on_corpus(
    bench: &mut ContextBench<'_>,
    corpus: &Path,
    options: &BenchOptions,
) -> io::Result<()> {
    bench.progress.say("context: copying the corpus");
    let sources = bench.scratch.join("sources");
    let copied = copy::markdown(corpus, &sources)?;
    bench.findings.corpus = Some(copied.to_string());
    let root = bench.scratch.join("root");
    std::fs::create_dir(&root)?;
    let cache = bench.context.built(&sources, &root.join(CORPUS))?;
    {
        let documents = cache.documents()?;
        let vocabulary = CorpusWords::of(&documents);
        if options.wants(BenchPart::ContextResolve) {
            resolving::measure(bench, &cache, &documents, &vocabulary)?;
            serving::measure(bench, &root, &documents, &vocabulary)?;
        }
        if options.wants(BenchPart::ContextReading) {
            reading::measure(bench, &sources, &documents, &vocabulary)?;
        }
    }
    // Last, because it changes the sources.
    match options.wants(BenchPart::ContextBuilds) {
        true => building::measure(bench, &sources, &cache),
        false => Ok(()),
    }
}

/// The name of the corpus' cache below its root.
const CORPUS: &str = "corpus";
