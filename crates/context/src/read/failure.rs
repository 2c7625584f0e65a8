//! Failures of reading, as types. `faults.rs` maps them to codes.

use crate::failure::{Failure, QueryFlaw};
use crate::read::violations::{of_budget, of_query, one};
use crate::tokenizer::Tokenizer;
use candor_fault::Violations;

/// A failure of a search, of reading a document or of a list.
#[derive(Debug)]
pub enum ReadFailure {
    /// The arguments are wrong, or ask for a part that the document does not have.
    Arguments(Violations),
    UnknownCache(UnknownCache),
    /// A cache with this name cannot answer.
    Cache {
        name: String,
        failure: Failure,
    },
    UnknownDocument(UnknownDocument),
    /// The caches of a search count tokens in different ways.
    MixedTokenizers(Vec<(String, Tokenizer)>),
    /// Several caches have a document with this id, and the call does not name one.
    Ambiguous {
        id: String,
        /// The names of these caches.
        caches: Vec<String>,
    },
    /// No document of the cache is below this folder.
    UnknownFolder {
        cache: String,
        under: String,
    },
    OtherVersion {
        cache: String,
        id: String,
        /// The version that the call expects.
        expected: String,
        current: String,
    },
    /// The answer would be larger than allowed.
    AnswerTooLarge,
    /// No document has this URI.
    UnknownResource,
    /// No list has issued this cursor.
    UnknownCursor,
    /// The document has this many bytes, which is too many to be read whole.
    ResourceTooLarge(u64),
    /// The caches that are served cannot be found.
    Paths(Failure),
    /// An internal invariant is violated.
    Bug(&'static str),
}

impl ReadFailure {
    /// Returns the failure of a query that cannot be asked.
    pub fn wrong_query(flaw: &QueryFlaw, query: &str) -> ReadFailure {
        ReadFailure::Arguments(one(of_query(flaw, query)))
    }

    /// Returns the failure of a budget that is not a whole number of at least `least`.
    pub fn wrong_budget(text: &str, least: u64) -> ReadFailure {
        ReadFailure::Arguments(one(of_budget(text, least)))
    }
}

/// A name that no served cache has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCache {
    pub asked: String,
    /// The name that was probably meant.
    pub near: Option<String>,
    /// The first names.
    pub names: Vec<String>,
    /// The number of the other names.
    pub more: usize,
}

/// An id that no document has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDocument {
    /// The cache that was asked; `None` if all were.
    pub cache: Option<String>,
    pub asked: String,
    /// Ids that were probably meant, with their caches.
    pub near: Vec<(String, String)>,
}
