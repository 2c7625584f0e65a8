//! An inverted index in one file: for every term, the units (documents or passages) that contain it and
//! how often. It is read by offset and not mapped; every block has a checksum.
//!
//! Layout: posting lists, dictionary blocks, the list of blocks, the caller's facts, footer. All of it
//! depends on the terms alone, so equal corpora give equal bytes.

mod chunks;
mod merge;
mod read;
mod shard;
mod write;

pub(crate) use merge::{MergeInput, merge};
pub(crate) use read::InvertedIndex;
pub(crate) use shard::{SortedShard, TermShard};
pub(crate) use write::{IndexHeader, IndexWriteError, IndexWriter};

use crate::format::codec::{ByteReader, CorruptFile, append_checksum, put_varint, verify_checksum};
use crate::format::digest::Digest;

/// The version of the layout.
const LAYOUT: u32 = 1;

const MAGIC: &[u8; 8] = b"candorix";

/// The size of the footer.
const FOOTER: usize = 8 + 4 + 4 + 4 + 4 + 32 + 32 + 5 * 8 + 8;

/// A dictionary block is closed when it has grown to this size.
const BLOCK: usize = 4096;

/// A list of at most this many bytes is stored in the dictionary itself.
const INLINE: usize = 24;

/// Longer terms are not indexed: no query can contain them, even if lower-casing makes it longer.
pub(crate) const MAX_TERM: usize = 2 * crate::MAX_QUERY;

/// The units of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum IndexKind {
    Documents = 1,
    Passages = 2,
}

/// Terms whose lists change.
pub(crate) type TouchedTerms = std::collections::BTreeSet<Vec<u8>>;

/// Terms in the order of their bytes, each with its list: an input of a merge.
pub(crate) trait TermSource {
    /// Returns the current term, or `None` after the last.
    fn term(&self) -> Option<&[u8]>;
    /// Returns the encoded list of the current term and the number of its units, if all of them keep
    /// their numbers.
    fn written(&self) -> Option<(&[u8], u64)> {
        None
    }
    /// Appends the list of the current term, with ascending keys.
    fn append(&mut self, to: &mut Vec<(u64, u32)>) -> Result<(), CorruptFile>;
    fn advance(&mut self) -> Result<(), CorruptFile>;
}

/// The footer: offsets of the parts, the cache that the file belongs to, and its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexFooter {
    kind: u32,
    /// The version of the rules that made the terms.
    maker: u32,
    units: u32,
    cache_version: Digest,
    /// The digest of everything before the footer if responses name it, else the digest of nothing.
    body: Digest,
    /// The offsets of dictionary, blocks, facts and footer, and the number of terms.
    dictionary: u64,
    blocks: u64,
    facts: u64,
    end: u64,
    terms: u64,
}

impl IndexFooter {
    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(MAGIC);
        for number in [LAYOUT, self.kind, self.maker, self.units] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(self.cache_version.raw());
        out.extend_from_slice(self.body.raw());
        for place in [
            self.dictionary,
            self.blocks,
            self.facts,
            self.end,
            self.terms,
        ] {
            out.extend_from_slice(&place.to_le_bytes());
        }
        append_checksum(out, start, self.cache_version.seed(), self.end);
    }

    fn read(bytes: &[u8], end: u64) -> Result<IndexFooter, CorruptFile> {
        let mut reading = ByteReader(bytes);
        let magic: [u8; 8] = reading.array()?;
        let layout = reading.u32()?;
        if &magic != MAGIC || layout != LAYOUT {
            return Err(CorruptFile);
        }
        let footer = IndexFooter {
            kind: reading.u32()?,
            maker: reading.u32()?,
            units: reading.u32()?,
            cache_version: Digest::from_raw(reading.array()?),
            body: Digest::from_raw(reading.array()?),
            dictionary: reading.u64()?,
            blocks: reading.u64()?,
            facts: reading.u64()?,
            end: reading.u64()?,
            terms: reading.u64()?,
        };
        verify_checksum(bytes, footer.cache_version.seed(), end)?;
        let ordered = footer.dictionary <= footer.blocks
            && footer.blocks <= footer.facts
            && footer.facts <= footer.end
            && footer.end == end;
        if ordered {
            Ok(footer)
        } else {
            Err(CorruptFile)
        }
    }
}

/// Appends one posting: the step from the previous unit, and the count if it is not one.
fn put_posting(out: &mut Vec<u8>, step: u32, count: u32) {
    put_varint(out, u64::from(step) << 1 | u64::from(count != 1));
    if count != 1 {
        put_varint(out, u64::from(count));
    }
}

/// Visits the postings of a list; every unit must exist.
fn each_posting(
    list: &[u8],
    units: u32,
    mut visit: impl FnMut(u32, u32),
) -> Result<u32, CorruptFile> {
    let mut rest = ByteReader(list);
    let (mut next, mut found) = (0u64, 0);
    while !rest.is_empty() {
        let (head, count) = match short_posting(rest.0) {
            Some((head, count, after)) => {
                rest.0 = after;
                (head, count)
            }
            None => long_posting(&mut rest)?,
        };
        let unit = next + (head >> 1);
        if unit >= u64::from(units) {
            return Err(CorruptFile);
        }
        visit(unit as u32, count);
        next = unit + 1;
        found += 1;
    }
    Ok(found)
}

/// Returns a posting whose step and count have one byte each, as nearly all have. It avoids a branch on
/// the presence of a count, which is unpredictable.
#[inline]
fn short_posting(list: &[u8]) -> Option<(u64, u32, &[u8])> {
    let (&[head, count], _) = list.split_first_chunk::<2>()?;
    let counted = head & 1;
    let count = if counted == 1 { count } else { 1 };
    let short = head < 0x80 && (1..0x80).contains(&count);
    let after = list.get(1 + usize::from(counted)..)?;
    short.then_some((u64::from(head), u32::from(count), after))
}

fn long_posting(rest: &mut ByteReader<'_>) -> Result<(u64, u32), CorruptFile> {
    let head = rest.varint()?;
    let count = match head & 1 {
        0 => 1,
        _ => match rest.varint()? {
            0 => return Err(CorruptFile),
            count => u32::try_from(count).map_err(|_| CorruptFile)?,
        },
    };
    Ok((head, count))
}
