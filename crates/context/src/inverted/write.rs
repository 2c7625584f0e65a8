//! Writing an index: terms from several places are merged, in order, into one file.

use super::{BLOCK, Footer, INLINE, Kind, Terms, put_posting};
use crate::codec::{Broken, put_bytes, put_varint, seal};
use crate::digest::{Digest, Digester};
use std::io::{self, Write};

/// An index that is being written.
pub(crate) struct Writer<W> {
    out: W,
    written: u64,
    digest: Option<Digester>,
    seed: u64,
    dictionary: Vec<u8>,
    blocks: Vec<u8>,
    block_start: usize,
    last_term: Vec<u8>,
    list: Vec<u8>,
    terms: u64,
}

/// Why an index cannot be written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// What is merged is itself broken.
    Broken,
    /// The file cannot be written.
    System(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Unwritten::System(error)
    }
}

impl From<Broken> for Unwritten {
    fn from(_: Broken) -> Self {
        Unwritten::Broken
    }
}

/// Makes units of keys; a key without one is dropped.
pub(crate) type Renumber<'a> = Box<dyn Fn(u64) -> Option<u32> + 'a>;

/// Terms that are merged, and the units of their keys; none where the keys are the units.
pub(crate) type Source<'a> = (Box<dyn Terms + 'a>, Option<Renumber<'a>>);

/// What an index is about, beside its terms.
pub(crate) struct About<'a> {
    pub(crate) kind: Kind,
    pub(crate) maker: u32,
    pub(crate) cache_version: Digest,
    pub(crate) units: u32,
    pub(crate) facts: &'a [u8],
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(out: W, cache_version: Digest, digest: Option<Digester>) -> Writer<W> {
        Writer {
            out,
            written: 0,
            digest,
            seed: cache_version.seed(),
            dictionary: Vec::new(),
            blocks: Vec::new(),
            block_start: 0,
            last_term: Vec::new(),
            list: Vec::new(),
            terms: 0,
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(digest) = &mut self.digest {
            digest.feed(bytes);
        }
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Merges everything. A key becomes a unit by `unit`, or is dropped; the order of keys must be
    /// the order of units within each source.
    pub(crate) fn merge(&mut self, sources: &mut [Source<'_>]) -> Result<(), Unwritten> {
        let mut postings: Vec<(u32, u32)> = Vec::new();
        let mut keys: Vec<(u64, u32)> = Vec::new();
        let mut term = Vec::new();
        loop {
            let least = sources.iter().filter_map(|(source, _)| source.term()).min();
            match least {
                Some(least) => {
                    term.clear();
                    term.extend_from_slice(least);
                }
                None => return Ok(()),
            }
            let holds = |one: &Source<'_>| one.0.term() == Some(&term);
            let several = sources.iter().filter(|one| holds(one)).count();
            if several == 1
                && let Some((source, _)) = sources.iter_mut().find(|one| holds(one))
                && let Some((list, units)) = source.written()
            {
                self.list.clear();
                self.list.extend_from_slice(list);
                self.term(&term, units)?;
                source.advance()?;
                continue;
            }
            postings.clear();
            for (source, unit) in sources.iter_mut().filter(|one| one.0.term() == Some(&term)) {
                keys.clear();
                source.append(&mut keys)?;
                source.advance()?;
                match unit {
                    None => postings.extend(keys.iter().map(|(key, count)| (*key as u32, *count))),
                    Some(unit) => postings.extend(
                        keys.iter()
                            .filter_map(|(key, count)| Some((unit(*key)?, *count))),
                    ),
                }
            }
            if several > 1 {
                // Each part is in order already; the sort sees the runs.
                postings.sort_by_key(|(unit, _)| *unit);
            }
            if !postings.is_empty() {
                self.encode(&postings);
                self.term(&term, postings.len() as u64)?;
            }
        }
    }

    fn encode(&mut self, postings: &[(u32, u32)]) {
        self.list.clear();
        let mut next = 0;
        for &(unit, count) in postings {
            put_posting(&mut self.list, unit - next, count);
            next = unit + 1;
        }
    }

    /// Writes a term with the list that is at hand.
    fn term(&mut self, term: &[u8], units: u64) -> io::Result<()> {
        let mut list = std::mem::take(&mut self.list);
        let first = self.dictionary.len() == self.block_start;
        let shared = match first {
            true => 0,
            false => common(&self.last_term, term),
        };
        if first {
            put_bytes(&mut self.blocks, term);
            put_varint(&mut self.blocks, self.block_start as u64);
        }
        put_varint(&mut self.dictionary, shared as u64);
        put_bytes(&mut self.dictionary, &term[shared..]);
        put_varint(&mut self.dictionary, units);
        if list.len() <= INLINE {
            put_varint(&mut self.dictionary, (list.len() as u64) << 1 | 1);
            self.dictionary.extend_from_slice(&list);
        } else {
            put_varint(&mut self.dictionary, (list.len() as u64) << 1);
            put_varint(&mut self.dictionary, self.written);
            seal(&mut list, 0, self.seed, self.written);
            self.put(&list)?;
        }
        self.list = list;
        self.last_term.clear();
        self.last_term.extend_from_slice(term);
        self.terms += 1;
        if self.dictionary.len() - self.block_start >= BLOCK {
            self.close_block();
        }
        Ok(())
    }

    fn close_block(&mut self) {
        let start = self.block_start;
        if self.dictionary.len() > start {
            seal(&mut self.dictionary, start, self.seed, start as u64);
            self.block_start = self.dictionary.len();
        }
    }

    /// Writes the rest.
    pub(crate) fn finish(mut self, about: &About<'_>) -> io::Result<()> {
        self.close_block();
        let dictionary = self.written;
        let bytes = std::mem::take(&mut self.dictionary);
        self.put(&bytes)?;
        let blocks = self.written;
        let mut bytes = std::mem::take(&mut self.blocks);
        seal(&mut bytes, 0, self.seed, blocks);
        self.put(&bytes)?;
        let facts = self.written;
        let mut bytes = about.facts.to_vec();
        seal(&mut bytes, 0, self.seed, facts);
        self.put(&bytes)?;
        let body = self.digest.take().unwrap_or_default().finish();
        let footer = Footer {
            kind: about.kind as u32,
            maker: about.maker,
            units: about.units,
            cache_version: about.cache_version,
            body,
            dictionary,
            blocks,
            facts,
            end: self.written,
            terms: self.terms,
        };
        let mut bytes = Vec::new();
        footer.write(&mut bytes);
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}

/// How many bytes two terms have in common at their beginning.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}
