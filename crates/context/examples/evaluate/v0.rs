//! The frozen v0 selection over whole documents, to compare with: matched words divided by all words, in `f32`.

use std::collections::HashMap;

/// Every document's words.
pub(crate) struct V0 {
    postings: HashMap<String, Vec<(usize, u32)>>,
    words: Vec<u32>,
}

impl V0 {
    /// Counts the words of documents, which must be sorted by id.
    pub(crate) fn new(contents: &[String]) -> Self {
        let mut index = V0 {
            postings: HashMap::new(),
            words: Vec::new(),
        };
        for (document, content) in contents.iter().enumerate() {
            let mut words = 0;
            for word in content.to_lowercase().split_whitespace() {
                words += 1;
                let list = index.postings.entry(word.to_owned()).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == document => *count += 1,
                    _ => list.push((document, 1)),
                }
            }
            index.words.push(words);
        }
        index
    }

    /// Returns all documents, best first.
    pub(crate) fn order(&self, query: &str) -> Vec<usize> {
        let mut matches = vec![0u32; self.words.len()];
        for term in query.to_lowercase().split_whitespace() {
            for (document, count) in self.postings.get(term).into_iter().flatten() {
                matches[*document] += count;
            }
        }
        let score = |document: usize| match self.words[document] {
            0 => 0.0,
            words => matches[document] as f32 / words as f32,
        };
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        order.sort_by(|one, other| score(*other).total_cmp(&score(*one)).then(one.cmp(other)));
        order
    }
}
