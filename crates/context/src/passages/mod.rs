//! Passages: retrieval by BM25 over parts of documents, versioned and deterministic.
//!
//! [`split()`] cuts a document, [`Analyser`] makes terms of its words, the scores are integers, and the search takes
//! what fits a token budget. Nothing here reads a file, a clock or the environment: the same contents and the same
//! query give the same bytes everywhere.

mod analyse;
mod blocks;
mod front_matter;
mod split;
mod stop_words;
mod words;

pub use analyse::Analyser;
pub use split::{MOST_BYTES, Passage, split};

/// The version of splitting, analysis and scoring together: an index of another version is of no use.
pub const VERSION: u32 = 1;

/// Where the index of passages is kept in a cache.
pub(crate) const PASSAGES_FILE: &str = "passages.idx";
