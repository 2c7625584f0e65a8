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

/// The matching documents of one query, and how often each of them matches.
#[derive(Debug, Default)]
pub(crate) struct MatchCounts {
    /// The matching documents, `many` of them, ascending if there is one list. It has room for one more
    /// than there are documents.
    documents: Vec<u32>,
    /// The number of matches of each of them.
    counts: Vec<u64>,
    many: usize,
    /// For each document one more than its position above, or 0. Only used from the second list on.
    slots: Vec<u32>,
    lists: usize,
}

impl MatchCounts {
    /// Removes all matches, and makes room for this number of documents.
    pub(crate) fn clear(&mut self, documents: usize) {
        if self.lists > 1 {
            for document in &self.documents[..self.many] {
                self.slots[*document as usize] = 0;
            }
        }
        (self.many, self.lists) = (0, 0);
        self.documents.resize(documents + 1, 0);
        self.counts.resize(documents + 1, 0);
    }

    /// Begins the list of a term. Returns a function that adds a document, in ascending order, with the
    /// number of its matches.
    pub(crate) fn begin_list(&mut self) -> impl FnMut(u32, u64) + '_ {
        self.lists += 1;
        if self.lists == 2 {
            self.slots.resize(self.documents.len(), 0);
            for (slot, document) in (1..).zip(&self.documents[..self.many]) {
                self.slots[*document as usize] = slot;
            }
        }
        let is_first = self.lists == 1;
        move |document, matches| match is_first {
            true => self.push(document, matches),
            false => self.add(document, matches),
        }
    }

    #[inline]
    fn push(&mut self, document: u32, matches: u64) {
        self.documents[self.many] = document;
        self.counts[self.many] = matches;
        self.many += 1;
    }

    #[inline]
    fn add(&mut self, document: u32, matches: u64) {
        // Branchless, because whether this is the first match is unpredictable.
        let slot = &mut self.slots[document as usize];
        let is_new = *slot == 0;
        self.documents[self.many] = document;
        self.counts[self.many] = 0;
        *slot = if is_new { self.many as u32 + 1 } else { *slot };
        self.counts[*slot as usize - 1] += matches;
        self.many += usize::from(is_new);
    }

    /// Returns the number of matches of a document.
    fn of(&self, document: u32) -> u64 {
        let position = match self.lists {
            0 | 1 => self.documents[..self.many].binary_search(&document).ok(),
            _ => (self.slots[document as usize] as usize).checked_sub(1),
        };
        position.map_or(0, |position| self.counts[position])
    }

    fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        let documents = self.documents[..self.many].iter().copied();
        documents.zip(self.counts[..self.many].iter().copied())
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
    pub(crate) fn select(&self, matches: &MatchCounts, budget: u64) -> Vec<DocumentMatch> {
        let mut left = budget;
        let mut selection = Vec::new();
        self.take_matching(matches, &mut left, &mut selection);
        // A matching document that fits now did fit before: it is selected already.
        let mut from = 0;
        while let Some(document) = self.fitting.next(from, left) {
            if matches.of(document) == 0 {
                left -= self.tokens(document);
                let matches = 0;
                selection.push(DocumentMatch { document, matches });
            }
            from = document as usize + 1;
        }
        selection
    }

    /// Selects matching documents, best first. The first batch is found without keys for all of them;
    /// further batches double: if few are selected, few are sorted, and documents that no longer fit
    /// are dropped unsorted.
    fn take_matching(
        &self,
        matches: &MatchCounts,
        left: &mut u64,
        selection: &mut Vec<DocumentMatch>,
    ) {
        let mut batch = self.best(matches);
        let mut others: Option<Vec<u64>> = None;
        while let Some(&last) = batch.last() {
            for &key in &batch {
                let document = key as u32;
                if self.tokens(document) <= *left {
                    *left -= self.tokens(document);
                    let matches = matches.of(document);
                    selection.push(DocumentMatch { document, matches });
                }
            }
            let piece = batch.len() * 2;
            let key = |(document, matches)| self.key(document, matches);
            let keys = match (self.fitting.few(*left), others.take()) {
                // Documents that fit and come before the last one are selected already.
                (Some(few), _) => {
                    let few = few.into_iter().map(|one| (one, matches.of(one)));
                    let matching = few.filter(|(_, matches)| *matches > 0);
                    matching.map(key).filter(|key| *key > last).collect()
                }
                (None, Some(mut keys)) => {
                    keys.retain(|key| self.tokens(*key as u32) <= *left);
                    keys
                }
                (None, None) => {
                    let fitting = matches.iter().filter(|one| self.tokens(one.0) <= *left);
                    fitting.map(key).filter(|key| *key > last).collect()
                }
            };
            batch = first_sorted(keys, piece, &mut others);
        }
    }

    /// Returns the sort keys of the best documents, at most `BATCH`, sorted. A document that cannot be
    /// better than those found so far costs two multiplications and no division.
    fn best(&self, matches: &MatchCounts) -> Vec<u64> {
        let mut keys: Vec<u64> = Vec::with_capacity(2 * BATCH);
        let mut floor = ScoreFloor::NONE;
        let mut limit = u64::MAX;
        for (document, count) in matches.iter() {
            if !floor.is_reached(count, self.words(document)) {
                continue;
            }
            let key = self.key(document, count);
            if key > limit {
                continue;
            }
            keys.push(key);
            if keys.len() == 2 * BATCH {
                let (_, worst, _) = keys.select_nth_unstable(BATCH - 1);
                limit = *worst;
                let document = limit as u32;
                floor = ScoreFloor::new(matches.of(document), self.words(document));
                keys.truncate(BATCH);
            }
        }
        keys.sort_unstable();
        keys.truncate(BATCH);
        keys
    }

    /// Returns the sort key of a document: ascending keys are descending scores, then ascending ids. The
    /// bits of a non-negative score are ordered like the score.
    fn key(&self, document: u32, matches: u64) -> u64 {
        let score = score(matches, self.words(document));
        u64::from(!score.to_bits()) << 32 | u64::from(document)
    }
}

/// The number of documents in the first batch of a selection.
const BATCH: usize = 64;

/// Returns the first `piece` keys, sorted, and leaves the others.
fn first_sorted(mut keys: Vec<u64>, piece: usize, others: &mut Option<Vec<u64>>) -> Vec<u64> {
    if piece < keys.len() {
        keys.select_nth_unstable(piece);
        *others = Some(keys.split_off(piece));
    }
    keys.sort_unstable();
    keys
}

/// A lower bound of scores as a ratio, so that lower scores are recognised without a division.
#[derive(Debug, Clone, Copy)]
struct ScoreFloor {
    matches: u64,
    words: u64,
}

/// A score differs from its ratio by at most one part in 2^24. One in 2^22 covers two of them.
const ROUNDING: u32 = 22;

impl ScoreFloor {
    /// The floor that every score reaches.
    const NONE: ScoreFloor = ScoreFloor {
        matches: 0,
        words: 0,
    };

    /// Returns a floor that every score reaches which is not lower than that of this document.
    fn new(matches: u64, words: u64) -> ScoreFloor {
        let scaled = matches.checked_mul((1 << ROUNDING) - 1);
        match scaled {
            Some(matches) if words > 0 => ScoreFloor {
                matches,
                words: words << ROUNDING,
            },
            _ => ScoreFloor::NONE,
        }
    }

    /// Returns false if the score of a document is lower.
    #[inline]
    fn is_reached(&self, matches: u64, words: u64) -> bool {
        u128::from(matches) * u128::from(self.words) >= u128::from(words) * u128::from(self.matches)
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

    /// Selects by sorting every document.
    fn plain(sizes: &DocumentSizes, counts: &[u64], budget: u64) -> Vec<DocumentMatch> {
        let mut order: Vec<u32> = (0..counts.len() as u32).collect();
        order.sort_by_key(|one| sizes.key(*one, counts[*one as usize]));
        let mut left = budget;
        order.retain(|one| {
            let fits = sizes.tokens(*one) <= left;
            left -= if fits { sizes.tokens(*one) } else { 0 };
            fits
        });
        let select = |document| DocumentMatch {
            document,
            matches: counts[document as usize],
        };
        order.into_iter().map(select).collect()
    }

    /// A document: its size, its words, and its matches in three lists.
    fn documents() -> impl Strategy<Value = Vec<(u32, u32, [u64; 3])>> {
        let matches = prop_oneof![Just(0u64), 1u64..4, Just(1u64 << 40)];
        let document = (0u32..40, 50u32..90, proptest::array::uniform3(matches));
        proptest::collection::vec(document, 0..260)
    }

    proptest! {
        #[test]
        fn selection_agrees_with_a_sort_of_all_documents(
            first in documents(), second in documents(),
            lists in 0usize..=3, budget in prop_oneof![0u64..4_000, Just(u64::MAX)],
        ) {
            // The buffers of an earlier query are reused.
            let mut matches = MatchCounts::default();
            for documents in [first, second] {
                let (tokens, words) = documents.iter().map(|one| (one.0, one.1)).unzip();
                let sizes = DocumentSizes::new(tokens, words);
                matches.clear(documents.len());
                let mut counts = vec![0; documents.len()];
                for list in 0..lists {
                    let mut add = matches.begin_list();
                    for (number, one) in documents.iter().enumerate().filter(|one| one.1.2[list] > 0) {
                        add(number as u32, one.2[list]);
                        counts[number] += one.2[list];
                    }
                }
                let expected = plain(&sizes, &counts, budget);
                prop_assert_eq!(sizes.select(&matches, budget), expected);
            }
        }

        #[test]
        fn floor_rejects_lower_scores_only(
            one in (1u64..5_000, 1u64..5_000), other in (1u64..5_000, 1u64..5_000),
            scale in prop_oneof![Just(1u64), Just(1 << 12), Just(u64::from(u32::MAX) / 5_000)],
        ) {
            let (one, other) = ((one.0 * scale, one.1), (other.0 * scale, other.1 * scale));
            let is_reached = ScoreFloor::new(one.0, one.1).is_reached(other.0, other.1);
            let is_lower = score(other.0, other.1) < score(one.0, one.1);
            prop_assert!(is_reached || is_lower);
            let much_lower = score(other.0, other.1) < score(one.0, one.1) * 0.999;
            prop_assert!(!(is_reached && much_lower));
        }
    }

    #[test]
    fn empty_tree_has_no_next() {
        assert_eq!(SizeTree::new(Vec::new()).next(0, u64::MAX), None);
        let sparse: Vec<u32> = (0..300_000).map(|n| u32::from(n != 299_999)).collect();
        assert_eq!(SizeTree::new(sparse).next(1, 0), Some(299_999));
    }
}
