//! Extracts the terms of an English text: lower-case words without stop words, stemmed if they consist of Latin
//! letters only (Snowball's English stemmer, also called Porter 2).

use super::stop_words::is_stop_word;
use super::words::words;
use crate::index::vocabulary::Vocabulary;
use crate::index::words::hash_of;
use foldhash::fast::RandomState;
use rust_stemmers::{Algorithm, Stemmer};

/// The most words that are cached. If there are more, all are forgotten between two documents.
const MOST_REMEMBERED: usize = 1 << 17;

/// Extracts terms from texts. It caches the terms of words; the results do not depend on the cache.
pub struct Analyser {
    stemmer: Stemmer,
    hash: RandomState,
    /// Words in lower case.
    words: Vocabulary<AnalysedWord>,
    /// Terms, whose places are their numbers.
    terms: Vocabulary<()>,
    forgotten: u64,
}

/// A term with its number: equal terms have equal numbers until the analyser forgets.
#[derive(Debug, Clone, Copy)]
pub struct NumberedTerm<'a> {
    /// The number, counted from 0.
    pub number: u32,
    /// The term itself.
    pub text: &'a str,
}

/// The term of a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnalysedWord {
    /// Equal terms have equal numbers, from 0 on, until the analyser forgets.
    pub(super) number: u32,
    /// True if it is a stop word, which is not stemmed.
    pub(super) stop: bool,
}

impl Default for Analyser {
    fn default() -> Self {
        Analyser::new()
    }
}

impl Analyser {
    /// Returns an analyser that remembers nothing yet.
    pub fn new() -> Self {
        Analyser {
            stemmer: Stemmer::create(Algorithm::English),
            hash: RandomState::default(),
            words: Vocabulary::default(),
            terms: Vocabulary::default(),
            forgotten: 0,
        }
    }

    /// Visits every term of the text in order, without stop words.
    pub fn analyse(&mut self, text: &str, mut visit: impl FnMut(&str)) {
        self.forget_if_full();
        words(text, |word| {
            let term = self.term(word);
            if !term.stop {
                visit(self.text(term.number));
            }
        });
    }

    /// Visits every term of the text in order, with stop words.
    pub(super) fn terms(&mut self, text: &str, mut visit: impl FnMut(AnalysedWord)) {
        words(text, |word| visit(self.term(word)));
    }

    fn text(&self, number: u32) -> &str {
        str::from_utf8(self.terms.spelled(number)).unwrap_or("")
    }

    /// Returns the term with this number.
    pub(super) fn named(&self, number: u32) -> NumberedTerm<'_> {
        let text = self.text(number);
        NumberedTerm { number, text }
    }

    /// Returns the number of times that it has forgotten everything.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Forgets everything if the cache is full. Earlier numbers are then invalid.
    pub(crate) fn forget_if_full(&mut self) {
        if self.words.len() >= MOST_REMEMBERED {
            let forgotten = self.forgotten + 1;
            *self = Analyser::new();
            self.forgotten = forgotten;
        }
    }

    fn term(&mut self, word: &str) -> AnalysedWord {
        let hash = hash_of(&self.hash, word.as_bytes());
        match self.words.find(word.as_bytes(), hash) {
            Some(slot) => *self.words.value(slot),
            None => self.learn(word, hash),
        }
    }

    #[cold]
    fn learn(&mut self, word: &str, hash: u64) -> AnalysedWord {
        let stop = is_stop_word(word);
        let latin = word.bytes().all(|byte| byte.is_ascii_lowercase());
        let number = match latin && !stop {
            true => {
                let stem = self.stemmer.stem(word);
                self.number(&stem)
            }
            false => self.number(word),
        };
        let term = AnalysedWord { number, stop };
        self.words.insert(word.as_bytes(), hash, term);
        term
    }

    fn number(&mut self, text: &str) -> u32 {
        let text = text.as_bytes();
        let hash = hash_of(&self.hash, text);
        match self.terms.find(text, hash) {
            Some(number) => number,
            None => self.terms.insert(text, hash, ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms_of(text: &str) -> String {
        let mut terms = Vec::new();
        Analyser::new().analyse(text, |term| terms.push(term.to_owned()));
        terms.join(" ")
    }

    #[test]
    fn words_become_terms() {
        for (text, expected) in [
            ("What are the Aeroelastic problems?", "aeroelast problem"),
            (
                "connected connecting connections",
                "connect connect connect",
            ),
            ("Array.prototype.map()", "array prototyp map"),
            ("font-size: 12px", "font size 12px"),
            (
                "{{domxref(\"MediaStream\")}}",
                "domxref media stream mediastream",
            ),
            ("naïve größe", "naïve größe"),
            ("the of and", ""),
            ("", ""),
        ] {
            assert_eq!(terms_of(text), expected, "{text}");
        }
    }

    #[test]
    fn full_analyser_gives_the_same_terms() {
        let mut analyser = Analyser::new();
        for number in 0..MOST_REMEMBERED + 10 {
            analyser.analyse(&format!("w{number} running"), |_| {});
        }
        assert!(analyser.words.len() < MOST_REMEMBERED);
        let mut terms = Vec::new();
        analyser.analyse("running w1", |term| terms.push(term.to_owned()));
        assert_eq!(terms, ["run", "w1"]);
    }
}
