//! The words of a corpus by the number of documents that contain them, and queries of these words.

use super::seeded_numbers::SeededNumbers;
use candor_context::Document;
use std::collections::{BTreeSet, HashMap};

const SEED: u64 = 4000;

/// The longest query of the mix, in words.
const LONGEST: usize = 6;

/// The kinds of queries that are measured separately.
pub(crate) const KINDS: [&str; 3] = ["a rare word", "a common word", "a sentence"];

const SENTENCE: &str = "how do I make a request and read the body of the response";

/// Words that nearly every document contains.
const STOP: [&str; 10] = [
    "the", "a", "of", "to", "is", "in", "and", "for", "that", "with",
];

/// Words by frequency.
#[derive(Debug)]
pub(crate) struct CorpusWords {
    /// In at most ten documents.
    rare: Vec<String>,
    /// In at most every twentieth document.
    medium: Vec<String>,
    /// In more documents.
    common: Vec<String>,
}

impl CorpusWords {
    pub(crate) fn of(documents: &[Document]) -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for document in documents {
            let lower = document.content.to_lowercase();
            for word in lower.split_whitespace().collect::<BTreeSet<_>>() {
                match counts.get_mut(word) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(word.to_owned(), 1)),
                }
            }
        }
        let mut words: Vec<_> = counts.into_iter().filter(|(word, _)| plain(word)).collect();
        words.sort_unstable();
        let between = |low: usize, high: usize| {
            let fitting = words
                .iter()
                .filter(|(_, count)| (low..=high).contains(count));
            fitting.map(|(word, _)| word.clone()).collect()
        };
        let frequent = (documents.len() / 20).max(10);
        CorpusWords {
            rare: between(1, 10),
            medium: between(11, frequent),
            common: between(frequent + 1, usize::MAX),
        }
    }

    /// Returns the same queries in every run: one to six words, each rare, medium, common or a stop
    /// word.
    pub(crate) fn mix(&self, queries: usize) -> Vec<String> {
        let mut chance = SeededNumbers::new(SEED);
        let query = |_| {
            let words = 1 + chance.below(LONGEST);
            let words: Vec<_> = (0..words).map(|_| self.word(&mut chance)).collect();
            words.join(" ")
        };
        (0..queries).map(query).collect()
    }

    fn word(&self, chance: &mut SeededNumbers) -> &str {
        let class: &[String] = match chance.below(4) {
            0 => &self.rare,
            1 => &self.medium,
            2 => &self.common,
            _ => &[],
        };
        let word = chance.of(class).map(String::as_str);
        // A small corpus may lack a class.
        word.unwrap_or_else(|| STOP[chance.below(STOP.len())])
    }

    /// Returns one query of each kind.
    pub(crate) fn queries(&self) -> [String; KINDS.len()] {
        let one = |class: &[String]| {
            SeededNumbers::new(SEED)
                .of(class)
                .cloned()
                .unwrap_or_default()
        };
        [one(&self.rare), one(&self.common), String::from(SENTENCE)]
    }
}

/// Returns true if a person might type the word.
fn plain(word: &str) -> bool {
    word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_context::Digest;

    #[test]
    fn words_are_classified_by_document_frequency() {
        let document = |number: usize| {
            let tenth = if number.is_multiple_of(10) {
                "tenth"
            } else {
                ""
            };
            let content = format!("Every every word{number} {tenth}");
            Document {
                id: format!("{number}.md"),
                source: format!("{number}.md"),
                version: Digest::of(content.as_bytes()),
                content,
            }
        };
        let documents: Vec<_> = (0..400).map(document).collect();
        let vocabulary = CorpusWords::of(&documents);
        assert_eq!(vocabulary.common, ["every", "tenth"]);
        assert!(vocabulary.medium.is_empty() && vocabulary.rare.is_empty());
        let mix = vocabulary.mix(100);
        assert_eq!(mix, vocabulary.mix(100));
        let words = mix.iter().map(|query| query.split(' ').count());
        assert!(words.clone().min() == Some(1) && words.max() == Some(LONGEST));
    }
}
