//! Gathering terms in memory: one shard a worker, its lists compressed as they grow.

use super::{MAX_TERM, Terms};
use crate::codec::{Broken, Reading, put_varint};
use crate::words::hash_of;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// What one worker has seen. Its keys must come in ascending order.
pub(crate) struct Shard {
    text: Vec<u8>,
    terms: Vec<Gathered>,
    places: HashTable<u32>,
    hash: FixedState,
}

struct Gathered {
    start: usize,
    length: u32,
    /// The key that is being counted.
    count: u32,
    key: u64,
    /// The key before it plus one, that steps are counted from.
    base: u64,
    list: Vec<u8>,
}

impl Gathered {
    fn flush(&mut self) {
        put_varint(&mut self.list, self.key - self.base);
        put_varint(&mut self.list, u64::from(self.count));
        self.base = self.key + 1;
    }
}

impl Shard {
    pub(crate) fn new() -> Shard {
        Shard {
            text: Vec::new(),
            terms: Vec::new(),
            places: HashTable::new(),
            hash: FixedState::default(),
        }
    }

    /// Counts a term `count` more times for this key.
    pub(crate) fn add_many(&mut self, term: &str, key: u64, count: u32) {
        let hash = hash_of(&self.hash, term.as_bytes());
        self.add_hashed(term, hash, key, count);
    }

    /// The same for a term whose hash is known.
    pub(crate) fn add_hashed(&mut self, term: &str, wanted: u64, key: u64, count: u32) {
        if term.len() > MAX_TERM {
            return;
        }
        let Shard {
            text,
            terms,
            places,
            hash,
        } = self;
        let spelled = |one: &Gathered| &text[one.start..one.start + one.length as usize];
        let same = |place: &u32| spelled(&terms[*place as usize]) == term.as_bytes();
        if let Some(&place) = places.find(wanted, same) {
            let one = &mut terms[place as usize];
            if one.key == key {
                one.count = one.count.saturating_add(count);
            } else {
                one.flush();
                (one.key, one.count) = (key, count);
            }
            return;
        }
        let rehash = |place: &u32| hash_of(hash, spelled(&terms[*place as usize]));
        places.insert_unique(wanted, terms.len() as u32, rehash);
        terms.push(Gathered {
            start: text.len(),
            length: term.len() as u32,
            count,
            key,
            base: 0,
            list: Vec::new(),
        });
        text.extend_from_slice(term.as_bytes());
    }

    /// The terms in order.
    pub(crate) fn sorted(self) -> Sorted {
        let Shard {
            text, mut terms, ..
        } = self;
        terms.iter_mut().for_each(Gathered::flush);
        let spelled = |one: &Gathered| &text[one.start..one.start + one.length as usize];
        terms.sort_unstable_by(|one, other| spelled(one).cmp(spelled(other)));
        Sorted { text, terms }
    }
}

/// A shard whose terms are in order.
pub(crate) struct Sorted {
    text: Vec<u8>,
    terms: Vec<Gathered>,
}

impl Sorted {
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    fn spelled(&self, one: &Gathered) -> &[u8] {
        &self.text[one.start..one.start + one.length as usize]
    }

    /// The term that has as much before it as behind it; none where there is little.
    pub(crate) fn middle(&self) -> Option<&[u8]> {
        let size = |one: &Gathered| one.list.len() as u64 + 32;
        let all: u64 = self.terms.iter().map(size).sum();
        let mut before = 0;
        let middle = self.terms.iter().find(|one| {
            before += size(one);
            before * 2 >= all
        })?;
        (self.len() > 1000).then(|| self.spelled(middle))
    }

    pub(crate) fn all(&self) -> Part<'_> {
        self.part(0, self.len())
    }

    /// The terms before this one.
    pub(crate) fn below(&self, term: &[u8]) -> Part<'_> {
        self.part(0, self.place(term))
    }

    /// This term and those behind it.
    pub(crate) fn from(&self, term: &[u8]) -> Part<'_> {
        self.part(self.place(term), self.len())
    }

    fn place(&self, term: &[u8]) -> usize {
        self.terms.partition_point(|one| self.spelled(one) < term)
    }

    fn part(&self, place: usize, end: usize) -> Part<'_> {
        let shard = self;
        Part { shard, place, end }
    }
}

/// A part of a shard.
pub(crate) struct Part<'s> {
    shard: &'s Sorted,
    place: usize,
    end: usize,
}

impl Part<'_> {
    fn one(&self) -> Option<&Gathered> {
        match self.place < self.end {
            true => self.shard.terms.get(self.place),
            false => None,
        }
    }
}

impl Terms for Part<'_> {
    fn term(&self) -> Option<&[u8]> {
        self.one().map(|one| self.shard.spelled(one))
    }

    fn append(&self, to: &mut Vec<(u64, u32)>) -> Result<(), Broken> {
        let one = self.one().ok_or(Broken)?;
        let mut reading = Reading(&one.list);
        let mut next = 0;
        while !reading.is_empty() {
            let key = next + reading.varint()?;
            let count = u32::try_from(reading.varint()?).map_err(|_| Broken)?;
            to.push((key, count));
            next = key + 1;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Broken> {
        self.place += 1;
        Ok(())
    }
}
