//! The words of v0: lower-cased text, split at Unicode white space, with duplicates and in order.

use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher};

/// Counts the words of texts.
///
/// A text has few different words, so they are counted here first, in a table that stays in the
/// processor's cache.
#[derive(Default)]
pub(crate) struct WordCounter {
    lower: String,
    hash: FixedState,
    /// Indexes into `words` plus one. Zero is a free slot.
    slots: Vec<u32>,
    words: Vec<CountedWord>,
}

/// A counted word of the text.
pub(crate) struct CountedWord {
    pub(crate) hash: u64,
    start: u32,
    end: u32,
    pub(crate) count: u32,
}

impl WordCounter {
    /// Counts the different words of the lower-cased `text`. Returns the number of all words.
    pub(crate) fn count(&mut self, text: &str) -> u64 {
        let mut lower = std::mem::take(&mut self.lower);
        lower.clear();
        lower_case(text, &mut lower);
        self.words.clear();
        self.slots.clear();
        self.slots.resize(FEW, 0);
        let (mut total, mut from) = (0, 0);
        while let Some((start, end)) = next_word(&lower, from) {
            total += 1;
            self.add(lower.as_bytes(), start, end);
            from = end;
        }
        self.lower = lower;
        total
    }

    /// Returns the different words of the text, in the order of their first occurrence.
    pub(crate) fn words(&self) -> &[CountedWord] {
        &self.words
    }

    pub(crate) fn spelled(&self, word: &CountedWord) -> &[u8] {
        &self.lower.as_bytes()[word.start as usize..word.end as usize]
    }

    fn add(&mut self, lower: &[u8], start: usize, end: usize) {
        let word = &lower[start..end];
        let hash = hash_of(&self.hash, word);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                position => {
                    let found = &mut self.words[position as usize - 1];
                    let same = found.hash == hash
                        && &lower[found.start as usize..found.end as usize] == word;
                    if same {
                        found.count = found.count.saturating_add(1);
                        return;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
        self.words.push(CountedWord {
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

    /// Doubles the slots, so that half of them are free.
    fn grow(&mut self) {
        let room = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(room, 0);
        for (position, word) in (1..).zip(&self.words) {
            let mut slot = word.hash as usize & (room - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (room - 1);
            }
            self.slots[slot] = position;
        }
    }
}

/// Appends a text in lower case, as `str::to_lowercase` does, with a fast path for ASCII.
fn lower_case(text: &str, out: &mut String) {
    // The one letter whose lower case depends on its neighbours.
    if text.contains('Σ') {
        return out.push_str(&text.to_lowercase());
    }
    let mut rest = text;
    while let Some(char) = {
        let plain = rest.bytes().position(|byte| byte >= 0x80);
        let (ascii, after) = rest.split_at(plain.unwrap_or(rest.len()));
        let from = out.len();
        out.push_str(ascii);
        out[from..].make_ascii_lowercase();
        rest = after;
        rest.chars().next()
    } {
        out.extend(char.to_lowercase());
        rest = &rest[char.len_utf8()..];
    }
}

/// The class of a byte for splitting words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Inside,
    White,
    /// A part of a character that is not ASCII.
    Wide,
}

const CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass::Inside; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b' ' | 9..=13 => ByteClass::White,
            0x80.. => ByteClass::Wide,
            _ => ByteClass::Inside,
        };
        byte += 1;
    }
    classes
};

/// Returns the start and the end of the next word.
fn next_word(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = find(text, from, true)?;
    let end = find(text, start, false).unwrap_or(text.len());
    Some((start, end))
}

/// Returns the offset of the first character that is not white space (`behind`), or that is.
fn find(text: &str, from: usize, behind: bool) -> Option<usize> {
    let passed = match behind {
        true => ByteClass::White,
        false => ByteClass::Inside,
    };
    let mut at = from;
    loop {
        let rest = &text.as_bytes()[at..];
        at += rest
            .iter()
            .position(|byte| CLASSES[usize::from(*byte)] != passed)?;
        if CLASSES[usize::from(text.as_bytes()[at])] != ByteClass::Wide {
            return Some(at);
        }
        let char = text[at..].chars().next()?;
        if char.is_whitespace() != behind {
            return Some(at);
        }
        at += char.len_utf8();
    }
}

/// The initial number of slots.
const FEW: usize = 1024;

/// Returns the hash of a word, the same here and in shards.
pub(crate) fn hash_of(state: &impl BuildHasher, word: &[u8]) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write(word);
    hasher.finish()
}

/// Returns the words of a query.
pub(crate) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower.split_whitespace().map(str::to_owned).collect()
}

/// Returns the tokens of a content: one for every four bytes or part of them.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts_of<C: FromIterator<(String, u32)>>(counter: &WordCounter) -> C {
        let spelled = |word| str::from_utf8(counter.spelled(word)).unwrap().to_owned();
        let words = counter.words().iter();
        words.map(|word| (spelled(word), word.count)).collect()
    }

    #[test]
    fn only_unicode_white_space_splits_words() {
        let text = "A\u{b}b\u{85}C\u{a0}d\u{2003}e\u{2028}f\u{3000}g\u{1c}h\u{200b}i\u{180e}j";
        assert_eq!(
            words(text),
            ["a", "b", "c", "d", "e", "f", "g\u{1c}h\u{200b}i\u{180e}j"]
        );
        assert_eq!(words(" \t\r\n"), Vec::<String>::new());
        assert_eq!(words("ΟΔΟΣ ΟΔΟΣ. İ ẞ Ⅷ"), ["οδος", "οδος.", "i̇", "ß", "ⅷ"]);
    }

    #[test]
    fn thousands_of_different_words_are_counted() {
        let text: Vec<String> = (0..20_000).map(|n| format!("w{}", n % 7_000)).collect();
        let mut counter = WordCounter::default();
        let total = counter.count(&text.join("\n"));
        let counted: Vec<_> = counts_of(&counter);
        let expected: Vec<_> = (0..7_000)
            .map(|n| (format!("w{n}"), if n < 6_000 { 3 } else { 2 }))
            .collect();
        assert_eq!((total, counted), (20_000, expected));
    }

    #[test]
    fn partial_token_counts_as_one() {
        assert_eq!([0, 1, 4, 5].map(tokens), [0, 1, 1, 2]);
    }

    proptest! {
        #[test]
        fn counting_agrees_with_splitting(text in "[a-zA-ZΣσς.'\u{301}\u{ad}\u{345}İıſK \n\u{85}\u{2028}\u{1c}-]{0,40}|\\PC{0,40}") {
            let plain = words(&text);
            let mut counter = WordCounter::default();
            counter.count("other words before");
            let total = counter.count(&text);
            let counted: std::collections::BTreeMap<_, _> = counts_of(&counter);
            let mut plainly = std::collections::BTreeMap::new();
            plain.iter().for_each(|word| *plainly.entry(word.clone()).or_insert(0) += 1);
            prop_assert_eq!((total, counted), (plain.len() as u64, plainly));
        }
    }
}
