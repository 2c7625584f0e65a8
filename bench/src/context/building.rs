//! Builds and updates, compared with a bare program that writes the same files.

use super::ContextBench;
use super::cache::BuiltCache;
use super::client::millis;
use crate::bare::files;
use crate::figures::{SubjectFigures, ratios};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

const BUILD: (&str, f64) = ("build: times slower than writing the documents", 2.0);
const PASSAGES: (&str, f64) = (
    "build with passages: times slower than writing the documents",
    4.0,
);
const UPDATE: (&str, f64) = ("update after one changed file: share of a build", 0.2);

const OPTION: &str = "--passages";

/// Adds the bars without figures.
pub(crate) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    for (what, limit) in [BUILD, PASSAGES, UPDATE] {
        findings.at_most(what, limit, "×", Err(reason));
    }
}

/// The figures of each round, in milliseconds.
#[derive(Default)]
struct BuildFigures {
    bare: Vec<f64>,
    build: Vec<f64>,
    passages: Vec<f64>,
    update: Vec<f64>,
}

/// Measures round by round; every round changes another source.
pub(crate) fn measure(
    bench: &mut ContextBench<'_>,
    sources: &Path,
    cache: &BuiltCache,
) -> io::Result<()> {
    let documents = cache.files()?;
    let with_passages = bench.context.builds_with(OPTION)?;
    let changing = spread_over(sources, bench.rounds as usize)?;
    let context = &bench.context;
    let mut figures = BuildFigures::default();
    for (round, source) in changing.iter().enumerate() {
        let rounds = bench.rounds;
        let progress = format!("context: build, round {} of {rounds}", round + 1);
        bench.progress.say(&progress);
        let place = BuildDir::new(bench.scratch.join(format!("building-{round}")))?;
        let bare = || place.timed("bare", |new| files::write(&documents, new));
        let build = || place.timed("built", |new| context.build(sources, new).map(drop));
        // Each goes first every second time.
        let (build, bare) = match round % 2 {
            0 => (build()?, bare()?),
            _ => {
                let bare = bare()?;
                (build()?, bare)
            }
        };
        figures.build.push(build);
        figures.bare.push(bare);
        if with_passages {
            let build = |new: &Path| context.build_with(sources, new, &[OPTION]).map(drop);
            figures.passages.push(place.timed("passages", build)?);
        }
        let mut source = OpenOptions::new().append(true).open(source)?;
        source.write_all(b"\nOne more line.\n")?;
        drop(source);
        let update = |built: &Path| context.update(sources, built).map(drop);
        figures.update.push(place.timed("built", update)?);
    }
    let new = bench.scratch.join("peak");
    let peak = bench.context.peak_of_build(sources, &new)?;
    report(&mut bench.findings, &figures, with_passages);
    bench.findings.note("build: memory at most", "MB", &[peak]);
    let what = "build: size of index and signatures";
    bench.findings.note(what, "MB", &[cache.index_mb()?]);
    Ok(())
}

fn report(findings: &mut SubjectFigures, figures: &BuildFigures, with_passages: bool) {
    let beside_bare = |all: &[f64]| ratios(all, &figures.bare);
    let build = beside_bare(&figures.build);
    findings.at_most(BUILD.0, BUILD.1, "×", Ok(&build));
    let passages = beside_bare(&figures.passages);
    let found = match with_passages {
        true => Ok(&passages[..]),
        false => Err("no such option yet"),
    };
    findings.at_most(PASSAGES.0, PASSAGES.1, "×", found);
    let update = ratios(&figures.update, &figures.build);
    findings.at_most(UPDATE.0, UPDATE.1, "×", Ok(&update));
    findings.note("writing the documents, bare", "ms", &figures.bare);
    findings.note("build", "ms", &figures.build);
    findings.note("build with passages", "ms", &figures.passages);
    findings.note("update after one changed file", "ms", &figures.update);
}

/// The directory that one round builds in.
struct BuildDir(PathBuf);

impl BuildDir {
    fn new(folder: PathBuf) -> io::Result<Self> {
        std::fs::create_dir(&folder)?;
        Ok(BuildDir(folder))
    }

    /// Measures how long `work` takes. Everything written before is synced first.
    fn timed(&self, name: &str, work: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<f64> {
        files::settle(&self.0)?;
        let at = self.0.join(name);
        let started = Instant::now();
        work(&at)?;
        Ok(millis(started.elapsed()))
    }
}

/// Returns `many` sources from all over the tree.
fn spread_over(sources: &Path, many: usize) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let mut folders = vec![sources.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => all.push(entry.path()),
            }
        }
    }
    all.sort();
    let step = (all.len() / many).max(1);
    let spread: Vec<_> = all.into_iter().step_by(step).collect();
    Ok(spread.into_iter().cycle().take(many).collect())
}
