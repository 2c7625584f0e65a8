//! A table of words: each has a slot, counted from zero, with a value. Words of usual length are stored
//! beside their values, so that a lookup touches little memory.

use hashbrown::HashTable;
use std::cmp::Ordering;

/// The bytes of a word that are stored beside its value. Most words have no more.
const HEAD: usize = 16;

/// A map from words to values.
pub(crate) struct Vocabulary<T> {
    /// The words that are longer than a head.
    text: Vec<u8>,
    entries: Vec<VocabularyEntry<T>>,
    /// The lower half of a word's hash, and its slot.
    slots: HashTable<(u32, u32)>,
}

/// One word. All that a lookup reads is stored together.
struct VocabularyEntry<T> {
    /// The start of the word, padded with zeros.
    head: [u8; HEAD],
    length: u32,
    value: T,
    /// The offset of a longer word in the text.
    start: usize,
}

impl<T> Default for Vocabulary<T> {
    fn default() -> Self {
        Vocabulary {
            text: Vec::new(),
            entries: Vec::new(),
            slots: HashTable::new(),
        }
    }
}

fn head_of(word: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let length = word.len().min(HEAD);
    head[..length].copy_from_slice(&word[..length]);
    head
}

/// Returns the hash for the table, computed from the half that the table stores.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<T> Vocabulary<T> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the slot of a word with this hash, which may be another word.
    #[inline]
    pub(crate) fn likely(&self, hash: u64) -> Option<u32> {
        let hash = hash as u32;
        let found = self.slots.find(spread(hash), |(other, _)| *other == hash);
        found.map(|(_, slot)| *slot)
    }

    /// Returns true if the slot contains this word.
    #[inline]
    pub(crate) fn is(&self, slot: u32, word: &[u8]) -> bool {
        let entry = &self.entries[slot as usize];
        entry.head == head_of(word)
            && entry.length as usize == word.len()
            && (word.len() <= HEAD || self.spelled(slot) == word)
    }

    /// Returns the slot of a word.
    pub(crate) fn find(&self, word: &[u8], hash: u64) -> Option<u32> {
        let hash = hash as u32;
        let same = |(other, slot): &(u32, u32)| *other == hash && self.is(*slot, word);
        let found = self.slots.find(spread(hash), same);
        found.map(|(_, slot)| *slot)
    }

    /// Adds a new word and returns its slot.
    pub(crate) fn insert(&mut self, word: &[u8], hash: u64, value: T) -> u32 {
        let (hash, slot) = (hash as u32, self.entries.len() as u32);
        self.slots
            .insert_unique(spread(hash), (hash, slot), |(hash, _)| spread(*hash));
        self.entries.push(VocabularyEntry {
            head: head_of(word),
            length: word.len() as u32,
            value,
            start: self.text.len(),
        });
        if word.len() > HEAD {
            self.text.extend_from_slice(word);
        }
        slot
    }

    pub(crate) fn spelled(&self, slot: u32) -> &[u8] {
        let entry = &self.entries[slot as usize];
        let length = entry.length as usize;
        match entry.head.get(..length) {
            Some(short) => short,
            None => &self.text[entry.start..entry.start + length],
        }
    }

    #[inline]
    pub(crate) fn value(&self, slot: u32) -> &T {
        &self.entries[slot as usize].value
    }

    #[inline]
    pub(crate) fn value_mut(&mut self, slot: u32) -> &mut T {
        &mut self.entries[slot as usize].value
    }

    /// Returns the slots of all words, sorted by their bytes.
    pub(crate) fn order(&self) -> Vec<u32> {
        let heads = self.entries.iter();
        let heads = heads.map(|entry| u128::from_be_bytes(entry.head));
        let mut order: Vec<(u128, u32)> = heads.zip(0..).collect();
        order.sort_unstable_by(|one, other| self.compare(*one, *other));
        order.into_iter().map(|(_, slot)| slot).collect()
    }

    /// Compares words, nearly always by their heads alone.
    fn compare(&self, one: (u128, u32), other: (u128, u32)) -> Ordering {
        let by_head = one.0.cmp(&other.0);
        by_head.then_with(|| self.spelled(one.1).cmp(self.spelled(other.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_and_ordered() {
        let long = "x".repeat(HEAD);
        let mut words = [
            String::new(),
            String::from("\0"),
            String::from("x"),
            String::from("x\0"),
            String::from("é"),
            long.clone(),
            format!("{long}\0"),
            format!("{long}a"),
            format!("{long}b"),
            format!("{}\0", &long[1..]),
            long[1..].to_owned(),
            "y".repeat(3 * HEAD),
        ];
        // All words have one hash: they are distinguished by their bytes.
        let mut vocabulary = Vocabulary::default();
        for (number, word) in words.iter().enumerate() {
            assert_eq!(vocabulary.find(word.as_bytes(), 7), None);
            vocabulary.insert(word.as_bytes(), 7, number);
        }
        for (number, word) in words.iter().enumerate() {
            let slot = vocabulary.find(word.as_bytes(), 7).unwrap();
            assert_eq!(*vocabulary.value(slot), number);
            assert_eq!(vocabulary.spelled(slot), word.as_bytes());
        }
        assert!(vocabulary.likely(7).is_some() && vocabulary.likely(8).is_none());
        let order = vocabulary.order();
        let ordered: Vec<_> = order.iter().map(|one| vocabulary.spelled(*one)).collect();
        words.sort();
        assert_eq!(ordered, words.each_ref().map(|word| word.as_bytes()));
    }
}
