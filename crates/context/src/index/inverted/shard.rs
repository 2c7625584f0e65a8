//! Gathers terms in memory: one shard per worker, with lists that are compressed as they grow.

use super::chunks::{ChunkList, Chunks};
use super::{MAX_TERM, TermSource};
use crate::format::codec::{ByteReader, CorruptFile};
use crate::index::vocabulary::Vocabulary;
use crate::index::words::{CountedWord, WordCounter, hash_of};
use foldhash::fast::FixedState;

/// The terms of one worker. Keys must be added in ascending order, each once per term.
#[derive(Default)]
pub(crate) struct TermShard {
    terms: Vocabulary<TermPostings>,
    chunks: Chunks,
    hash: FixedState,
    /// A buffer for the slots of a text's words.
    found: Vec<u32>,
}

/// The postings of one term.
#[derive(Default)]
struct TermPostings {
    list: ChunkList,
    /// The last key plus one, from which steps are counted.
    base: u64,
}

/// The slot of a term that is too long to be indexed.
const NO_SLOT: u32 = u32::MAX;

impl TermShard {
    /// Returns the slot of a term, which does not change.
    pub(crate) fn slot(&mut self, term: &[u8]) -> u32 {
        self.slot_of_hashed(term, hash_of(&self.hash, term))
    }

    fn slot_of_hashed(&mut self, term: &[u8], hash: u64) -> u32 {
        if term.len() > MAX_TERM {
            return NO_SLOT;
        }
        match self.terms.find(term, hash) {
            Some(slot) => slot,
            None => self.terms.insert(term, hash, TermPostings::default()),
        }
    }

    /// Adds a posting to the term in this slot.
    pub(crate) fn add(&mut self, slot: u32, key: u64, count: u32) {
        if slot == NO_SLOT {
            return;
        }
        let one = self.terms.value_mut(slot);
        self.chunks.put_varint(&mut one.list, key - one.base);
        self.chunks.put_varint(&mut one.list, u64::from(count));
        one.base = key + 1;
    }

    /// Adds the words of a text for this key. Each step runs over all words, so that many cache misses
    /// overlap.
    pub(crate) fn add_all(&mut self, counter: &WordCounter, key: u64) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let likely = |word: &CountedWord| self.terms.likely(word.hash);
        let likely = |word| likely(word).unwrap_or(NO_SLOT);
        found.extend(counter.words().iter().map(likely));
        for (slot, word) in found.iter_mut().zip(counter.words()) {
            let spelled = counter.spelled(word);
            if *slot == NO_SLOT || !self.terms.is(*slot, spelled) {
                *slot = self.slot_of_hashed(spelled, word.hash);
            }
        }
        for (slot, word) in found.iter().zip(counter.words()) {
            self.add(*slot, key, word.count);
        }
        self.found = found;
    }

    /// Sorts the terms.
    pub(crate) fn sorted(self) -> SortedShard {
        SortedShard {
            order: self.terms.order(),
            terms: self.terms,
            chunks: self.chunks,
        }
    }
}

/// A shard with sorted terms.
pub(crate) struct SortedShard {
    terms: Vocabulary<TermPostings>,
    chunks: Chunks,
    order: Vec<u32>,
}

impl SortedShard {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the term before which `percent` of all postings are, or `None` if the shard is small.
    pub(crate) fn behind(&self, percent: u64) -> Option<&[u8]> {
        let size = |slot: u32| self.terms.value(slot).list.len() as u64 + 32;
        let all: u64 = (0..).take(self.len()).map(size).sum();
        let mut before = 0;
        let first = self.order.iter().find(|slot| {
            before += size(**slot);
            before * 100 >= all * percent
        })?;
        (self.len() > 1000).then(|| self.terms.spelled(*first))
    }

    pub(crate) fn all(&self) -> ShardRange<'_> {
        self.part(0, self.len())
    }

    pub(crate) fn below(&self, term: &[u8]) -> ShardRange<'_> {
        self.part(0, self.first_from(term))
    }

    pub(crate) fn from(&self, term: &[u8]) -> ShardRange<'_> {
        self.part(self.first_from(term), self.len())
    }

    fn first_from(&self, term: &[u8]) -> usize {
        self.order
            .partition_point(|slot| self.terms.spelled(*slot) < term)
    }

    fn part(&self, from: usize, to: usize) -> ShardRange<'_> {
        let mut part = ShardRange {
            shard: self,
            left: &self.order[from..to],
            near: CopiedTerms::default(),
        };
        part.bring_near();
        part
    }
}

/// A range of the sorted terms of a shard.
pub(crate) struct ShardRange<'s> {
    shard: &'s SortedShard,
    /// The slots of the terms that are not copied yet.
    left: &'s [u32],
    near: CopiedTerms,
}

/// The next terms of a range with their lists, copied together from all over the shard.
#[derive(Default)]
struct CopiedTerms {
    terms: Vec<u8>,
    lists: Vec<u8>,
    /// The end of each term, in `terms` and in `lists`.
    ends: Vec<(usize, usize)>,
    /// The number of terms that are consumed.
    done: usize,
}

/// The number of terms that are copied together, so that their cache misses overlap.
const STEP: usize = 64;

impl CopiedTerms {
    /// Returns the start of the current term, in `terms` and in `lists`.
    fn begin(&self) -> (usize, usize) {
        match self.done.checked_sub(1) {
            Some(last) => self.ends[last],
            None => (0, 0),
        }
    }
}

impl ShardRange<'_> {
    /// Copies the next terms.
    fn bring_near(&mut self) {
        let step = self.left.len().min(STEP);
        let (slots, left) = self.left.split_at(step);
        let CopiedTerms {
            terms,
            lists,
            ends,
            done,
        } = &mut self.near;
        self.left = left;
        terms.clear();
        lists.clear();
        ends.clear();
        *done = 0;
        let shard = self.shard;
        let mut far = [ChunkList::default(); STEP];
        for (list, slot) in far.iter_mut().zip(slots) {
            *list = shard.terms.value(*slot).list;
            terms.extend_from_slice(shard.terms.spelled(*slot));
            ends.push((terms.len(), 0));
        }
        for (list, (_, end)) in far.iter().zip(ends) {
            shard.chunks.append(list, lists);
            *end = lists.len();
        }
    }
}

impl TermSource for ShardRange<'_> {
    fn term(&self) -> Option<&[u8]> {
        let (end, _) = self.near.ends.get(self.near.done)?;
        Some(&self.near.terms[self.near.begin().0..*end])
    }

    fn append(&mut self, to: &mut Vec<(u64, u32)>) -> Result<(), CorruptFile> {
        let (_, end) = self.near.ends.get(self.near.done).ok_or(CorruptFile)?;
        let mut reading = ByteReader(&self.near.lists[self.near.begin().1..*end]);
        let mut next = 0;
        while !reading.is_empty() {
            let key = next + reading.varint()?;
            let count = u32::try_from(reading.varint()?).map_err(|_| CorruptFile)?;
            to.push((key, count));
            next = key + 1;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), CorruptFile> {
        self.near.done += 1;
        if self.near.done >= self.near.ends.len() {
            self.bring_near();
        }
        Ok(())
    }
}
