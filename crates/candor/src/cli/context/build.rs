//! `candor context build`, `update`, `status` and `seal`: commands that build and maintain caches.

use super::progress::BuildBar;
use super::{CommonArgs, any_path, now};
use crate::cli::CommandError;
use candor_context::{Build, BuildOutcome, Failure, Location, SourceFilter, seal, status};
use candor_fault::Timestamp;
use clap::Args;
use std::path::{Path, PathBuf};

/// Which files are sources.
#[derive(Debug, Args)]
struct SourceArgs {
    /// The directory of the sources: every regular file below it whose name ends in `.md`
    #[arg(long, value_name = "DIR")]
    sources: PathBuf,
    /// Take files that match this glob instead of `*.md` (may be given several times)
    ///
    /// Without `/` it is compared with a file's name, with `/` with its path below the sources; `*`
    /// does not cross `/`, `**` does.
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Leave out what matches this glob, directories with everything in them
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Leave out what `.gitignore` files name
    #[arg(long)]
    respect_gitignore: bool,
}

impl SourceArgs {
    fn filter(&self) -> Result<SourceFilter, CommandError> {
        SourceFilter::new(&self.include, &self.exclude, self.respect_gitignore).map_err(|bad| {
            CommandError::new(format!(
                "the glob `{}` cannot be used: {}",
                bad.glob, bad.reason
            ))
        })
    }
}

/// Build a cache from the documents below a directory
///
/// The cache appears whole or not at all. With SOURCE_DATE_EPOCH set, two builds of the same sources
/// are the same bytes.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextBuildArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Where the cache goes
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    /// Index passages too, for `candor context passages`
    #[arg(long)]
    passages: bool,
    /// Replace a cache that is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Build a cache anew, reading only the sources that changed
///
/// The result is the one of a full build with the same flags; passages stay where they are. A cache
/// that is not valid is not updated.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextUpdateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    /// Index passages too, for `candor context passages`
    #[arg(long)]
    passages: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Say whether a cache is what its sources are, or which files differ
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextStatusArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
}

/// Check a cache completely and make it fast where it is
///
/// For a cache that was copied or made by another program. Nothing that other readers look at is
/// changed.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextSealArgs {
    /// The cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    /// Index passages too, for `candor context passages`
    #[arg(long)]
    passages: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Returns the `created_at` of a build: now, or the time that the environment sets for reproducible
/// builds.
fn created_at() -> Result<Timestamp, CommandError> {
    const NAME: &str = "SOURCE_DATE_EPOCH";
    // The only variable that a build reads. No query reads it.
    #[allow(clippy::disallowed_methods)]
    let Some(fixed) = std::env::var_os(NAME) else {
        return Ok(now());
    };
    let seconds = fixed.to_str().and_then(|text| text.parse().ok());
    let fixed_at = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    fixed_at.ok_or_else(|| {
        let shown = fixed.to_string_lossy();
        CommandError::new(format!("{NAME} is `{}`", shown.escape_debug()))
            .with_hint("it must be a number of seconds since 1970, or not be set")
    })
}

type Run = fn(&Build<'_>) -> Result<BuildOutcome, Failure>;

/// The arguments of a build or an update.
struct BuildRequest<'a> {
    source: &'a SourceArgs,
    cache: &'a Path,
    passages: bool,
    force: bool,
    common: &'a CommonArgs,
}

impl BuildRequest<'_> {
    fn run(&self, run: Run) -> Result<(), CommandError> {
        let filter = self.source.filter()?;
        let created_at = created_at()?;
        let bar = BuildBar::default();
        let built = self.common.run(|location| {
            run(&Build {
                location,
                sources: &self.source.sources,
                cache: self.cache,
                filter: &filter,
                passages: self.passages,
                force: self.force,
                created_at,
                now: &now,
                random: fastrand::u64(..),
                progress: &bar,
            })
        });
        bar.end();
        let built = built?;
        if built.document_count == 0 {
            self.common.note("there is no source: the cache is empty");
        }
        self.common.print_pretty(&built)
    }
}

impl ContextBuildArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let making = BuildRequest {
            source: &self.source,
            cache: &self.cache,
            passages: self.passages,
            force: self.force,
            common: &self.common,
        };
        making.run(|build| build.run())
    }
}

impl ContextUpdateArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let making = BuildRequest {
            source: &self.source,
            cache: &self.cache,
            passages: self.passages,
            force: true,
            common: &self.common,
        };
        making.run(|build| build.update())
    }
}

impl ContextStatusArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let filter = self.source.filter()?;
        let compare = |location: &Location| {
            status(location, &self.source.sources, &self.cache, &filter, &now)
        };
        let status = self.common.run(compare)?;
        self.common.print_pretty(&status)?;
        if !status.fresh() {
            self.common
                .note("`candor context update` brings the cache up to date");
        }
        Ok(())
    }
}

impl ContextSealArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let sealed = self
            .common
            .run(|location| seal(location, &self.cache, self.passages, &now));
        self.common.print_pretty(&sealed?)
    }
}
