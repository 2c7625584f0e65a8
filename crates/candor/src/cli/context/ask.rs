//! `context resolve`, `inspect` and `verify`: asking a cache.

use super::{Common, now, print_pretty};
use crate::cli::{Trouble, print};
use candor_context::{Budget, Failure, Query, QueryFlaw, Reader, inspect, verify};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Select documents for a query within a token budget
///
/// Prints one JSON object: the documents, each with its score and why, and the selection. The same
/// cache, query and budget give the same bytes everywhere.
#[derive(Debug, Args)]
pub(in crate::cli) struct ResolveArgs {
    /// The cache
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    /// What is looked for; words are compared as they are, in lower case
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    query: OsString,
    /// How many tokens may be used; a token is four bytes
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    budget: OsString,
    /// How the answer looks
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One line
    Json,
    /// The same with white space
    Pretty,
}

pub(super) fn query(text: &OsString) -> Result<Query, Failure> {
    let text = text.to_str().ok_or(Failure::Query(QueryFlaw::NotUtf8))?;
    Query::new(text)
}

pub(super) fn budget(text: &OsString) -> Result<Budget, Failure> {
    Budget::parse(&text.to_string_lossy())
}

impl ResolveArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let bytes = self.common.run(|location| {
            let (query, budget) = (query(&self.query)?, budget(&self.budget)?);
            let mut reader = Reader::open(location, &self.cache, &now)?;
            let answer = reader.resolve(&query, budget)?;
            if reader.by_hashing() {
                self.common.note(&format!(
                    "the cache is not sealed where it is, so every document was hashed; `context seal --cache {}` makes this fast",
                    self.cache.display()
                ));
            }
            match self.format {
                Format::Json => answer.compact(),
                Format::Pretty => answer.pretty(),
            }
        })?;
        print(&bytes)
    }
}

/// Say what a cache is and whether it is valid
///
/// Prints version, number of documents, bytes of the documents' files, and whether `verify` would be
/// content. A cache that is invalid is an answer, not an error.
#[derive(Debug, Args)]
pub(in crate::cli) struct InspectArgs {
    /// The cache
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    #[command(flatten)]
    common: Common,
}

impl InspectArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let look = |location: &_| inspect(location, &self.cache, &now);
        print_pretty(&self.common.run(look)?)
    }
}

/// Check every rule and every file of a cache
///
/// Reads and hashes everything, whatever was proved before, and prints what is wrong (at most 100
/// problems). Exits with 5 where the cache is invalid, with 6 where it cannot be read.
#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArgs {
    /// The cache
    #[arg(long, value_name = "DIR")]
    cache: PathBuf,
    #[command(flatten)]
    common: Common,
}

impl VerifyArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let check = |location: &_| verify(location, &self.cache, &now);
        let report = self.common.run(check)?;
        print_pretty(&report)?;
        match report.failure() {
            Some(failure) => Err(self.common.trouble(failure)),
            None => Ok(()),
        }
    }
}
