//! Builds and updates, compared with a bare program that writes the same files.

use super::ContextBench;
use super::cache::BuiltCache;
use super::command::updating;
use super::source_changes::SourceChanges;
use super::stat_calls;
use super::watching::WatchedCache;
use crate::bare::files;
use crate::figures::{SubjectFigures, mean, ratios};
use crate::statistics::millis;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

const BUILD: (&str, f64) = ("build: times slower than writing the documents", 2.0);
const PASSAGES: (&str, f64) = (
    "build with passages: times slower than writing the documents",
    4.0,
);
const FIRST_UPDATE: (&str, f64) = (
    "the first update after a build, one changed file: share of a build",
    0.25,
);
const UPDATE: (&str, f64) = (
    "every later update, one changed file: share of a build",
    0.15,
);
const STAT_CALLS: (&str, f64) = ("every later update: stat calls a document", 2.1);
const WATCH: (&str, f64) = (
    "update in --watch, from the end of the quiet time to the exchange: share of a build",
    0.12,
);

const OPTION: &str = "--passages";

/// Earlier versions lack it.
const WATCH_OPTION: &str = "--watch";

/// The number of later updates in a round, and as many in `--watch`.
const UPDATES: usize = 3;

/// Adds the bars without figures.
pub(crate) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    for (what, limit) in [BUILD, PASSAGES, FIRST_UPDATE, UPDATE, WATCH] {
        findings.at_most(what, limit, "×", Err(reason));
    }
    findings.at_most(STAT_CALLS.0, STAT_CALLS.1, "", Err(reason));
}

/// The figures of each round, in milliseconds.
#[derive(Default)]
struct BuildFigures {
    bare: Vec<f64>,
    build: Vec<f64>,
    passages: Vec<f64>,
    first_update: Vec<f64>,
    update: Vec<f64>,
    watch: Vec<f64>,
}

/// The abilities of the measured program, which may be an earlier version.
#[derive(Clone, Copy)]
struct Abilities {
    passages: bool,
    watch: bool,
}

/// Measures round by round; every update follows the change of another source.
pub(crate) fn measure(
    bench: &mut ContextBench<'_>,
    sources: &Path,
    cache: &BuiltCache,
) -> io::Result<()> {
    let documents = cache.files()?;
    let able = Abilities {
        passages: bench.context.has_option("build", OPTION)?,
        watch: bench.context.has_option("update", WATCH_OPTION)?,
    };
    let rounds = bench.rounds;
    let mut changes = SourceChanges::new(sources, rounds as usize * (2 + 2 * UPDATES))?;
    let context = &bench.context;
    let mut figures = BuildFigures::default();
    let mut calls = Err("no rounds");
    for round in 0..rounds {
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
        if able.passages {
            let build = |new: &Path| context.build_with(sources, new, &[OPTION]).map(drop);
            figures.passages.push(place.timed("passages", build)?);
        }
        let mut update = || {
            changes.change()?;
            place.timed("built", |built| context.update(sources, built).map(drop))
        };
        figures.first_update.push(update()?);
        let later: Vec<f64> = (0..UPDATES).map(|_| update()).collect::<io::Result<_>>()?;
        figures.update.push(mean(&later));
        let built = place.path("built");
        if able.watch {
            let mut watched = WatchedCache::start(context, &built)?;
            let mut update = || {
                files::settle(&built)?;
                watched.update(|| changes.change())
            };
            let all: Vec<f64> = (0..UPDATES).map(|_| update()).collect::<io::Result<_>>()?;
            figures.watch.push(mean(&all));
        }
        // The number is the same in every round.
        if round == 0 {
            changes.change()?;
            let summary = place.path("stat-calls");
            let arguments = updating(sources, &built);
            calls = stat_calls::count(&context.file, &arguments, &summary)?;
        }
    }
    let new = bench.scratch.join("peak");
    let peak = bench.context.peak_of_build(sources, &new)?;
    report(&mut bench.findings, &figures, able);
    let calls = calls.map(|calls| [calls / documents.len() as f64]);
    let calls = calls.as_ref().map(|calls| &calls[..]);
    let found = calls.map_err(|reason| *reason);
    bench
        .findings
        .at_most(STAT_CALLS.0, STAT_CALLS.1, "", found);
    bench.findings.note("build: memory at most", "MB", &[peak]);
    let what = "build: size of index and signatures";
    bench.findings.note(what, "MB", &[cache.index_mb()?]);
    Ok(())
}

fn report(findings: &mut SubjectFigures, figures: &BuildFigures, able: Abilities) {
    let measured = |able: bool, all: &[f64], beside: &[f64]| match able {
        true => Ok(ratios(all, beside)),
        false => Err("no such option"),
    };
    let BuildFigures { bare, build, .. } = figures;
    let bars = [
        (BUILD, measured(true, build, bare)),
        (PASSAGES, measured(able.passages, &figures.passages, bare)),
        (FIRST_UPDATE, measured(true, &figures.first_update, build)),
        (UPDATE, measured(true, &figures.update, build)),
        (WATCH, measured(able.watch, &figures.watch, build)),
    ];
    for ((what, limit), found) in &bars {
        let found = found.as_deref().map_err(|reason| *reason);
        findings.at_most(what, *limit, "×", found);
    }
    findings.note("writing the documents, bare", "ms", bare);
    findings.note("build", "ms", build);
    findings.note("build with passages", "ms", &figures.passages);
    let what = "the first update after a build";
    findings.note(what, "ms", &figures.first_update);
    let what = format!("every later update, mean of {UPDATES}");
    findings.note(what, "ms", &figures.update);
    let what = format!("update in --watch, mean of {UPDATES}");
    findings.note(what, "ms", &figures.watch);
}

/// The directory that one round builds in.
struct BuildDir(PathBuf);

impl BuildDir {
    fn new(folder: PathBuf) -> io::Result<Self> {
        std::fs::create_dir(&folder)?;
        Ok(BuildDir(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Measures how long `work` takes. Everything written before is synced first.
    fn timed(&self, name: &str, work: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<f64> {
        files::settle(&self.0)?;
        let at = self.path(name);
        let started = Instant::now();
        work(&at)?;
        Ok(millis(started.elapsed()))
    }
}
