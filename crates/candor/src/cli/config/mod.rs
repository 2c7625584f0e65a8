//! `--config`: settings in a TOML file, under the names of the flags.
//!
//! No key is declared twice: the keys are derived from the flags of the commands that read the file. The
//! whole file is checked first. Then the settings that neither a flag nor the environment gives are
//! added to the command line, which is parsed again, so that they pass the same checks as flags.

mod document;
mod file;
mod passwords;
mod problem;
mod resolution;
mod settings;
mod values;

use super::CommandError;
use clap::{ArgMatches, Args, Command, CommandFactory, FromArgMatches};
pub use document::{MAX_CONFIG_KEYS, MAX_CONFIG_LEVELS};
pub use file::MAX_CONFIG_FILE;
use problem::ConfigProblems;
pub use problem::MAX_CONFIG_PROBLEMS;
use settings::{ConfigTable, KnownSettings, TABLES};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The id of the flag that names the file.
const CONFIG: &str = "config";

/// The value of the flag that stands for no file.
const NONE: &str = "none";

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    /// A TOML file with settings; flags and the environment win over it, and `none` reads none
    // It is read before this struct exists, because the file decides what is in the struct.
    #[arg(long = "config", id = "config", value_name = "FILE")]
    _config: Option<PathBuf>,
}

/// The reason why a command line cannot be used.
#[derive(Debug)]
pub(super) enum ParseFailure {
    /// The command line itself, or help.
    Usage(clap::Error),
    /// The file cannot be read.
    File(CommandError),
    /// The content of the file.
    Content(ConfigProblems),
}

impl From<clap::Error> for ParseFailure {
    fn from(error: clap::Error) -> Self {
        ParseFailure::Usage(error)
    }
}

/// Parses a command line, together with the file that it names.
pub(super) fn parse<C: CommandFactory + FromArgMatches>(
    arguments: Vec<OsString>,
) -> Result<C, ParseFailure> {
    let mut grammar = C::command();
    let parsed = grammar.clone().try_get_matches_from(&arguments);
    let matches = match named_file(&grammar, &arguments, &parsed) {
        None => parsed?,
        Some(named) => {
            let words = named.words(&grammar)?;
            let arguments = with_words(arguments, words);
            grammar.clone().try_get_matches_from(arguments)?
        }
    };
    C::from_arg_matches(&matches).map_err(|error| error.format(&mut grammar).into())
}

/// A file that a command line names.
struct NamedFile {
    table: &'static ConfigTable,
    path: PathBuf,
    /// The flags of the command that the table belongs to.
    flags: ArgMatches,
}

/// Returns the file that a command line names. A flag may need another one that is in the file, so a
/// command line that is not complete can name one too.
fn named_file(
    grammar: &Command,
    arguments: &[OsString],
    parsed: &Result<ArgMatches, clap::Error>,
) -> Option<NamedFile> {
    let matches = match parsed {
        Ok(matches) => matches.clone(),
        Err(error) if !error.use_stderr() => return None,
        Err(_) => {
            let lenient = grammar.clone().ignore_errors(true);
            lenient.try_get_matches_from(arguments).ok()?
        }
    };
    TABLES.iter().find_map(|table| {
        let flags = table.matches(&matches)?;
        let path: &PathBuf = flags.try_get_one(CONFIG).ok()??;
        (path != Path::new(NONE)).then(|| NamedFile {
            table,
            path: path.clone(),
            flags: flags.clone(),
        })
    })
}

impl NamedFile {
    /// Returns the settings of the file that are in force, as words of a command line.
    fn words(&self, grammar: &Command) -> Result<Vec<OsString>, ParseFailure> {
        let known = KnownSettings::new(grammar);
        let file = file::read(&self.path).map_err(ParseFailure::File)?;
        let (document, mut problems) = document::parse(&file.text);
        let mut words = Vec::new();
        if let Some(document) = &document {
            let (values, wrong) = values::check(document, &known, &file);
            problems.extend(problem::without_repetitions(wrong, &problems, &file.text));
            let (used, wrong) = resolution::resolve(values, &known, self.table, &self.flags);
            problems.extend(wrong);
            words = used;
        }
        match problems.is_empty() {
            true => Ok(words),
            false => Err(ParseFailure::Content(ConfigProblems::new(file, problems))),
        }
    }
}

/// Adds words to a command line, before the `--` after which no flag is recognised.
fn with_words(mut arguments: Vec<OsString>, words: Vec<OsString>) -> Vec<OsString> {
    let end = arguments.iter().position(|argument| argument == "--");
    let end = end.unwrap_or(arguments.len());
    arguments.splice(end..end, words);
    arguments
}

#[cfg(test)]
mod tests;
