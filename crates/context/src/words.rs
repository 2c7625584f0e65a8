//! The words of v0: lower-cased text, split at Unicode white space, duplicates and order kept.

use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher};

/// Counts the words of one text after the other.
///
/// A text has few different words beside all it has, so that they are counted here first, in a table
/// that stays near the processor.
#[derive(Default)]
pub(crate) struct Counter {
    lower: String,
    hash: FixedState,
    /// Places in `words`, plus one; zero is free.
    slots: Vec<u32>,
    words: Vec<Counted>,
}

struct Counted {
    hash: u64,
    start: u32,
    end: u32,
    count: u32,
}

impl Counter {
    /// Calls `visit` with every different word of `text`, lower-cased, its hash and how often it is
    /// there; says how many words there are.
    pub(crate) fn count(&mut self, text: &str, mut visit: impl FnMut(&str, u64, u32)) -> u64 {
        let mut lower = std::mem::take(&mut self.lower);
        lower.clear();
        match text.is_ascii() {
            true => {
                lower.push_str(text);
                lower.make_ascii_lowercase();
            }
            false => lower.push_str(&text.to_lowercase()),
        }
        self.words.clear();
        self.slots.clear();
        self.slots.resize(FEW, 0);
        let mut total = 0;
        let base = lower.as_ptr() as usize;
        for word in lower.split_whitespace() {
            total += 1;
            let start = word.as_ptr() as usize - base;
            self.add(&lower, start, start + word.len());
        }
        for word in &self.words {
            let spelled = &lower[word.start as usize..word.end as usize];
            visit(spelled, word.hash, word.count);
        }
        self.lower = lower;
        total
    }

    fn add(&mut self, lower: &str, start: usize, end: usize) {
        let word = &lower.as_bytes()[start..end];
        let hash = hash_of(&self.hash, word);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                place => {
                    let found = &mut self.words[place as usize - 1];
                    let same = found.hash == hash
                        && &lower.as_bytes()[found.start as usize..found.end as usize] == word;
                    if same {
                        found.count = found.count.saturating_add(1);
                        return;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
        self.words.push(Counted {
            hash,
            start: start as u32,
            end: end as u32,
            count: 1,
        });
        self.slots[slot] = self.words.len() as u32;
        if self.words.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    /// Twice as many places, so that half of them are free.
    fn grow(&mut self) {
        let room = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(room, 0);
        for (place, word) in (1..).zip(&self.words) {
            let mut slot = word.hash as usize & (room - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (room - 1);
            }
            self.slots[slot] = place;
        }
    }
}

/// How many places there are at first.
const FEW: usize = 1024;

/// The hash that words are found by, here and where all texts' words are gathered.
pub(crate) fn hash_of(state: &FixedState, word: &[u8]) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write(word);
    hasher.finish()
}

/// The words of a query.
pub(crate) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower.split_whitespace().map(str::to_owned).collect()
}

/// What a content costs: a token for every four bytes that are begun.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_white_space_splits_and_nothing_else_does() {
        let text = "A\u{b}b\u{85}C\u{a0}d\u{2003}e\u{2028}f\u{3000}g\u{1c}h\u{200b}i\u{180e}j";
        assert_eq!(
            words(text),
            ["a", "b", "c", "d", "e", "f", "g\u{1c}h\u{200b}i\u{180e}j"]
        );
        assert_eq!(words(" \t\r\n"), Vec::<String>::new());
        assert_eq!(words("ΟΔΟΣ ΟΔΟΣ. İ ẞ Ⅷ"), ["οδος", "οδος.", "i̇", "ß", "ⅷ"]);
    }

    #[test]
    fn many_words_are_counted_too() {
        let text: Vec<String> = (0..20_000).map(|n| format!("w{}", n % 7_000)).collect();
        let mut counted = Vec::new();
        let mut counter = Counter::default();
        let total = counter.count(&text.join("\n"), |word, _, count| {
            counted.push((word.to_owned(), count));
        });
        let expected: Vec<_> = (0..7_000)
            .map(|n| (format!("w{n}"), if n < 6_000 { 3 } else { 2 }))
            .collect();
        assert_eq!((total, counted), (20_000, expected));
    }

    #[test]
    fn begun_tokens_count() {
        assert_eq!([0, 1, 4, 5].map(tokens), [0, 1, 1, 2]);
    }

    proptest! {
        #[test]
        fn counting_agrees_with_splitting(text in "[a-zA-ZΣσς.'\u{301}\u{ad}\u{345}İıſK \n\u{85}\u{2028}\u{1c}-]{0,40}|\\PC{0,40}") {
            let plain = words(&text);
            let mut counted = std::collections::BTreeMap::new();
            let mut counter = Counter::default();
            counter.count("other words before", |_, _, _| {});
            let total = counter.count(&text, |word, _, count| {
                counted.insert(word.to_owned(), count);
            });
            let mut plainly = std::collections::BTreeMap::new();
            plain.iter().for_each(|word| *plainly.entry(word.clone()).or_insert(0) += 1);
            prop_assert_eq!((total, counted), (plain.len() as u64, plainly));
        }
    }
}
