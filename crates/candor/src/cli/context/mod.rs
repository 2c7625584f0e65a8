//! `candor context` and the program `context`: commands that build and query caches.

mod build;
mod progress;
mod query;
mod read;
mod serve;
mod sources;
mod watch;

use super::CommandError;
use super::shell_words::quote;
use crate::host::system_clock;
use candor_context::dialect::Context;
use candor_context::{Failure, Location, MAX_SERVED, NamedCache, PathFlaw, ReadFailure};
use candor_fault::Timestamp;
use candor_fault::dialects::candor_error_object;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum ContextCommand {
    Search(read::ContextSearchArgs),
    Get(read::ContextGetArgs),
    List(read::ContextListArgs),
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
5 cache_invalid, 6 io_error, 7 internal_error, 8 document_missing or version_changed,
9 not fresh (status --exit-code). Results go to stdout, messages to stderr. After an error
stdout is empty, except for the report of verify.

Try:
  candor context build --sources docs
  candor context search 'how do I install it?'
  candor context update
  candor context serve";

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
            ContextCommand::Search(search) => search.run(),
            ContextCommand::Get(get) => get.run(),
            ContextCommand::List(list) => list.run(),
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

/// Adds a tip to the usage error of `get` with an id that lacks its flag.
pub(super) fn with_tip(mut error: clap::Error) -> clap::Error {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let is_get = usage.is_some_and(|usage| usage.contains("context get "));
    let surplus = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(surplus)) if !surplus.starts_with('-') => surplus.clone(),
        _ => return error,
    };
    if is_get && error.kind() == ErrorKind::UnknownArgument {
        let tip = format!("to name the document, use --id {}", quote(surplus));
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

impl CommonArgs {
    /// Returns the flags of a command that has none of them.
    fn text() -> CommonArgs {
        CommonArgs {
            root: None,
            error_format: ErrorFormat::Text,
        }
    }

    /// Returns the start of relative paths.
    fn location(&self) -> Result<Location, CommandError> {
        match &self.root {
            Some(root) => Location::below(root).map_err(|failure| self.error(&failure)),
            None => Ok(Location::Anywhere),
        }
    }

    /// Runs the work of a command. Failures are reported in the requested form, and a panic becomes the
    /// dialect's internal error.
    fn run<T>(
        &self,
        work: impl FnOnce(&Location) -> Result<T, Failure>,
    ) -> Result<T, CommandError> {
        self.caught(work).map_err(|failure| self.error(&failure))
    }

    /// Runs the work of a command on a cache. If the cache is invalid, the hint is the command that says why.
    fn run_on<T>(
        &self,
        cache: &Path,
        work: impl FnOnce(&Location) -> Result<T, Failure>,
    ) -> Result<T, CommandError> {
        self.caught(work).map_err(|failure| {
            let error = self.error(&failure);
            match failure.is_invalid_cache() {
                true => error.with_hint(self.verify_hint(cache)),
                false => error,
            }
        })
    }

    fn caught<T>(&self, work: impl FnOnce(&Location) -> Result<T, Failure>) -> Result<T, Failure> {
        let work = || match &self.root {
            Some(root) => work(&Location::below(root)?),
            None => work(&Location::Anywhere),
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.unwrap_or(Err(Failure::Bug("a panic; --log error shows where")))
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

    /// Returns the error of a command that reads caches, in the form of the server's tools. The hint is
    /// for a person: it names commands instead of tools.
    fn read_error(&self, failure: &ReadFailure, caches: &[NamedCache]) -> CommandError {
        let fault = failure.fault();
        let mut message = fault.message().to_owned();
        for violation in fault.violations().shown() {
            message.push_str(&format!("\n  {}: {}", violation.field(), violation.message));
            if let Some(hint) = &violation.hint {
                message.push_str(&format!("; {hint}"));
            }
        }
        let hint = self.read_hint(failure, caches);
        let error = CommandError::new(message)
            .with_hint(hint.unwrap_or_else(|| fault.remedy().to_owned()))
            .with_exit_code(failure.exit_code());
        match self.error_format {
            ErrorFormat::Text => error,
            ErrorFormat::Json => error.with_json(candor_error_object(&fault) + "\n"),
        }
    }

    /// Returns the error of paths whose caches cannot be read together.
    fn path_error(&self, flaw: PathFlaw) -> CommandError {
        match flaw {
            PathFlaw::Path(failure) => {
                let failure = ReadFailure::Paths(failure);
                self.read_error(&failure, &[])
            }
            PathFlaw::SameName { name, paths } => {
                let [one, other] = paths.map(|path| path.display().to_string());
                CommandError::new(format!(
                    "two caches are called `{}`: {} and {}",
                    name.escape_debug(),
                    quote(&one),
                    quote(&other)
                ))
                .with_hint("leave one of them out, or rename its directory")
            }
            PathFlaw::Many(count) => CommandError::new(format!(
                "there are {count} caches; at most {MAX_SERVED} are served"
            ))
            .with_hint("name fewer paths"),
        }
    }

    /// Notes that a cache is slow to open, with the command that changes it.
    fn note_unsealed(&self, path: &Path) {
        self.note(&format!(
            "the cache is not sealed in its present location, so every document was hashed; to make this fast, run:\n  candor context seal{} --cache {}",
            self.root_flag(),
            quote(path.display().to_string())
        ));
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
                    "check the path, or build the cache:\n  candor context build{} --sources DIR{}",
                    self.root_flag(),
                    self.cache_flag(Path::new(path))
                ));
            }
            Failure::Target(TargetFlaw::Exists(path)) => {
                return Some(format!(
                    "give --force to replace it, or update it:\n  candor context update{}{}",
                    self.root_flag(),
                    self.cache_flag(Path::new(path))
                ));
            }
            Failure::Target(TargetFlaw::NoParent(path)) => {
                return Some(format!(
                    "check --cache, or create the directory first:\n  mkdir -p {}",
                    quote(self.absolute(Path::new(path)))
                ));
            }
            Failure::NoSources { .. } => {
                "name a directory that exists and may be read with --sources"
            }
            Failure::SourcesGone { .. } => {
                "move the sources back, or build the cache again with --force and their new directory"
            }
            Failure::NoMatch { .. } => "check the globs of --include and --exclude",
            Failure::Emptying { .. } => {
                "check the sources; if the documents are to be removed, give --force"
            }
            Failure::Write { error, .. } if is_full(error) => "make room, then call again",
            Failure::Budget(BudgetFlaw::ResponseTooLarge) => {
                "give a smaller --budget, or a shorter --query"
            }
            Failure::Target(TargetFlaw::Foreign(..)) => {
                "choose another --cache, or remove it yourself"
            }
            Failure::Target(TargetFlaw::Sources(_)) => "choose a --cache outside the sources",
            Failure::Target(_) => "choose another --cache",
            Failure::Sources(flaws) => match &flaws[..] {
                [SourceFlaw::Many] => "exclude files with --exclude",
                [_] => "correct it, exclude it with --exclude, or give --skip-invalid",
                _ => "correct them, exclude them with --exclude, or give --skip-invalid",
            },
            Failure::Outside { .. } => "name a directory inside --root",
            Failure::Root { .. } => "name a directory that exists with --root",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Returns the hint of a command that reads caches.
    fn read_hint(&self, failure: &ReadFailure, caches: &[NamedCache]) -> Option<String> {
        let flags = |name: &str| {
            let cache = caches.iter().find(|cache| cache.name == name);
            let cache = cache.or_else(|| caches.first().filter(|_| caches.len() == 1));
            let cache = cache.map(|cache| self.cache_flag(&cache.path));
            format!("{}{}", self.root_flag(), cache.unwrap_or_default())
        };
        let get =
            |id: &str, name: &str| format!("candor context get --id {}{}", quote(id), flags(name));
        Some(match failure {
            ReadFailure::Paths(failure) => return self.hint(failure),
            ReadFailure::Cache { name, failure } => match failure {
                failure if failure.is_invalid_cache() => {
                    let cache = caches.iter().find(|cache| cache.name == *name)?;
                    self.verify_hint(&cache.path)
                }
                failure => return self.hint(failure),
            },
            ReadFailure::UnknownDocument(unknown) => match unknown.near.first() {
                Some((cache, id)) => {
                    format!("to read the nearest document, run:\n  {}", get(id, cache))
                }
                None => {
                    let asked = match &unknown.cache {
                        Some(cache) => flags(cache),
                        None => self.root_flag() + &self.cache_flags(caches),
                    };
                    match words_of(&unknown.asked) {
                        words if words.is_empty() => {
                            format!("to list the documents, run:\n  candor context list{asked}")
                        }
                        words => format!(
                            "to search for a document, run:\n  candor context search {} --format paths{asked}",
                            quote(words)
                        ),
                    }
                }
            },
            ReadFailure::Ambiguous { id, caches } => {
                let first = caches.first()?;
                format!("name one of them, for example:\n  {}", get(id, first))
            }
            ReadFailure::UnknownFolder { cache, .. } => format!(
                "to list the folders, run:\n  candor context list{}",
                flags(cache)
            ),
            ReadFailure::OtherVersion { cache, id, .. } => {
                format!("to read the present version, run:\n  {}", get(id, cache))
            }
            ReadFailure::AnswerTooLarge => {
                String::from("give a smaller --budget; with `get`, read the rest by --range")
            }
            ReadFailure::MixedTokenizers(_) => String::from(
                "search fewer caches with --cache, or build all of them with one --tokenizer",
            ),
            ReadFailure::Arguments(_) => {
                String::from("correct the arguments; --help describes them")
            }
            _ => return None,
        })
    }

    /// Returns the hint to look into an invalid cache.
    fn verify_hint(&self, cache: &Path) -> String {
        format!(
            "build the cache again; to see what is wrong with it, run:\n  candor context verify{}{}",
            self.root_flag(),
            self.cache_flag(cache)
        )
    }

    /// Returns `--cache DIR` for each of some caches.
    fn cache_flags(&self, caches: &[NamedCache]) -> String {
        let flags = caches.iter().map(|cache| self.cache_flag(&cache.path));
        flags.collect()
    }

    /// Returns `--root DIR` with a leading space, for a command that reaches the same cache.
    fn root_flag(&self) -> String {
        match &self.root {
            Some(root) => format!(" --root {}", quote(absolute(root))),
            None => String::new(),
        }
    }

    /// Returns `--cache DIR` with a leading space, for a command that works in every directory.
    fn cache_flag(&self, cache: &Path) -> String {
        format!(" --cache {}", quote(self.absolute(cache)))
    }

    /// Returns the absolute path of an argument.
    fn absolute(&self, path: &Path) -> PathBuf {
        match &self.root {
            Some(root) => absolute(root).join(path),
            None => absolute(path),
        }
    }

    /// Prints a note to stderr.
    fn note(&self, message: &str) {
        if self.error_format == ErrorFormat::Text {
            crate::host::print_note(message);
        }
    }
}

/// Returns the words of the last component of an id, without its suffix.
fn words_of(id: &str) -> String {
    let name = id.rsplit(['/', '\\']).next().unwrap_or(id);
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    let words = stem.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Returns the absolute path. The empty path has none.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Accepts any path. An empty path is not a usage error: it leads to no cache.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Returns the real time.
fn now() -> Timestamp {
    system_clock().now()
}
