//! Context caches: the command line, the server, growth, builds and memory, each beside the least
//! that could be done. Everything happens in a temporary directory; the corpus is only copied. Nothing
//! is removed before the end: on ext4, whoever creates files passes by all that were just removed.

mod building;
mod cache;
mod chance;
mod client;
mod command;
mod copy;
mod growing;
mod resolving;
mod serving;
mod synthetic;
mod vocabulary;

use crate::arguments::Options;
use crate::findings::Findings;
use crate::report::terminal::Progress;
use command::Context;
use std::io;
use std::path::{Path, PathBuf};
use vocabulary::Vocabulary;

const NO_CORPUS: &str = "no --corpus";

/// What every measurement here needs.
struct Bench<'a> {
    context: Context,
    /// This program, for the bare ones in it.
    own: &'a Path,
    scratch: PathBuf,
    quick: bool,
    rounds: u32,
    findings: Findings,
    progress: &'a mut Progress,
}

/// Measures everything about context caches.
pub(crate) fn measure(
    candor: &Path,
    own: &Path,
    options: &Options,
    progress: &mut Progress,
) -> io::Result<Findings> {
    let scratch = tempfile::Builder::new().prefix("candor-bench-").tempdir()?;
    // The name makes it the program `context`.
    let context = scratch.path().join("context");
    std::os::unix::fs::symlink(candor.canonicalize()?, &context)?;
    let mut bench = Bench {
        context: Context { file: context },
        own,
        scratch: scratch.path().to_owned(),
        quick: options.quick,
        rounds: options.rounds(),
        findings: Findings::about("context"),
        progress,
    };
    match &options.corpus {
        Some(corpus) => on_corpus(&mut bench, corpus)?,
        None => {
            resolving::unmeasured(&mut bench.findings, NO_CORPUS);
            serving::unmeasured(&mut bench.findings, NO_CORPUS);
            building::unmeasured(&mut bench.findings, NO_CORPUS);
        }
    }
    growing::measure(&mut bench)?;
    let findings = bench.findings;
    scratch.close()?;
    Ok(findings)
}

fn on_corpus(bench: &mut Bench<'_>, corpus: &Path) -> io::Result<()> {
    bench.progress.say("context: copying the corpus");
    let sources = bench.scratch.join("sources");
    let copied = copy::markdown(corpus, &sources)?;
    bench.findings.corpus = Some(copied.to_string());
    let root = bench.scratch.join("root");
    std::fs::create_dir(&root)?;
    let cache = bench.context.built(&sources, &root.join(CORPUS))?;
    {
        let documents = cache.documents()?;
        let vocabulary = Vocabulary::of(&documents);
        resolving::measure(bench, &cache, &documents, &vocabulary)?;
        serving::measure(bench, &root, &documents, &vocabulary)?;
    }
    building::measure(bench, &sources, &cache)
}

/// The name of the cache of the corpus below its root.
const CORPUS: &str = "corpus";
