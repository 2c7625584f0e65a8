//! `candor context resolve`, `passages`, `inspect` and `verify`: commands that query a cache.

use super::{CommonArgs, any_path, now};
use crate::cli::CommandError;
use candor_context::{
    Failure, Query, QueryFlaw, Reader, TokenBudget, inspect, to_json_line, to_pretty_json, verify,
};
use clap::Args;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

/// The arguments of `resolve` and `passages`.
#[derive(Debug, Args)]
struct QueryArgs {
    /// The cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    /// The text to search for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    query: OsString,
    /// The maximum number of tokens in the answer; a token is four bytes
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    budget: OsString,
    /// The format of the answer
    #[arg(long, value_enum, default_value_t = ResponseFormat::Json)]
    format: ResponseFormat,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ResponseFormat {
    /// One line
    Json,
    /// Several lines, indented
    Pretty,
}

impl ResponseFormat {
    fn write(self, answer: &impl Serialize) -> Result<Vec<u8>, Failure> {
        match self {
            ResponseFormat::Json => to_json_line(answer),
            ResponseFormat::Pretty => to_pretty_json(answer),
        }
    }
}

impl QueryArgs {
    /// Checks query and budget, opens the cache, queries it, prints the response.
    fn query(
        &self,
        ask: impl FnOnce(
            &mut Reader<'_>,
            &Query,
            TokenBudget,
            ResponseFormat,
        ) -> Result<Vec<u8>, Failure>,
    ) -> Result<(), CommandError> {
        let text = self.query.to_str();
        let text = text.ok_or(Failure::Query(QueryFlaw::NotUtf8));
        let query = self.common.judged(text.and_then(Query::new))?;
        let budget = TokenBudget::parse(&self.budget.to_string_lossy());
        let budget = self.common.judged(budget)?;
        let bytes = self.common.run(|location| {
            let mut reader = Reader::open(location, &self.cache, &now)?;
            let bytes = ask(&mut reader, &query, budget, self.format)?;
            if reader.was_hashed() {
                self.common.note(&format!(
                    "the cache is not sealed in its present location, so every document was hashed; to make this fast, run:\n  candor context seal{}{}",
                    self.common.root_flag(),
                    self.common.cache_flag(&self.cache)
                ));
            }
            Ok(bytes)
        })?;
        self.common.print(&bytes)
    }
}

/// Select documents for a query within a token budget
///
/// Prints one JSON object with the documents, each with its score and the reason for it, and with the
/// selection. The same cache, query and budget give the same bytes on every machine. Words are compared
/// in lower case and otherwise unchanged, and documents are never cut. `candor context passages` finds
/// more.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextResolveArgs {
    #[command(flatten)]
    question: QueryArgs,
}

impl ContextResolveArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        self.question
            .query(|reader, query, budget, format| format.write(&reader.resolve(query, budget)?))
    }
}

/// Select passages of documents for a query within a token budget
///
/// Prints one JSON object with the passages, best first, each with its position, its headings and the
/// terms of its score (BM25, in millionths), and with the selection. A cache that was built without
/// --passages gives the same answers more slowly.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextPassagesArgs {
    #[command(flatten)]
    question: QueryArgs,
}

impl ContextPassagesArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        self.question
            .query(|reader, query, budget, format| format.write(&reader.passages(query, budget)?))
    }
}

/// Describe a cache, and show whether it is valid
///
/// Prints the version, the number of documents, the bytes of the documents' files, and whether `verify`
/// would pass. An invalid cache is not an error here.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextInspectArgs {
    /// The cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
}

impl ContextInspectArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let look = |location: &_| inspect(location, &self.cache, &now);
        self.common.print_pretty(&self.common.run(look)?)
    }
}

/// Check every rule and every file of a cache
///
/// Reads and hashes every file, even if earlier checks have passed, and prints at most 100 problems.
/// The exit code is 5 if the cache is invalid, and 6 if it cannot be read.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextVerifyArgs {
    /// The cache
    #[arg(long, value_name = "DIR", value_parser = any_path())]
    cache: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
}

impl ContextVerifyArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let check = |location: &_| verify(location, &self.cache, &now);
        let report = self.common.run(check)?;
        self.common.print_pretty(&report)?;
        match report.failure() {
            Some(failure) => Err(self.common.error(failure)),
            None => Ok(()),
        }
    }
}
