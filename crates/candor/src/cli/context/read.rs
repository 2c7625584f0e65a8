//! `candor context search`, `get` and `list`: commands that read caches as the tools of the server do.

use super::{CommonArgs, any_path, now};
use crate::cli::CommandError;
use candor_context::{
    Catalogue, ChangeDetection, DEFAULT_CACHE, DEFAULT_ENTRIES, DocumentPart, DocumentRequest,
    EmptyDirectory, Failure, ListRequest, Location, MAX_ENTRIES, NamedCache, OutputForm, Query,
    QueryFlaw, ReadFailure, SearchRequest, TokenBudget,
};
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// The budget that commands use if none is given.
const DEFAULT_BUDGET: &str = "4000";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReadFormat {
    /// One line of JSON
    Json,
    /// JSON on several lines, indented
    Pretty,
    /// The text that the server's tool returns
    Markdown,
    /// The contents alone
    Text,
    /// Paths and lines
    Paths,
}

impl From<ReadFormat> for OutputForm {
    fn from(format: ReadFormat) -> OutputForm {
        match format {
            ReadFormat::Json => OutputForm::Json,
            ReadFormat::Pretty => OutputForm::Pretty,
            ReadFormat::Markdown => OutputForm::Markdown,
            ReadFormat::Text => OutputForm::Text,
            ReadFormat::Paths => OutputForm::Paths,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ListFormat {
    /// One line of JSON
    Json,
    /// JSON on several lines, indented
    Pretty,
    /// Paths, one a line
    Paths,
}

impl From<ListFormat> for OutputForm {
    fn from(format: ListFormat) -> OutputForm {
        match format {
            ListFormat::Json => OutputForm::Json,
            ListFormat::Pretty => OutputForm::Pretty,
            ListFormat::Paths => OutputForm::Paths,
        }
    }
}

/// The caches of a command.
#[derive(Debug, Args)]
struct CacheArgs {
    /// A cache, or a directory of caches (repeatable)
    #[arg(long, value_name = "DIR", value_parser = any_path(), default_value = DEFAULT_CACHE)]
    cache: Vec<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

impl CacheArgs {
    /// Opens the caches, reads them, and prints the answer.
    fn read(
        &self,
        read: impl FnOnce(&Catalogue, &[NamedCache]) -> Result<Vec<u8>, ReadFailure>,
    ) -> Result<(), CommandError> {
        let common = &self.common;
        let catalogue = self.catalogue(common.location()?);
        let caches = catalogue.verify().map_err(|flaw| common.path_error(flaw))?;
        let work = std::panic::AssertUnwindSafe(|| read(&catalogue, &caches));
        let answer = std::panic::catch_unwind(work)
            .unwrap_or(Err(ReadFailure::Bug("a panic; --log error shows where")));
        for path in catalogue.unsealed() {
            common.note_unsealed(&path);
        }
        let bytes = answer.map_err(|failure| common.read_error(&failure, &caches))?;
        common.print(&bytes)
    }

    fn catalogue(&self, location: Location) -> Catalogue {
        Catalogue::new(
            location,
            self.cache.clone(),
            EmptyDirectory::InvalidCache,
            Arc::new(now),
            ChangeDetection::Compare,
        )
    }
}

/// Parses a query, and reports a wrong one as a tool would.
fn parse_query(common: &CommonArgs, text: &OsStr) -> Result<Query, CommandError> {
    let shown = text.to_string_lossy();
    let query = text.to_str().ok_or(Failure::Query(QueryFlaw::NotUtf8));
    query.and_then(Query::new).map_err(|failure| match failure {
        Failure::Query(flaw) => common.read_error(&ReadFailure::wrong_query(&flaw, &shown), &[]),
        other => common.error(&other),
    })
}

/// Parses a budget of at least `least` tokens.
fn parse_budget(
    common: &CommonArgs,
    text: &OsStr,
    least: u64,
) -> Result<TokenBudget, CommandError> {
    let shown = text.to_string_lossy();
    let budget = TokenBudget::parse(&shown);
    budget
        .ok()
        .filter(|budget| budget.tokens() >= least)
        .ok_or_else(|| common.read_error(&ReadFailure::wrong_budget(&shown, least), &[]))
}

/// Find the passages that answer a query best
///
/// Searches all given caches as if they were one, and prints the best passages within a token budget:
/// each with its document, lines, headings, and the terms of its score.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextSearchArgs {
    /// The text to search for; synonyms help
    #[arg(
        value_name = "QUERY",
        required_unless_present = "query",
        conflicts_with = "query"
    )]
    text: Option<OsString>,
    /// The text to search for, if it begins with a hyphen
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    query: Option<OsString>,
    /// The maximum number of tokens in the answer
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true, default_value = DEFAULT_BUDGET)]
    budget: OsString,
    /// The format of the answer
    #[arg(long, value_enum, default_value_t = ReadFormat::Json)]
    format: ReadFormat,
    #[command(flatten)]
    caches: CacheArgs,
}

impl ContextSearchArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let common = &self.caches.common;
        let text = self.query.or(self.text).unwrap_or_default();
        let query = parse_query(common, &text)?;
        let budget = parse_budget(common, &self.budget, 0)?;
        let request = SearchRequest {
            query,
            budget,
            caches: None,
        };
        let form = OutputForm::from(self.format);
        self.caches
            .read(|catalogue, _| form.write_search(&catalogue.search(&request)?))
    }
}

/// Read a document, or a part of it
///
/// Prints as many whole lines as fit the budget. The answer's `next` is the range of the rest.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextGetArgs {
    /// The id of the document
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    id: String,
    /// The lines, counted from 1, both included
    #[arg(long, value_name = "FROM-TO", value_parser = parse_pair, conflicts_with = "range")]
    lines: Option<(u64, u64)>,
    /// The bytes, the second offset excluded
    #[arg(long, value_name = "FROM-TO", value_parser = parse_pair)]
    range: Option<(u64, u64)>,
    /// The version that an earlier answer has; another one is refused
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The maximum number of tokens in the answer
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true, default_value = DEFAULT_BUDGET)]
    budget: OsString,
    /// The format of the answer
    #[arg(long, value_enum, default_value_t = ReadFormat::Json)]
    format: ReadFormat,
    #[command(flatten)]
    caches: CacheArgs,
}

impl ContextGetArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let budget = parse_budget(&self.caches.common, &self.budget, 1)?;
        let part = match (self.lines, self.range) {
            (Some((from, to)), _) => DocumentPart::Lines(from, to),
            (None, Some((from, to))) => DocumentPart::Range(from, to),
            (None, None) => DocumentPart::Whole,
        };
        let request = DocumentRequest {
            id: self.id.clone(),
            cache: None,
            part,
            version: self.version.clone(),
            budget,
        };
        let form = OutputForm::from(self.format);
        self.caches
            .read(|catalogue, _| form.write_document(&catalogue.get(&request)?))
    }
}

/// List the folders and documents of a cache, one level at a time
///
/// If the directory contains several caches, lists the caches.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextListArgs {
    /// The folder to list, with `/` at its end
    #[arg(long, value_name = "PATH/", default_value = "", value_parser = parse_folder)]
    under: String,
    /// The `next` of the page before
    #[arg(long, value_name = "PATH")]
    after: Option<String>,
    /// The maximum number of entries
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ENTRIES as u64, value_parser = clap::value_parser!(u64).range(1..=MAX_ENTRIES as u64))]
    limit: u64,
    /// The format of the answer
    #[arg(long, value_enum, default_value_t = ListFormat::Json)]
    format: ListFormat,
    #[command(flatten)]
    caches: CacheArgs,
}

impl ContextListArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let form = OutputForm::from(self.format);
        let (under, after) = (self.under.clone(), self.after.clone());
        self.caches.read(|catalogue, caches| {
            let cache = match caches {
                [only] => Some(only.name.clone()),
                _ => None,
            };
            let request = ListRequest {
                cache,
                under,
                after,
                limit: self.limit as usize,
            };
            form.write_list(&catalogue.list(&request)?)
        })
    }
}

/// Parses `FROM-TO`.
fn parse_pair(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("`{text}` is not of the form FROM-TO, for example 10-20");
    let (from, to) = text.split_once('-').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    Ok((number(from)?, number(to)?))
}

fn parse_folder(text: &str) -> Result<String, String> {
    match text.is_empty() || text.ends_with('/') {
        true => Ok(text.to_owned()),
        false => Err(format!("a folder ends in `/`; did you mean `{text}/`?")),
    }
}
