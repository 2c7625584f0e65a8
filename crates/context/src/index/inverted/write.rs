//! Writes an index: sorted terms with their lists, into one file.

use super::{BLOCK, INLINE, IndexFooter, IndexKind};
use crate::format::codec::{CorruptFile, append_checksum, checksum, put_bytes, put_varint};
use crate::format::digest::{Digest, Digester};
use std::io::{self, Write};

/// An index that is being written.
pub(crate) struct IndexWriter<W> {
    out: W,
    written: u64,
    digest: Option<Digester>,
    seed: u64,
    dictionary: Vec<u8>,
    blocks: Vec<u8>,
    block_start: usize,
    last_term: Vec<u8>,
    terms: u64,
}

/// The reason why an index cannot be written.
#[derive(Debug)]
pub(crate) enum IndexWriteError {
    /// An input of the merge is corrupt.
    CorruptFile,
    System(io::Error),
}

impl From<io::Error> for IndexWriteError {
    fn from(error: io::Error) -> Self {
        IndexWriteError::System(error)
    }
}

impl From<CorruptFile> for IndexWriteError {
    fn from(_: CorruptFile) -> Self {
        IndexWriteError::CorruptFile
    }
}

/// The properties of an index beside its terms.
pub(crate) struct IndexHeader<'a> {
    pub(crate) kind: IndexKind,
    pub(crate) maker: u32,
    pub(crate) cache_version: Digest,
    pub(crate) units: u32,
    pub(crate) facts: &'a [u8],
}

impl<W: Write> IndexWriter<W> {
    pub(crate) fn new(out: W, cache_version: Digest, digest: Option<Digester>) -> IndexWriter<W> {
        IndexWriter {
            out,
            written: 0,
            digest,
            seed: cache_version.seed(),
            dictionary: Vec::new(),
            blocks: Vec::new(),
            block_start: 0,
            last_term: Vec::new(),
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

    /// Writes a term with its list. Terms must be sorted.
    pub(crate) fn term(&mut self, term: &[u8], units: u64, encoded: &[u8]) -> io::Result<()> {
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
        if encoded.len() <= INLINE {
            put_varint(&mut self.dictionary, (encoded.len() as u64) << 1 | 1);
            self.dictionary.extend_from_slice(encoded);
        } else {
            put_varint(&mut self.dictionary, (encoded.len() as u64) << 1);
            put_varint(&mut self.dictionary, self.written);
            let sum = checksum(encoded, self.seed, self.written);
            self.put(encoded)?;
            self.put(&sum.to_le_bytes())?;
        }
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
            append_checksum(&mut self.dictionary, start, self.seed, start as u64);
            self.block_start = self.dictionary.len();
        }
    }

    /// Writes dictionary, blocks, facts and footer.
    pub(crate) fn finish(mut self, about: &IndexHeader<'_>) -> io::Result<()> {
        self.close_block();
        let dictionary = self.written;
        let bytes = std::mem::take(&mut self.dictionary);
        self.put(&bytes)?;
        let blocks = self.written;
        let mut bytes = std::mem::take(&mut self.blocks);
        append_checksum(&mut bytes, 0, self.seed, blocks);
        self.put(&bytes)?;
        let facts = self.written;
        let mut bytes = about.facts.to_vec();
        append_checksum(&mut bytes, 0, self.seed, facts);
        self.put(&bytes)?;
        let body = self.digest.take().unwrap_or_default().finish();
        let footer = IndexFooter {
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

/// Returns the length of the common prefix of two terms.
fn common(one: &[u8], other: &[u8]) -> usize {
    let (words, others) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    let mut length = 0;
    for (word, other) in words.iter().zip(others) {
        let differing = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*other);
        if differing != 0 {
            return length + differing.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = one[length..].iter().zip(&other[length..]);
    length + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn common_prefix_is_that_of_a_plain_loop(
            start in "[ab]{0,20}", one in "[ab]{0,20}", other in "[ab]{0,20}",
        ) {
            let (one, other) = (format!("{start}{one}"), format!("{start}{other}"));
            let plain = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(common(one.as_bytes(), other.as_bytes()), plain);
        }
    }
}
