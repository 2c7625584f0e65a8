//! Selects documents by index: matching documents are sorted as far as the budget reaches, and among
//! the others those that still fit are found in a tree of sizes.

use crate::query::response::score;

/// The sizes of all documents, in the order of ids.
#[derive(Debug)]
pub(crate) struct DocumentSizes {
    words: Vec<u32>,
    fitting: SizeTree,
}

/// A selected document, and how often it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentMatch {
    pub(crate) document: u32,
    pub(crate) matches: u64,
}

/// The number of matches of each document, for one query.
#[derive(Debug, Default)]
pub(crate) struct MatchCounts {
    counts: Vec<u64>,
    /// The matching documents, `many` of them. It has room for one more than there are documents.
    touched: Vec<u32>,
    many: usize,
    /// A buffer for the sort keys of matching documents.
    keys: Vec<u64>,
}

impl MatchCounts {
    /// Resets all counts, and makes room for this number of documents.
    pub(crate) fn clear(&mut self, documents: usize) {
        for document in &self.touched[..self.many] {
            self.counts[*document as usize] = 0;
        }
        self.many = 0;
        self.counts.resize(documents, 0);
        self.touched.resize(documents + 1, 0);
    }

    #[inline]
    pub(crate) fn add(&mut self, document: u32, matches: u64) {
        let count = &mut self.counts[document as usize];
        // Branchless, because whether this is the first match is unpredictable.
        self.touched[self.many] = document;
        self.many += usize::from(*count == 0);
        *count += matches;
    }
}

impl DocumentSizes {
    pub(crate) fn new(tokens: Vec<u32>, words: Vec<u32>) -> DocumentSizes {
        DocumentSizes {
            words,
            fitting: SizeTree::new(tokens),
        }
    }

    pub(crate) fn documents(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn words(&self, document: u32) -> u64 {
        self.words[document as usize].into()
    }

    pub(crate) fn tokens(&self, document: u32) -> u64 {
        self.fitting.levels[0][document as usize].into()
    }

    /// Selects documents greedily, in the order of the specification.
    pub(crate) fn select(&self, matches: &mut MatchCounts, budget: u64) -> Vec<DocumentMatch> {
        let mut left = budget;
        let mut selection = Vec::new();
        self.take_matching(matches, &mut left, &mut selection);
        // A matching document that fits now did fit before: it is selected already.
        let mut from = 0;
        while let Some(document) = self.fitting.next(from, left) {
            if matches.counts[document as usize] == 0 {
                left -= self.tokens(document);
                let matches = 0;
                selection.push(DocumentMatch { document, matches });
            }
            from = document as usize + 1;
        }
        selection
    }

    /// Selects matching documents, best first, in batches that double: if few are selected, few are
    /// sorted, and documents that no longer fit are dropped unsorted.
    fn take_matching(
        &self,
        matches: &mut MatchCounts,
        left: &mut u64,
        selection: &mut Vec<DocumentMatch>,
    ) {
        let mut keys = std::mem::take(&mut matches.keys);
        let key = |document: &u32| self.key(*document, matches.counts[*document as usize]);
        keys.clear();
        keys.extend(matches.touched[..matches.many].iter().map(key));
        let mut piece = 64;
        while !keys.is_empty() {
            let sorted = piece.min(keys.len());
            if sorted < keys.len() {
                keys.select_nth_unstable(sorted);
            }
            keys[..sorted].sort_unstable();
            for &key in &keys[..sorted] {
                let document = key as u32;
                if self.tokens(document) <= *left {
                    *left -= self.tokens(document);
                    let matches = matches.counts[document as usize];
                    selection.push(DocumentMatch { document, matches });
                }
            }
            let last = keys[sorted - 1];
            match self.fitting.few(*left) {
                // Documents that fit and come before the last one are selected already.
                Some(few) => {
                    let matching = few.iter().filter(|one| matches.counts[**one as usize] > 0);
                    keys.clear();
                    keys.extend(matching.map(key).filter(|key| *key > last));
                }
                None => {
                    keys.drain(..sorted);
                    keys.retain(|key| self.tokens(*key as u32) <= *left);
                }
            }
            piece *= 2;
        }
        matches.keys = keys;
    }

    /// Returns the sort key of a document: ascending keys are descending scores, then ascending ids. The
    /// bits of a non-negative score are ordered like the score.
    fn key(&self, document: u32, matches: u64) -> u64 {
        let score = score(matches, self.words(document));
        u64::from(!score.to_bits()) << 32 | u64::from(document)
    }
}

/// The number of entries that one entry of the next level summarises.
const FAN: usize = 64;

/// Up to this many fitting documents, reading them is faster than filtering all that match.
const FEW: usize = 64;

/// A tree of minimum sizes over ranges, to find the next document that fits.
#[derive(Debug)]
struct SizeTree {
    levels: Vec<Vec<u32>>,
}

impl SizeTree {
    fn new(tokens: Vec<u32>) -> SizeTree {
        let mut levels = vec![tokens];
        while let Some(below) = levels.last().filter(|level| level.len() > FAN) {
            let least = |part: &[u32]| part.iter().copied().min().unwrap_or(u32::MAX);
            let level = below.chunks(FAN).map(least).collect();
            levels.push(level);
        }
        SizeTree { levels }
    }

    /// Returns all documents with at most this size, or `None` if there are many.
    fn few(&self, at_most: u64) -> Option<Vec<u32>> {
        let mut few = Vec::new();
        let mut from = 0;
        while let Some(document) = self.next(from, at_most) {
            if few.len() == FEW {
                return None;
            }
            few.push(document);
            from = document as usize + 1;
        }
        Some(few)
    }

    /// Returns the first document at or after `from` with at most this size.
    fn next(&self, from: usize, at_most: u64) -> Option<u32> {
        let at_most = u32::try_from(at_most).unwrap_or(u32::MAX);
        let (mut level, mut position) = (0, from);
        loop {
            let sizes = self.levels.get(level)?;
            let end = (position / FAN + 1) * FAN;
            let part = sizes
                .get(position..end.min(sizes.len()))
                .unwrap_or_default();
            match part.iter().position(|size| *size <= at_most) {
                Some(step) if level == 0 => return u32::try_from(position + step).ok(),
                Some(step) => {
                    position = (position + step) * FAN;
                    level -= 1;
                }
                None => {
                    position = end / FAN;
                    level += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn next_agrees_with_a_linear_search(
            tokens in proptest::collection::vec(0u32..50, 0..10_000),
            from in 0usize..10_000, at_most in 0u64..50,
        ) {
            let plain = tokens.iter().skip(from).position(|size| u64::from(*size) <= at_most);
            let plain = plain.map(|step| (from + step) as u32);
            prop_assert_eq!(SizeTree::new(tokens).next(from, at_most), plain);
        }
    }

    #[test]
    fn empty_tree_has_no_next() {
        assert_eq!(SizeTree::new(Vec::new()).next(0, u64::MAX), None);
        let sparse: Vec<u32> = (0..300_000).map(|n| u32::from(n != 299_999)).collect();
        assert_eq!(SizeTree::new(sparse).next(1, 0), Some(299_999));
    }
}
