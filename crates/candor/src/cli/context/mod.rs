//! `candor context` and the program `context`: commands that build and query caches.

mod build;
mod progress;
mod query;
mod serve;

use super::CommandError;
use super::shell_words::quote;
use crate::host::system_clock;
use candor_context::dialect::Context;
use candor_context::{Failure, Location};
use candor_fault::Timestamp;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum ContextCommand {
    Build(build::ContextBuildArgs),
    Update(build::ContextUpdateArgs),
    Status(build::ContextStatusArgs),
    Resolve(query::ContextResolveArgs),
    Passages(query::ContextPassagesArgs),
    Inspect(query::ContextInspectArgs),
    Verify(query::ContextVerifyArgs),
    Seal(build::ContextSealArgs),
    Serve(serve::ContextServeArgs),
}

pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 success, 1 wrong usage, 2 invalid_query, 3 invalid_budget, 4 cache_missing,
5 cache_invalid, 6 io_error, 7 internal_error. Results go to stdout, messages to stderr. After an
error stdout is empty, except for the report of verify.

Try:
  candor context build --sources docs --cache cache
  candor context resolve --cache cache --query 'how to install' --budget 4000
  candor context serve --root .";

/// The flags of every command.
#[derive(Debug, Args)]
pub(super) struct CommonArgs {
    /// Resolve relative paths from this directory, and reach nothing outside it
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The format of errors on stderr
    #[arg(long, value_name = "FORM", value_enum, default_value_t = ErrorFormat::Text)]
    error_format: ErrorFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ErrorFormat {
    /// A sentence and a hint, for people
    Text,
    /// The error object that the server sends
    Json,
}

impl ContextCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            ContextCommand::Build(build) => build.run(),
            ContextCommand::Update(update) => update.run(),
            ContextCommand::Status(status) => status.run(),
            ContextCommand::Resolve(resolve) => resolve.run(),
            ContextCommand::Passages(passages) => passages.run(),
            ContextCommand::Inspect(inspect) => inspect.run(),
            ContextCommand::Verify(verify) => verify.run(),
            ContextCommand::Seal(seal) => seal.run(),
            ContextCommand::Serve(serve) => serve.run(),
        }
    }
}

impl CommonArgs {
    /// Returns the flags of a command that has none of them.
    fn text() -> CommonArgs {
        CommonArgs {
            root: None,
            error_format: ErrorFormat::Text,
        }
    }

    /// Runs the work of a command. Failures are reported in the requested form, and a panic becomes the
    /// dialect's internal error.
    fn run<T>(
        &self,
        work: impl FnOnce(&Location) -> Result<T, Failure>,
    ) -> Result<T, CommandError> {
        let work = || match &self.root {
            Some(root) => work(&Location::below(root)?),
            None => work(&Location::Anywhere),
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let done = done.unwrap_or(Err(Failure::Bug("a panic; --log error shows where")));
        done.map_err(|failure| self.error(&failure))
    }

    /// Reports a failure of an argument, before any file is read.
    fn judged<T>(&self, judged: Result<T, Failure>) -> Result<T, CommandError> {
        judged.map_err(|failure| self.error(&failure))
    }

    fn error(&self, failure: &Failure) -> CommandError {
        let fault = failure.fault();
        let error = CommandError::new(failure.to_string())
            .with_hint(
                self.hint(failure)
                    .unwrap_or_else(|| fault.remedy().to_owned()),
            )
            .with_exit_code(fault.row().exit.unwrap_or(super::USAGE));
        match self.error_format {
            ErrorFormat::Text => error,
            ErrorFormat::Json => error.with_json(Context::error_object(&fault)),
        }
    }

    /// Writes a response to stdout unchanged: a sequence that looks like a terminal style may belong to a
    /// document. A reader that closes the pipe early is not a failure.
    fn print(&self, bytes: &[u8]) -> Result<(), CommandError> {
        let mut out = io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let doing = String::from("write the answer");
                Err(self.error(&Failure::System { doing, error }))
            }
            _ => Ok(()),
        }
    }

    /// Prints a response as indented JSON.
    fn print_pretty(&self, value: &impl Serialize) -> Result<(), CommandError> {
        let unwritten = |_| self.error(&Failure::Bug("an answer cannot be written"));
        let mut text = serde_json::to_string_pretty(value).map_err(unwritten)?;
        text.push('\n');
        self.print(text.as_bytes())
    }

    /// Returns a hint, if there is a better one than the remedy of the code.
    fn hint(&self, failure: &Failure) -> Option<String> {
        use candor_context::{BudgetFlaw, SourceFlaw, TargetFlaw};
        let hint = match failure {
            Failure::Lookup { path, .. } => {
                return Some(format!(
                    "check the path, or build the cache:\n  candor context build{} --sources DIR --cache {}",
                    self.root_flag(),
                    quote(path)
                ));
            }
            Failure::Budget(BudgetFlaw::ResponseTooLarge) => {
                "give a smaller --budget, or a shorter --query"
            }
            Failure::Target(TargetFlaw::Exists(_)) => {
                "give --force to replace it, or run this with the same options:\n  candor context update"
            }
            Failure::Target(TargetFlaw::Foreign(..)) => {
                "choose another --cache, or remove it yourself"
            }
            Failure::Target(_) => "choose another --cache",
            Failure::Sources(SourceFlaw::Name(_) | SourceFlaw::Content(..)) => {
                "convert it to UTF-8, or exclude it with --exclude"
            }
            Failure::Sources(SourceFlaw::Twins(..)) => "rename one of them",
            Failure::Sources(SourceFlaw::Large(..) | SourceFlaw::Many) => {
                "exclude files with --exclude"
            }
            Failure::Outside { .. } => "name a directory inside --root",
            Failure::Root { .. } => "name a directory that exists with --root",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Returns `--root DIR` with a leading space, for a command that reaches the same cache.
    fn root_flag(&self) -> String {
        match &self.root {
            Some(root) => format!(" --root {}", quote(&root.display().to_string())),
            None => String::new(),
        }
    }

    /// Prints a note to stderr.
    fn note(&self, message: &str) {
        if self.error_format == ErrorFormat::Text {
            crate::host::print_note(message);
        }
    }
}

/// Accepts any path. An empty path is not a usage error: it leads to no cache.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Returns the real time.
fn now() -> Timestamp {
    system_clock().now()
}
