//! The command line of context caches: a new process each time.

use super::cache::BuiltCache;
use crate::process::{BenchProgram, timed};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The budget of every query.
pub(crate) const BUDGET: u64 = 4000;

/// The program `context`.
#[derive(Debug, Clone)]
pub(crate) struct ContextProgram {
    pub(crate) file: PathBuf,
}

impl ContextProgram {
    /// Builds a cache without an index of passages. Returns how long it took.
    pub(crate) fn build(&self, sources: &Path, cache: &Path) -> io::Result<Duration> {
        self.build_with(sources, cache, self.plain()?)
    }

    /// Returns the options of a build without an index of passages. Earlier versions need none.
    fn plain(&self) -> io::Result<&'static [&'static str]> {
        const OPTION: &str = "--no-passages";
        match self.has_option("build", OPTION)? {
            true => Ok(&[OPTION]),
            false => Ok(&[]),
        }
    }

    pub(crate) fn build_with(
        &self,
        sources: &Path,
        cache: &Path,
        more: &[&str],
    ) -> io::Result<Duration> {
        let arguments = building("build", sources, cache);
        let more = more.iter().map(OsString::from);
        let arguments: Vec<_> = arguments.into_iter().chain(more).collect();
        Ok(timed(&self.file, &arguments)?.0)
    }

    pub(crate) fn built(&self, sources: &Path, cache: &Path) -> io::Result<BuiltCache> {
        self.build(sources, cache)?;
        BuiltCache::read(cache)
    }

    pub(crate) fn update(&self, sources: &Path, cache: &Path) -> io::Result<Duration> {
        Ok(timed(&self.file, &updating(sources, cache))?.0)
    }

    /// Returns the peak memory of a build, in megabytes. It is not timed: sampling costs a little.
    pub(crate) fn peak_of_build(&self, sources: &Path, cache: &Path) -> io::Result<f64> {
        let program = BenchProgram {
            name: "context",
            file: self.file.clone(),
            arguments: building("build", sources, cache)
                .into_iter()
                .chain(self.plain()?.iter().map(OsString::from))
                .collect(),
            bare: false,
        };
        let mut process = program.start()?;
        let mut peak = f64::NAN;
        loop {
            // After the end there is nothing to read, which the maximum ignores.
            peak = peak.max(process.memory()?.peak_mb);
            match process.ended()? {
                Some(true) => return Ok(peak),
                Some(false) => return Err(io::Error::other("a build failed")),
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Answers one query. Returns how long that took, and the answer.
    pub(crate) fn resolve(&self, cache: &Path, query: &str) -> io::Result<(Duration, Vec<u8>)> {
        let budget = BUDGET.to_string();
        let (cache, query) = (cache.as_os_str(), OsStr::new(query));
        let arguments = ["resolve", "--budget", &budget, "--cache"].map(OsStr::new);
        let arguments = [&arguments[..], &[cache, OsStr::new("--query"), query]].concat();
        timed(&self.file, &arguments)
    }

    /// Searches passages. Returns how long that took.
    pub(crate) fn search(&self, cache: &Path, query: &str) -> io::Result<Duration> {
        let budget = BUDGET.to_string();
        let (cache, query) = (cache.as_os_str(), OsStr::new(query));
        let arguments = ["search", "--budget", &budget, "--cache"].map(OsStr::new);
        let arguments = [&arguments[..], &[cache, OsStr::new("--query"), query]].concat();
        Ok(timed(&self.file, &arguments)?.0)
    }

    /// Returns true if a command has an option.
    pub(crate) fn has_option(&self, command: &str, option: &str) -> io::Result<bool> {
        let (_, help) = timed(&self.file, &[command, "--help"])?;
        Ok(memchr::memmem::find(&help, option.as_bytes()).is_some())
    }
}

/// Returns the arguments of an update.
pub(crate) fn updating(sources: &Path, cache: &Path) -> [OsString; 5] {
    building("update", sources, cache)
}

fn building(command: &str, sources: &Path, cache: &Path) -> [OsString; 5] {
    [
        command.into(),
        "--sources".into(),
        sources.into(),
        "--cache".into(),
        cache.into(),
    ]
}
