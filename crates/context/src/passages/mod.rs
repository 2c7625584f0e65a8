//! Retrieval of passages by BM25, versioned and deterministic.
//!
//! [`split()`] cuts a document into passages, [`Analyser`] extracts their terms, scores are integers, and the search
//! selects what fits a token budget. Nothing here reads a file, a clock or the environment: the same contents and the
//! same query give the same bytes everywhere.

mod analyser;
mod blocks;
mod code;
mod document_terms;
mod front_matter;
mod jsx;
mod logarithm;
mod memory_index;
mod paragraphs;
mod response;
mod restructured_text;
mod score;
mod search;
mod split;
mod stop_words;
mod syntax;
mod template_tags;
#[cfg(test)]
mod test_text;
mod title;
mod word_mask;
mod words;

pub use analyser::{Analyser, NumberedTerm};
pub use code::Language;
pub use document_terms::{PassageFacts, document_terms};
pub use memory_index::MemoryIndex;
pub use response::{PassageExplanation, PassageSelection, PassagesResponse, SelectedPassage};
pub use score::SCALE;
pub use search::{PassageHit, SearchOutcome, TermWeight};
pub(crate) use search::{PassageLists, search};
pub use split::{MOST_BYTES, Passage, split};
pub use syntax::Syntax;
pub(crate) use title::title;

/// The version of splitting, analysis and scoring together. An index of another version is not used.
pub const VERSION: u32 = 2;
