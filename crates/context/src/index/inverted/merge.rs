//! Merges the sorted terms of several inputs.

use super::{IndexWriteError, IndexWriter, SortedShard, TermSource, put_posting};
use crate::format::codec::{ByteReader, CorruptFile, put_bytes, put_varint};
use crate::parallel;
use std::cmp::Ordering;
use std::io::{self, Write};
use std::sync::mpsc;

/// Maps keys to units. A key without a unit is dropped.
pub(crate) type UnitOfKey<'a> = Box<dyn Fn(u64) -> Option<u32> + Send + 'a>;

/// Terms to merge, and the mapping of their keys to units, or `None` if keys are units. The mapping must
/// preserve the order.
pub(crate) type MergeInput<'a> = (Box<dyn TermSource + Send + 'a>, Option<UnitOfKey<'a>>);

/// The mapping of the keys of shards to units, or `None` if keys are units.
pub(crate) type ShardUnits<'a> = Option<&'a (dyn Fn(u64) -> Option<u32> + Sync)>;

/// The percentage of postings in the lower of two parts that are merged in parallel: less than half,
/// because the thread that merges it also writes.
const LOWER: u64 = 44;

/// Merges shards and the terms of a reused index into a new index.
pub(crate) fn merge<W: Write>(
    writer: &mut IndexWriter<W>,
    shards: &[SortedShard],
    units: ShardUnits<'_>,
    reused: Option<MergeInput<'_>>,
) -> Result<(), IndexWriteError> {
    let middle = match reused {
        // A reused index can only be read from its start.
        Some(_) => None,
        None => shards
            .iter()
            .max_by_key(|shard| shard.len())
            .and_then(|shard| shard.behind(LOWER)),
    };
    let Some(middle) = middle else {
        let mut sources: Vec<_> = shards
            .iter()
            .map(|shard| source(shard.all(), units))
            .collect();
        if let Some(reused) = reused {
            sources.push(reused);
            return merge_beside(writer, sources);
        }
        return each(&mut sources, |term, units, list| {
            writer.term(term, units, list)
        });
    };
    // Both parts in parallel: most of the work is merging lists.
    let part = |upper: bool| -> Vec<MergeInput<'_>> {
        let parts = shards.iter().map(|shard| match upper {
            true => shard.from(middle),
            false => shard.below(middle),
        });
        parts.map(|part| source(part, units)).collect()
    };
    let (lower, upper) = parallel::both(
        || {
            each(&mut part(false), |term, units, list| {
                writer.term(term, units, list)
            })
        },
        || {
            let mut held = Vec::new();
            each(&mut part(true), |term, units, list| {
                put_term(&mut held, term, units, list);
                Ok(())
            })
            .map(|()| held)
        },
    );
    lower?;
    write_terms(writer, &upper?)
}

/// The size of the batches in which terms are handed to the thread that writes.
const BATCH: usize = 64 * 1024;

/// The most batches that wait to be written.
const MOST_WAITING: usize = 8;

/// Merges on another thread than the one that writes. A reused index has hundreds of thousands of terms,
/// and merging them takes about as long as writing them.
fn merge_beside<W: Write>(
    writer: &mut IndexWriter<W>,
    mut sources: Vec<MergeInput<'_>>,
) -> Result<(), IndexWriteError> {
    let (sender, receiver) = mpsc::sync_channel::<Vec<u8>>(MOST_WAITING);
    let write = move || {
        let mut batches = receiver.into_iter();
        batches.try_for_each(|batch| write_terms(writer, &batch))
    };
    let merge = move || {
        let mut batch = Vec::new();
        // Nobody receives after an error of the writer, which is the one that is reported.
        let hand_over = |batch| sender.send(batch).map_err(io::Error::other);
        each(&mut sources, |term, units, list| {
            put_term(&mut batch, term, units, list);
            match batch.len() < BATCH {
                true => Ok(()),
                false => hand_over(std::mem::take(&mut batch)),
            }
        })?;
        Ok(hand_over(batch)?)
    };
    let (written, merged) = parallel::both(write, merge);
    written.and(merged)
}

/// Appends a term to a batch.
fn put_term(batch: &mut Vec<u8>, term: &[u8], units: u64, list: &[u8]) {
    put_bytes(batch, term);
    put_varint(batch, units);
    put_bytes(batch, list);
}

/// Writes the terms of a batch.
fn write_terms<W: Write>(writer: &mut IndexWriter<W>, batch: &[u8]) -> Result<(), IndexWriteError> {
    let mut reading = ByteReader(batch);
    while !reading.is_empty() {
        let (term, units, list) = (reading.bytes()?, reading.varint()?, reading.bytes()?);
        writer.term(term, units, list)?;
    }
    Ok(())
}

fn source<'a>(terms: impl TermSource + Send + 'a, units: ShardUnits<'a>) -> MergeInput<'a> {
    let renumber =
        |units: &'a (dyn Fn(u64) -> Option<u32> + Sync)| -> UnitOfKey<'a> { Box::new(units) };
    (Box::new(terms), units.map(renumber))
}

/// Calls `hand` for every term with the number of its units and its encoded list.
fn each(
    sources: &mut [MergeInput<'_>],
    mut hand: impl FnMut(&[u8], u64, &[u8]) -> io::Result<()>,
) -> Result<(), IndexWriteError> {
    let mut lists = MergedPostings::default();
    let (mut term, mut holders) = (Vec::new(), Vec::new());
    while least(sources, &mut term, &mut holders) {
        if let [only] = holders[..]
            && hand_written(sources, only, &mut hand)?
        {
            continue;
        }
        for slot in &holders {
            let (source, units) = &mut sources[*slot];
            lists.take(&mut **source, units.as_ref())?;
            source.advance()?;
        }
        if let Some((units, list)) = lists.joined(holders.len()) {
            hand(&term, units, list)?;
        }
    }
    Ok(())
}

/// Hands on the terms of one input whose lists are written unchanged, up to the next term of another
/// input: in an update these are nearly all. Returns false if there is none.
fn hand_written(
    sources: &mut [MergeInput<'_>],
    only: usize,
    hand: &mut impl FnMut(&[u8], u64, &[u8]) -> io::Result<()>,
) -> Result<bool, IndexWriteError> {
    let others = sources.iter().enumerate().filter(|(slot, _)| *slot != only);
    let end = others.filter_map(|(_, (source, _))| source.term()).min();
    let end = end.map(<[u8]>::to_vec);
    let source = &mut sources[only].0;
    let mut handed = false;
    while let (Some(term), Some((list, units))) = (source.term(), source.written())
        && end.as_deref().is_none_or(|end| term < end)
    {
        hand(term, units, list)?;
        source.advance()?;
        handed = true;
    }
    Ok(handed)
}

/// Finds the least remaining term, and the indexes of the inputs that have it.
fn least(sources: &[MergeInput<'_>], term: &mut Vec<u8>, holders: &mut Vec<usize>) -> bool {
    let mut least: Option<&[u8]> = None;
    holders.clear();
    for (slot, (source, _)) in sources.iter().enumerate() {
        let Some(next) = source.term() else { continue };
        match least.map_or(Ordering::Less, |least| next.cmp(least)) {
            Ordering::Greater => {}
            Ordering::Equal => holders.push(slot),
            Ordering::Less => {
                least = Some(next);
                holders.clear();
                holders.push(slot);
            }
        }
    }
    term.clear();
    term.extend_from_slice(least.unwrap_or_default());
    least.is_some()
}

/// The lists of one term, merged.
#[derive(Default)]
struct MergedPostings {
    keys: Vec<(u64, u32)>,
    postings: Vec<(u32, u32)>,
    encoded: Vec<u8>,
}

impl MergedPostings {
    fn take(
        &mut self,
        source: &mut dyn TermSource,
        units: Option<&UnitOfKey<'_>>,
    ) -> Result<(), CorruptFile> {
        self.keys.clear();
        source.append(&mut self.keys)?;
        let keys = self.keys.iter();
        match units {
            None => self
                .postings
                .extend(keys.map(|(key, count)| (*key as u32, *count))),
            Some(unit) => self
                .postings
                .extend(keys.filter_map(|(key, count)| Some((unit(*key)?, *count)))),
        }
        Ok(())
    }

    /// Returns the number of units and the encoded list, or `None` if it is empty.
    fn joined(&mut self, several: usize) -> Option<(u64, &[u8])> {
        if several > 1 {
            // Each input is sorted already, which makes the sort fast.
            self.postings.sort_by_key(|(unit, _)| *unit);
        }
        self.encoded.clear();
        let mut next = 0;
        for &(unit, count) in &self.postings {
            put_posting(&mut self.encoded, unit - next, count);
            next = unit + 1;
        }
        let units = self.postings.len() as u64;
        self.postings.clear();
        (units > 0).then_some((units, &self.encoded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;
    use crate::index::inverted::{IndexHeader, IndexKind, TermShard};

    /// Two shards with many terms, some in both.
    fn shards() -> Vec<SortedShard> {
        let mut shards = [TermShard::default(), TermShard::default()];
        for unit in 0..600u64 {
            for step in 0..40 {
                let term = format!("t{}", (unit * 31 + step * 127) % 5_080);
                let shard = &mut shards[unit as usize % 2];
                let slot = shard.slot(term.as_bytes());
                shard.add(slot, unit, step as u32 % 3 + 1);
            }
        }
        shards.into_iter().map(TermShard::sorted).collect()
    }

    fn written_by(merge: impl FnOnce(&mut IndexWriter<&mut Vec<u8>>)) -> Vec<u8> {
        let mut out = Vec::new();
        let version = Digest::of(b"cache");
        let mut writer = IndexWriter::new(&mut out, version, None);
        merge(&mut writer);
        let about = IndexHeader {
            kind: IndexKind::Documents,
            maker: 1,
            cache_version: version,
            units: 600,
            facts: b"facts",
        };
        writer.finish(&about).unwrap();
        out
    }

    #[test]
    fn merging_two_halves_gives_the_bytes_of_one_merge() {
        let shards = shards();
        assert!(shards.iter().all(|shard| shard.behind(LOWER).is_some()));
        let halves = written_by(|writer| merge(writer, &shards, None, None).unwrap());
        let whole = written_by(|writer| {
            let mut sources: Vec<_> = shards.iter().map(|one| source(one.all(), None)).collect();
            each(&mut sources, |term, units, list| {
                writer.term(term, units, list)
            })
            .unwrap();
        });
        assert!(halves == whole);
        assert!(halves.len() > 20_000);
    }

    #[test]
    fn merging_beside_the_writer_gives_the_bytes_of_one_merge() {
        let shards = shards();
        let sources = || shards.iter().map(|one| source(one.all(), None)).collect();
        let beside = written_by(|writer| merge_beside(writer, sources()).unwrap());
        let whole = written_by(|writer| {
            let mut sources: Vec<_> = sources();
            each(&mut sources, |term, units, list| {
                writer.term(term, units, list)
            })
            .unwrap();
        });
        assert!(beside == whole);
    }

    #[test]
    fn error_of_the_writer_ends_a_merge_beside_it() {
        struct FullDisk;
        impl Write for FullDisk {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut shard = TermShard::default();
        for term in 0..20_000 {
            let slot = shard.slot(format!("term {term:06}").as_bytes());
            // Too long to be stored in the dictionary.
            for unit in 0..5 {
                shard.add(slot, unit, u32::MAX);
            }
        }
        let shard = shard.sorted();
        let mut writer = IndexWriter::new(FullDisk, Digest::of(b"cache"), None);
        let merged = merge_beside(&mut writer, vec![source(shard.all(), None)]);
        let Err(IndexWriteError::System(error)) = merged else {
            panic!("{merged:?}");
        };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
