//! `candor context build`, `update`, `status` and `seal`: commands that build and maintain caches.

use super::progress::BuildBar;
use super::{CommonArgs, any_path, now};
use crate::cli::CommandError;
use candor_context::{Build, BuildOutcome, Failure, Location, SourceFilter, seal, status};
use candor_fault::Timestamp;
use clap::Args;
use std::path::{Path, PathBuf};

/// The arguments that select the sources.
#[derive(Debug, Args)]
struct SourceArgs {
    /// The directory of the sources, which are the regular files below it whose names end in `.md`
    #[arg(long, value_name = "DIR")]
    sources: PathBuf,
    /// Include files that match this glob instead of `*.md` (repeatable)
    ///
    /// A glob without `/` is compared with the name of a file, one with `/` with its path below the
    /// sources. `*` does not cross `/`, `**` does.
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Exclude files that match this glob, and directories with everything in them (repeatable)
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Exclude files that `.gitignore` files exclude
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
/// The cache is created completely or not at all. If SOURCE_DATE_EPOCH is set, two builds of the same
/// sources give the same bytes, except for the recorded times and inodes of files.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextBuildArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The directory of the new cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    /// Also index passages, for `candor context passages`
    #[arg(long)]
    passages: bool,
    /// Replace an existing cache
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Build a cache again, but read only the sources that changed
///
/// The result is that of a full build with the same flags. An index of passages is kept up to date. An
/// invalid cache is not updated.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextUpdateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    /// Also index passages, for `candor context passages`
    #[arg(long)]
    passages: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Show whether a cache matches its sources, or which files differ
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

/// Check a cache completely, and add the files that make it fast in its present location
///
/// Use it for a cache that was copied or built by another program. The files of the published format
/// are not changed.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextSealArgs {
    /// The cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    /// Also index passages, for `candor context passages`
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
                .note("to bring the cache up to date, run this with the same options:\n  candor context update");
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
