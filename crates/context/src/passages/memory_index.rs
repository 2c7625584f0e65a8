//! An index in memory, for tests and for the evaluation; caches have theirs in `passage_index.rs`.

use super::analyser::Analyser;
use super::document_terms::{PassageFacts, document_terms};
use super::search::{PassageLists, SearchOutcome, search};
use super::syntax::Syntax;
use crate::tokenizer::Tokenizer;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::convert::Infallible;

/// An index of passages in memory.
#[derive(Default)]
pub struct MemoryIndex {
    postings: HashMap<Box<str>, Vec<(u32, u32)>, RandomState>,
    facts: Vec<PassageFacts>,
    /// The number of the first passage of each document.
    begins: Vec<u32>,
    total_length: u64,
}

impl MemoryIndex {
    /// Indexes Markdown documents, which must be sorted by id.
    pub fn new<'a>(contents: impl IntoIterator<Item = &'a str>) -> Self {
        let mut index = MemoryIndex::default();
        let mut analyser = Analyser::new();
        for content in contents {
            index.add(content, &mut analyser);
        }
        index
    }

    fn add(&mut self, content: &str, analyser: &mut Analyser) {
        let begin = self.passages();
        self.begins.push(begin);
        let postings = &mut self.postings;
        let facts = document_terms(
            content,
            Syntax::Markdown,
            Tokenizer::Bytes4,
            analyser,
            |ordinal, term, tf| {
                let posting = (begin.saturating_add(ordinal), tf);
                match postings.get_mut(term.text) {
                    Some(list) => list.push(posting),
                    None => {
                        postings.insert(term.text.into(), vec![posting]);
                    }
                }
            },
        );
        let lengths = facts.iter().map(|facts| u64::from(facts.length));
        self.total_length += lengths.sum::<u64>();
        self.facts.extend(facts);
    }

    /// Finds the best matches of `query` within `budget` tokens.
    pub fn search(&self, query: &str, budget: u64) -> SearchOutcome {
        let Ok(found) = search(self, query, budget);
        found
    }

    /// Returns the index of a passage's document, and the index of the passage in it.
    pub fn locate(&self, passage: u32) -> (usize, usize) {
        let document = self.begins.partition_point(|begin| *begin <= passage) - 1;
        let begin = self.begins.get(document).copied().unwrap_or(0);
        (document, (passage - begin) as usize)
    }
}

impl PassageLists for MemoryIndex {
    type Error = Infallible;

    fn passages(&self) -> u32 {
        u32::try_from(self.facts.len()).unwrap_or(u32::MAX)
    }

    fn total_length(&self) -> u64 {
        self.total_length
    }

    fn length(&self, passage: u32) -> u32 {
        self.facts
            .get(passage as usize)
            .map_or(0, |facts| facts.length)
    }

    fn tokens(&self, passage: u32) -> u32 {
        self.facts
            .get(passage as usize)
            .map_or(0, |facts| facts.tokens)
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<u32, Infallible> {
        let list = self.postings.get(term).map_or(&[][..], Vec::as_slice);
        for &(passage, tf) in list {
            visit(passage, tf);
        }
        Ok(u32::try_from(list.len()).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_numbered_across_documents() {
        let long = "paragraph of words\n\n".repeat(200);
        let index = MemoryIndex::new(["", long.as_str(), "", "last"]);
        let passages = index.passages();
        assert_eq!(index.locate(0), (1, 0));
        assert_eq!(index.locate(passages - 2), (1, passages as usize - 2));
        assert_eq!(index.locate(passages - 1), (3, 0));
    }

    #[test]
    fn total_length_is_the_sum_of_lengths() {
        let index = MemoryIndex::new(["one two", "# three\n\nfour", "the"]);
        let lengths: Vec<u32> = (0..index.passages())
            .map(|passage| index.length(passage))
            .collect();
        assert_eq!(lengths, [2, 3, 0]);
        assert_eq!(index.total_length(), 5);
    }
}
