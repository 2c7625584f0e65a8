//! The answer: what `passages` prints, in its shape and order.

use super::search::{PassageHit, TermWeight};
use super::split::Passage;
use super::tokens;
use serde::Serialize;

/// A whole answer; an empty one has no passages, and its selection says how many were considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassagesResponse {
    /// The passages, best first.
    pub passages: Vec<SelectedPassage>,
    /// How they were chosen.
    pub selection: PassageSelection,
}

/// One passage of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelectedPassage {
    /// The document's id.
    pub id: String,
    /// The document's version.
    pub version: String,
    /// The first byte and the one behind the last.
    pub range: [usize; 2],
    /// The first and the last line, counted from 1.
    pub lines: [u32; 2],
    /// The title and the headings above it.
    pub heading: Vec<String>,
    /// Its text.
    pub content: String,
    /// Its score, in millionths.
    pub score: u64,
    /// What it takes of the budget.
    pub tokens: u32,
    /// What the score is made of.
    pub why: PassageExplanation,
}

/// What a score is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassageExplanation {
    /// The terms that matched, heaviest first; their weights add up to the score.
    pub terms: Vec<TermWeight>,
}

/// How an answer was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassageSelection {
    /// The query as it was given.
    pub query: String,
    /// The budget as it was given.
    pub budget: u64,
    /// What the passages use of it.
    pub tokens_used: u64,
    /// How many passages hold a term of the query.
    pub passages_considered: u64,
    /// How many of them were taken.
    pub passages_selected: u64,
    /// The digest of the index that answered.
    pub index: String,
}

impl SelectedPassage {
    /// Returns a hit with the document that it is in: the document's id, version and content, and where the passage is.
    pub fn new(id: &str, version: &str, content: &str, passage: Passage, hit: PassageHit) -> Self {
        let range = passage.range;
        SelectedPassage {
            id: id.to_owned(),
            version: version.to_owned(),
            content: content.get(range.clone()).unwrap_or("").to_owned(),
            tokens: tokens(range.len()),
            range: [range.start, range.end],
            lines: [passage.lines.0, passage.lines.1],
            heading: passage.heading,
            score: hit.score,
            why: PassageExplanation { terms: hit.terms },
        }
    }
}

impl PassagesResponse {
    /// Returns the answer to a query: what was taken of the passages that were considered, and the digest of the index.
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
