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
    /// What is looked for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    query: OsString,
    /// How many tokens may be used; a token is four bytes
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    budget: OsString,
    /// How the answer looks
    #[arg(long, value_enum, default_value_t = ResponseFormat::Json)]
    format: ResponseFormat,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ResponseFormat {
    /// One line
    Json,
    /// The same with white space
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
                    "the cache is not sealed where it is, so every document was hashed; `candor context seal --cache {}` makes this fast",
                    self.cache.display()
                ));
            }
            Ok(bytes)
        })?;
        self.common.print(&bytes)
    }
}

/// Select documents for a query within a token budget
///
/// Prints one JSON object: the documents, each with its score and why, and the selection. The same
/// cache, query and budget give the same bytes everywhere. Words are compared as they are, in lower
/// case, and documents are taken whole; `candor context passages` searches better.
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
/// Prints one JSON object: the passages, best first, each with its place, its headings and the terms
/// that made its score (BM25, in millionths), and the selection. A cache that was built without
/// --passages answers too, only slower.
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

/// Say what a cache is and whether it is valid
///
/// Prints version, number of documents, bytes of the documents' files, and whether `verify` would be
/// content. A cache that is invalid is an answer, not an error.
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
/// Reads and hashes everything, whatever was proved before, and prints what is wrong (at most 100
/// problems). Exits with 5 where the cache is invalid, with 6 where it cannot be read.
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
