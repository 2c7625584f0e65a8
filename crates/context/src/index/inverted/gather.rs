//! Gathering terms in memory: one shard a worker, its lists compressed as they grow.

use super::chunks::{ChunkList, Chunks};
use super::{MAX_TERM, TermSource};
use crate::format::codec::{ByteReader, CorruptFile};
use crate::index::vocabulary::Vocabulary;
use crate::index::words::{CountedWord, WordCounter, hash_of};
use foldhash::fast::FixedState;

/// What one worker has seen. Its keys must come in ascending order, each once for a term.
#[derive(Default)]
pub(crate) struct TermShard {
    terms: Vocabulary<TermPostings>,
    chunks: Chunks,
    hash: FixedState,
    /// Room for the places of a text's words.
    found: Vec<u32>,
}

/// The list of one term.
#[derive(Default)]
struct TermPostings {
    list: ChunkList,
    /// The last key plus one, that steps are counted from.
    base: u64,
}

/// The place of a term that is too long to be looked for.
const NOWHERE: u32 = u32::MAX;

impl TermShard {
    /// The place of a term, which lasts.
    pub(crate) fn place(&mut self, term: &[u8]) -> u32 {
        self.place_hashed(term, hash_of(&self.hash, term))
    }

    fn place_hashed(&mut self, term: &[u8], hash: u64) -> u32 {
        if term.len() > MAX_TERM {
            return NOWHERE;
        }
        match self.terms.find(term, hash) {
            Some(place) => place,
            None => self.terms.insert(term, hash, TermPostings::default()),
        }
    }

    /// Counts the term of this place `count` times for this key.
    pub(crate) fn add(&mut self, place: u32, key: u64, count: u32) {
        if place == NOWHERE {
            return;
        }
        let one = self.terms.value_mut(place);
        self.chunks.put_varint(&mut one.list, key - one.base);
        self.chunks.put_varint(&mut one.list, u64::from(count));
        one.base = key + 1;
    }

    /// Counts the words of a text for this key. In steps over all of them: memory that is far away
    /// is then asked for many times at once, instead of being waited for each time.
    pub(crate) fn add_all(&mut self, counter: &WordCounter, key: u64) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let likely = |word: &CountedWord| self.terms.likely(word.hash);
        let likely = |word| likely(word).unwrap_or(NOWHERE);
        found.extend(counter.words().iter().map(likely));
        for (place, word) in found.iter_mut().zip(counter.words()) {
            let spelled = counter.spelled(word);
            if *place == NOWHERE || !self.terms.is(*place, spelled) {
                *place = self.place_hashed(spelled, word.hash);
            }
        }
        for (place, word) in found.iter().zip(counter.words()) {
            self.add(*place, key, word.count);
        }
        self.found = found;
    }

    /// The terms in order.
    pub(crate) fn sorted(self) -> SortedShard {
        SortedShard {
            order: self.terms.order(),
            terms: self.terms,
            chunks: self.chunks,
        }
    }
}

/// A shard whose terms are in order.
pub(crate) struct SortedShard {
    terms: Vocabulary<TermPostings>,
    chunks: Chunks,
    order: Vec<u32>,
}

impl SortedShard {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The term that has such a share of everything before it; none where there is little.
    pub(crate) fn behind(&self, percent: u64) -> Option<&[u8]> {
        let size = |place: u32| self.terms.value(place).list.len() as u64 + 32;
        let all: u64 = (0..).take(self.len()).map(size).sum();
        let mut before = 0;
        let first = self.order.iter().find(|place| {
            before += size(**place);
            before * 100 >= all * percent
        })?;
        (self.len() > 1000).then(|| self.terms.spelled(*first))
    }

    pub(crate) fn all(&self) -> ShardRange<'_> {
        self.part(0, self.len())
    }

    /// The terms before this one.
    pub(crate) fn below(&self, term: &[u8]) -> ShardRange<'_> {
        self.part(0, self.first_from(term))
    }

    /// This term and those behind it.
    pub(crate) fn from(&self, term: &[u8]) -> ShardRange<'_> {
        self.part(self.first_from(term), self.len())
    }

    fn first_from(&self, term: &[u8]) -> usize {
        self.order
            .partition_point(|place| self.terms.spelled(*place) < term)
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

/// A part of a shard.
pub(crate) struct ShardRange<'s> {
    shard: &'s SortedShard,
    /// The places of the terms behind those that are near.
    left: &'s [u32],
    near: CopiedTerms,
}

/// The next terms of a part with their lists, copied together: in a shard they lie anywhere.
#[derive(Default)]
struct CopiedTerms {
    terms: Vec<u8>,
    lists: Vec<u8>,
    /// Where each of them ends, in `terms` and in `lists`.
    ends: Vec<(usize, usize)>,
    /// How many of them are done with.
    done: usize,
}

/// How many terms are copied at once, so that memory is asked for all of them before it is waited
/// for.
const STEP: usize = 64;

impl CopiedTerms {
    /// Where the present term begins, in `terms` and in `lists`.
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
        let (places, left) = self.left.split_at(step);
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
        for (list, place) in far.iter_mut().zip(places) {
            *list = shard.terms.value(*place).list;
            terms.extend_from_slice(shard.terms.spelled(*place));
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
