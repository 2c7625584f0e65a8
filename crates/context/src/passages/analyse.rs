//! Analysis: the terms of an English text.
//!
//! Words in lower case, without stop words, stemmed where they are made of Latin letters only (Snowball's English
//! stemmer, also called Porter 2).

use super::stop_words::is_stop_word;
use super::words::words;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use rust_stemmers::{Algorithm, Stemmer};

/// How many different words are remembered before everything is forgotten, between two documents.
const MOST_REMEMBERED: usize = 1 << 17;

/// Makes terms of texts. It remembers the terms of words it has seen; what it answers does not depend on that.
pub struct Analyser {
    stemmer: Stemmer,
    /// By word in lower case.
    words: HashMap<Box<str>, Term, RandomState>,
    /// By text of the term.
    numbers: HashMap<Box<str>, u32, RandomState>,
    texts: Vec<Box<str>>,
}

/// What a word becomes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    /// Equal terms have equal numbers, which begin at 0, until the analyser forgets.
    pub(super) number: u32,
    /// Whether it is a stop word, which stands for itself.
    pub(super) stop: bool,
}

impl Default for Analyser {
    fn default() -> Self {
        Analyser::new()
    }
}

impl Analyser {
    /// An analyser that remembers nothing yet.
    pub fn new() -> Self {
        Analyser {
            stemmer: Stemmer::create(Algorithm::English),
            words: HashMap::default(),
            numbers: HashMap::default(),
            texts: Vec::new(),
        }
    }

    /// Hands every term of the text to `visit`, in the order of the text and without stop words.
    pub fn analyse(&mut self, text: &str, mut visit: impl FnMut(&str)) {
        self.forget_if_full();
        words(text, |word| {
            let term = self.term(word);
            if !term.stop {
                visit(self.text(term.number));
            }
        });
    }

    /// Hands every term of the text to `visit`, stop words too.
    pub(super) fn terms(&mut self, text: &str, mut visit: impl FnMut(Term)) {
        words(text, |word| visit(self.term(word)));
    }

    /// The text of the term with this number.
    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    /// Forgets everything if it is too much; numbers that were given before mean nothing afterwards.
    pub(super) fn forget_if_full(&mut self) {
        if self.words.len() >= MOST_REMEMBERED {
            *self = Analyser::new();
        }
    }

    fn term(&mut self, word: &str) -> Term {
        match self.words.get(word) {
            Some(term) => *term,
            None => self.learn(word),
        }
    }

    #[cold]
    fn learn(&mut self, word: &str) -> Term {
        let stop = is_stop_word(word);
        let latin = word.bytes().all(|byte| byte.is_ascii_lowercase());
        let number = match latin && !stop {
            true => {
                let stem = self.stemmer.stem(word);
                number(&mut self.numbers, &mut self.texts, &stem)
            }
            false => number(&mut self.numbers, &mut self.texts, word),
        };
        let term = Term { number, stop };
        self.words.insert(word.into(), term);
        term
    }
}

fn number(
    numbers: &mut HashMap<Box<str>, u32, RandomState>,
    texts: &mut Vec<Box<str>>,
    text: &str,
) -> u32 {
    if let Some(number) = numbers.get(text) {
        return *number;
    }
    let number = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    texts.push(text.into());
    numbers.insert(text.into(), number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn analysed(text: &str) -> String {
        let mut terms = Vec::new();
        Analyser::new().analyse(text, |term| terms.push(term.to_owned()));
        terms.join(" ")
    }

    #[test]
    fn words_become_terms() {
        for (text, wanted) in [
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
            assert_eq!(analysed(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_it_remembers_changes_nothing() {
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
