//! The response of `passages`, in its shape and order.

use super::search::{PassageHit, TermWeight};
use super::split::Passage;
use serde::Serialize;

/// A response. If it has no passages, its selection still contains the number of considered ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassagesResponse {
    /// The passages, best first.
    pub passages: Vec<SelectedPassage>,
    pub selection: PassageSelection,
}

/// One passage of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelectedPassage {
    pub id: String,
    pub version: String,
    /// The offset of the first byte, and the offset after the last.
    pub range: [usize; 2],
    /// The first and the last line, counted from 1.
    pub lines: [u32; 2],
    /// The title and the headings above it.
    pub heading: Vec<String>,
    pub content: String,
    /// Its score, in millionths.
    pub score: u64,
    pub tokens: u32,
    pub why: PassageExplanation,
}

/// The terms behind a score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassageExplanation {
    /// The terms that matched, heaviest first; their weights add up to the score.
    pub terms: Vec<TermWeight>,
}

/// A summary of the selection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassageSelection {
    pub query: String,
    pub budget: u64,
    pub tokens_used: u64,
    /// The number of passages that contain a term of the query.
    pub passages_considered: u64,
    pub passages_selected: u64,
    /// The digest of the index that answered.
    pub index: String,
}

impl SelectedPassage {
    /// Combines a hit with its document: the document's id, version and content, and the passage in it.
    pub fn new(id: &str, version: &str, content: &str, passage: Passage, hit: PassageHit) -> Self {
        let range = passage.range;
        SelectedPassage {
            id: id.to_owned(),
            version: version.to_owned(),
            content: content.get(range.clone()).unwrap_or("").to_owned(),
            tokens: hit.tokens,
            range: [range.start, range.end],
            lines: [passage.lines.0, passage.lines.1],
            heading: passage.heading,
            score: hit.score,
            why: PassageExplanation { terms: hit.terms },
        }
    }
}

impl PassagesResponse {
    /// Takes the number of considered passages, the selected ones, and the digest of the index.
    pub fn new(
        query: &str,
        budget: u64,
        considered: u64,
        passages: Vec<SelectedPassage>,
        index: &str,
    ) -> Self {
        let tokens = passages.iter().map(|passage| u64::from(passage.tokens));
        let selection = PassageSelection {
            query: query.to_owned(),
            budget,
            tokens_used: tokens.sum(),
            passages_considered: considered,
            passages_selected: passages.len() as u64,
            index: index.to_owned(),
        };
        PassagesResponse {
            passages,
            selection,
        }
    }
}
