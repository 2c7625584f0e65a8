//! `candor context build`, `update`, `status` and `seal`: commands that build and maintain caches.

use super::progress::BuildBar;
use super::sources::{BuildInputs, CacheArgs, FilterArgs, PassagesArgs, RecordedArgs};
use super::watch::watch;
use super::{CommonArgs, any_path, now};
use crate::cli::CommandError;
use crate::cli::shell_words::quote;
use candor_context::{Build, BuildOutcome, Comparison, Failure, Tokenizer, seal, status};
use candor_fault::Timestamp;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};

/// Parses the name of a tokenizer.
fn tokenizer_parser() -> impl TypedValueParser<Value = Tokenizer> {
    let names = PossibleValuesParser::new(Tokenizer::ALL.map(Tokenizer::name));
    names.map(|name| Tokenizer::named(&name).unwrap_or_default())
}

/// Build a cache from the documents below a directory
///
/// The cache is created completely or not at all, and records its sources and flags for `update`. If
/// SOURCE_DATE_EPOCH is set, two builds of the same sources give the same bytes, except for the
/// recorded times and inodes of files.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextBuildArgs {
    /// The directory of the sources
    #[arg(long, value_name = "DIR")]
    sources: PathBuf,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    target: CacheArgs,
    #[command(flatten)]
    passages: PassagesArgs,
    /// Count the tokens of passages in this way
    ///
    /// `bytes4` takes four bytes for a token. `o200k` counts with the vocabulary o200k_base: exactly for models that use it,
    /// as an estimate for all others. `resolve` always uses `bytes4`.
    #[arg(long, value_name = "NAME", value_parser = tokenizer_parser(), default_value = "bytes4", conflicts_with = "no_passages")]
    tokenizer: Tokenizer,
    /// Replace an existing cache
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Build a cache again, but read only the sources that changed
///
/// The sources and the flags are those that the build has recorded. The result is that of a full build.
/// An invalid cache is not updated.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextUpdateArgs {
    /// The directory of the sources, if the cache does not record it
    #[arg(long, value_name = "DIR")]
    sources: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    target: CacheArgs,
    #[command(flatten)]
    passages: PassagesArgs,
    /// Update even if that removes most documents
    #[arg(long)]
    force: bool,
    /// Stay, and update after every change of the sources
    ///
    /// Prints one line of JSON on stdout for each update, and one on stderr for each failure, which
    /// does not end it. SIGTERM and SIGINT end it after the running update.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Show whether a cache matches its sources, or which files differ
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextStatusArgs {
    /// The directory of the sources, if the cache does not record it
    #[arg(long, value_name = "DIR")]
    sources: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    target: CacheArgs,
    /// Exit with 9 if anything differs
    #[arg(long)]
    exit_code: bool,
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
pub(super) fn created_at() -> Result<Timestamp, CommandError> {
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

/// A build or an update.
struct BuildRequest<'a> {
    inputs: &'a BuildInputs,
    cache: &'a Path,
    force: bool,
    common: &'a CommonArgs,
}

impl BuildRequest<'_> {
    fn run(&self, run: Run) -> Result<BuildOutcome, CommandError> {
        let created_at = created_at()?;
        let bar = BuildBar::default();
        let built = self.common.run_on(self.cache, |location| {
            run(&Build {
                location,
                sources: &self.inputs.sources,
                cache: self.cache,
                filter: &self.inputs.filter,
                skip_invalid: self.inputs.skip_invalid,
                passages: self.inputs.passages,
                tokenizer: self.inputs.tokenizer,
                force: self.force,
                created_at,
                now: &now,
                random: fastrand::u64(..),
                progress: &bar,
            })
        });
        bar.end();
        built
    }

    fn print(&self, built: &BuildOutcome) -> Result<(), CommandError> {
        if built.document_count == 0 {
            self.common.note("there is no source: the cache is empty");
        }
        self.common.print_pretty(built)
    }
}

impl ContextBuildArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let inputs = BuildInputs {
            filter: self.filter.filter()?,
            skip_invalid: self.filter.skips_invalid(),
            passages: self.passages.given().unwrap_or(true),
            tokenizer: self.tokenizer,
            recorded: false,
            sources: self.sources,
        };
        let request = BuildRequest {
            inputs: &inputs,
            cache: &self.target.cache,
            force: self.force,
            common: &self.common,
        };
        let built = request.run(|build| build.run())?;
        request.print(&built)
    }
}

impl ContextUpdateArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let recorded = RecordedArgs {
            sources: self.sources.as_deref(),
            filter: &self.filter,
            passages: self.passages.given(),
            cache: &self.target.cache,
            common: &self.common,
        };
        let inputs = recorded.inputs()?;
        let request = BuildRequest {
            inputs: &inputs,
            cache: &self.target.cache,
            force: self.force,
            common: &self.common,
        };
        if self.watch {
            if !inputs.recorded {
                // It records the flags, by which all later updates are done.
                request.run(|build| build.update())?;
            }
            return watch(&self.common, &self.target.cache, self.force, created_at);
        }
        let built = request.run(|build| build.update())?;
        request.print(&built)
    }
}

/// The exit code of a cache that differs from its sources, if it was requested.
const STALE: u8 = 9;

impl ContextStatusArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let (cache, common) = (&self.target.cache, &self.common);
        let recorded = RecordedArgs {
            sources: self.sources.as_deref(),
            filter: &self.filter,
            passages: None,
            cache,
            common,
        };
        let inputs = recorded.inputs()?;
        let status = common.run_on(cache, |location| {
            status(&Comparison {
                location,
                sources: &inputs.sources,
                cache,
                filter: &inputs.filter,
                skip_invalid: inputs.skip_invalid,
                now: &now,
            })
        })?;
        common.print_pretty(&status)?;
        if status.fresh() {
            return Ok(());
        }
        let mut command = format!("candor context update{}", common.root_flag());
        if !inputs.recorded {
            let sources = common.absolute(&inputs.sources);
            command += &format!(" --sources {}{}", quote(sources), self.filter.flags());
        }
        command += &common.cache_flag(cache);
        common.note(&format!("to bring the cache up to date, run:\n  {command}"));
        match self.exit_code {
            true => Err(CommandError::silent(STALE)),
            false => Ok(()),
        }
    }
}

impl ContextSealArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let sealed = self.common.run_on(&self.cache, |location| {
            seal(location, &self.cache, self.passages, &now)
        });
        self.common.print_pretty(&sealed?)
    }
}
