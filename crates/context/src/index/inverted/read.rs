//! Reads an index by offset. Nothing in the file is trusted: inconsistent data is an error, never a
//! panic, and never takes more memory than the file has bytes.

use super::{FOOTER, IndexFooter, IndexKind, TermSource, TouchedTerms, each_posting};
use crate::format::codec::{ByteReader, CorruptFile, verify_checksum};
use crate::format::digest::Digest;
use std::collections::btree_set;
use std::fs::File;
use std::iter::Peekable;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The most bytes of one part that is kept in memory, and of one list.
const MAX_PART: u64 = 2 * 1024 * 1024 * 1024;

/// An open index.
#[derive(Debug)]
pub(crate) struct InvertedIndex {
    file: File,
    footer: IndexFooter,
    seed: u64,
    /// The bytes of the list of blocks. First terms are ranges of them.
    text: Vec<u8>,
    blocks: Vec<DictionaryBlock>,
    facts: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct DictionaryBlock {
    first: (u32, u32),
    start: u64,
    end: u64,
}

/// One entry of the dictionary. Its list is not read yet.
struct DictionaryEntry<'b> {
    units: u64,
    list: ListLocation<'b>,
}

enum ListLocation<'b> {
    Inline(&'b [u8]),
    At { offset: u64, length: u64 },
}

fn read_at(file: &File, from: u64, to: u64) -> Result<Vec<u8>, CorruptFile> {
    let length = to.checked_sub(from).ok_or(CorruptFile)?;
    if length > MAX_PART {
        return Err(CorruptFile);
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, from)
        .map_err(|_| CorruptFile)?;
    Ok(bytes)
}

impl InvertedIndex {
    /// Opens the index of this cache. An index of another cache or version is an error.
    pub(crate) fn open(
        file: File,
        kind: IndexKind,
        maker: u32,
        cache_version: Digest,
    ) -> Result<InvertedIndex, CorruptFile> {
        let length = file.metadata().map_err(|_| CorruptFile)?.len();
        let end = length.checked_sub(FOOTER as u64).ok_or(CorruptFile)?;
        let footer = IndexFooter::read(&read_at(&file, end, length)?, end)?;
        let ours = footer.kind == kind as u32
            && footer.maker == maker
            && footer.cache_version == cache_version;
        if !ours {
            return Err(CorruptFile);
        }
        let seed = cache_version.seed();
        let mut text = read_at(&file, footer.blocks, footer.facts)?;
        let body = verify_checksum(&text, seed, footer.blocks)?.len();
        text.truncate(body);
        let mut facts = read_at(&file, footer.facts, footer.end)?;
        let body = verify_checksum(&facts, seed, footer.facts)?.len();
        facts.truncate(body);
        let blocks = blocks(&text, footer.blocks - footer.dictionary)?;
        Ok(InvertedIndex {
            file,
            footer,
            seed,
            text,
            blocks,
            facts,
        })
    }

    /// Returns the facts of an index of any cache.
    pub(crate) fn facts_of(
        file: &File,
        kind: IndexKind,
        maker: u32,
    ) -> Result<Vec<u8>, CorruptFile> {
        let length = file.metadata().map_err(|_| CorruptFile)?.len();
        let end = length.checked_sub(FOOTER as u64).ok_or(CorruptFile)?;
        let footer = IndexFooter::read(&read_at(file, end, length)?, end)?;
        if footer.kind != kind as u32 || footer.maker != maker {
            return Err(CorruptFile);
        }
        let mut facts = read_at(file, footer.facts, footer.end)?;
        let body = verify_checksum(&facts, footer.cache_version.seed(), footer.facts)?.len();
        facts.truncate(body);
        Ok(facts)
    }

    pub(crate) fn units(&self) -> u32 {
        self.footer.units
    }

    /// Returns the digest of everything in the file.
    pub(crate) fn digest(&self) -> Digest {
        self.footer.body
    }

    /// Returns the facts that the caller of the writer has added.
    pub(crate) fn facts(&self) -> &[u8] {
        &self.facts
    }

    fn first(&self, block: &DictionaryBlock) -> &[u8] {
        let (start, end) = block.first;
        &self.text[start as usize..end as usize]
    }

    fn block(&self, block: &DictionaryBlock) -> Result<Vec<u8>, CorruptFile> {
        let base = self.footer.dictionary;
        let mut bytes = read_at(&self.file, base + block.start, base + block.end)?;
        let body = verify_checksum(&bytes, self.seed, block.start)?.len();
        bytes.truncate(body);
        Ok(bytes)
    }

    /// Visits the postings of a term with ascending units. Returns their number.
    pub(crate) fn postings(
        &self,
        term: &[u8],
        visit: impl FnMut(u32, u32),
    ) -> Result<u32, CorruptFile> {
        let after = self
            .blocks
            .partition_point(|block| self.first(block) <= term);
        let Some(block) = after.checked_sub(1).and_then(|at| self.blocks.get(at)) else {
            return Ok(0);
        };
        let bytes = self.block(block)?;
        match find(&bytes, term)? {
            None => Ok(0),
            Some(ListLocation::Inline(list)) => each_posting(list, self.footer.units, visit),
            Some(ListLocation::At { offset, length }) => {
                let list = self.list(offset, length)?;
                each_posting(&list, self.footer.units, visit)
            }
        }
    }

    fn list(&self, offset: u64, length: u64) -> Result<Vec<u8>, CorruptFile> {
        let mut bytes = read_at(&self.file, offset, self.list_end(offset, length)?)?;
        let body = verify_checksum(&bytes, self.seed, offset)?.len();
        bytes.truncate(body);
        Ok(bytes)
    }

    /// Returns the end of a list with its checksum.
    fn list_end(&self, offset: u64, length: u64) -> Result<u64, CorruptFile> {
        let end = offset
            .checked_add(length)
            .and_then(|end| end.checked_add(8));
        end.filter(|end| *end <= self.footer.dictionary)
            .ok_or(CorruptFile)
    }

    /// Returns all terms in order.
    ///
    /// If every reused unit keeps its number, `touched` contains the terms of the units that are not
    /// reused. The lists of all other terms are then written unchanged.
    pub(crate) fn stream<'i>(
        &'i self,
        touched: Option<&'i TouchedTerms>,
    ) -> Result<TermStream<'i>, CorruptFile> {
        let mut stream = TermStream {
            touched: touched.map(|terms| terms.iter().peekable()),
            is_touched: false,
            units: 0,
            index: self,
            block: 0,
            bytes: Vec::new(),
            at: 0,
            term: None,
            list: Vec::new(),
            lists: FileWindow::default(),
            dictionary: FileWindow::default(),
        };
        stream.advance()?;
        Ok(stream)
    }
}

/// Returns the blocks, in order of their first terms, without gaps.
fn blocks(text: &[u8], length: u64) -> Result<Vec<DictionaryBlock>, CorruptFile> {
    let mut blocks: Vec<DictionaryBlock> = Vec::new();
    let mut reading = ByteReader(text);
    while !reading.is_empty() {
        let first = reading.bytes()?;
        let end = text.len() - reading.0.len();
        let range = (end - first.len(), end);
        let start = reading.varint()?;
        if let Some(before) = blocks.last_mut() {
            before.end = start;
        }
        let narrow = |place| u32::try_from(place).map_err(|_| CorruptFile);
        blocks.push(DictionaryBlock {
            first: (narrow(range.0)?, narrow(range.1)?),
            start,
            end: length,
        });
    }
    let first = blocks.first().is_none_or(|block| block.start == 0);
    let ordered = blocks
        .iter()
        .all(|block| block.start < block.end && block.end <= length);
    if first && ordered {
        Ok(blocks)
    } else {
        Err(CorruptFile)
    }
}

/// Reads one entry. Its term is decoded into `term`.
fn entry<'b>(
    reading: &mut ByteReader<'b>,
    term: &mut Vec<u8>,
) -> Result<DictionaryEntry<'b>, CorruptFile> {
    let shared = usize::try_from(reading.varint()?).map_err(|_| CorruptFile)?;
    if shared > term.len() {
        return Err(CorruptFile);
    }
    term.truncate(shared);
    term.extend_from_slice(reading.bytes()?);
    let units = reading.varint()?;
    let head = reading.varint()?;
    let length = head >> 1;
    let list = match head & 1 {
        1 => ListLocation::Inline(reading.take(usize::try_from(length).map_err(|_| CorruptFile)?)?),
        _ => ListLocation::At {
            offset: reading.varint()?,
            length,
        },
    };
    Ok(DictionaryEntry { units, list })
}

fn find<'b>(block: &'b [u8], searched: &[u8]) -> Result<Option<ListLocation<'b>>, CorruptFile> {
    let mut reading = ByteReader(block);
    let mut term = Vec::new();
    while !reading.is_empty() {
        let list = entry(&mut reading, &mut term)?.list;
        match term.as_slice().cmp(searched) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => return Ok(Some(list)),
            std::cmp::Ordering::Greater => return Ok(None),
        }
    }
    Ok(None)
}

/// All terms of an open index in order.
pub(crate) struct TermStream<'i> {
    index: &'i InvertedIndex,
    /// The terms from the current one on whose lists change, if the lists of all others are unchanged.
    touched: Option<Peekable<btree_set::Iter<'i, Vec<u8>>>>,
    is_touched: bool,
    units: u64,
    block: usize,
    bytes: Vec<u8>,
    at: usize,
    term: Option<Vec<u8>>,
    list: Vec<u8>,
    lists: FileWindow,
    dictionary: FileWindow,
}

/// The number of bytes that are read together.
const WINDOW: u64 = 1 << 20;

/// A window into a part of the file that is read in its order.
#[derive(Default)]
struct FileWindow {
    start: u64,
    bytes: Vec<u8>,
}

impl FileWindow {
    /// Returns the bytes of a range. What is behind it is read too, up to the end of the part.
    fn range(
        &mut self,
        file: &File,
        range: Range<u64>,
        end_of_part: u64,
    ) -> Result<&[u8], CorruptFile> {
        if range.start < self.start || range.end > self.start + self.bytes.len() as u64 {
            let to = range.start.saturating_add(WINDOW).min(end_of_part);
            self.bytes = read_at(file, range.start, to.max(range.end))?;
            self.start = range.start;
        }
        let from = (range.start - self.start) as usize;
        let to = (range.end - self.start) as usize;
        self.bytes.get(from..to).ok_or(CorruptFile)
    }
}

impl TermSource for TermStream<'_> {
    fn term(&self) -> Option<&[u8]> {
        self.term.as_deref()
    }

    fn written(&self) -> Option<(&[u8], u64)> {
        let is_unchanged = self.touched.is_some() && self.term.is_some() && !self.is_touched;
        is_unchanged.then_some((&self.list, self.units))
    }

    fn append(&mut self, to: &mut Vec<(u64, u32)>) -> Result<(), CorruptFile> {
        let units = self.index.footer.units;
        each_posting(&self.list, units, |unit, count| {
            to.push((unit.into(), count))
        })?;
        Ok(())
    }

    fn advance(&mut self) -> Result<(), CorruptFile> {
        let mut term = self.term.take().unwrap_or_default();
        if self.at == self.bytes.len() {
            let Some(block) = self.index.blocks.get(self.block) else {
                return Ok(());
            };
            let (base, end) = (self.index.footer.dictionary, self.index.footer.blocks);
            let range = base + block.start..base + block.end;
            let bytes = self.dictionary.range(&self.index.file, range, end)?;
            let bytes = verify_checksum(bytes, self.index.seed, block.start)?;
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.block += 1;
            self.at = 0;
            term.clear();
        }
        let mut reading = ByteReader(&self.bytes[self.at..]);
        let entry = entry(&mut reading, &mut term)?;
        self.units = entry.units;
        let mut at = None;
        self.list.clear();
        match entry.list {
            ListLocation::Inline(list) => self.list.extend_from_slice(list),
            ListLocation::At { offset, length } => at = Some((offset, length)),
        }
        self.at = self.bytes.len() - reading.0.len();
        if let Some((offset, length)) = at {
            let range = offset..self.index.list_end(offset, length)?;
            let end = self.index.footer.dictionary;
            let bytes = self.lists.range(&self.index.file, range, end)?;
            let list = verify_checksum(bytes, self.index.seed, offset)?;
            self.list.extend_from_slice(list);
        }
        if let Some(touched) = &mut self.touched {
            while touched.next_if(|next| **next < term).is_some() {}
            self.is_touched = touched.peek().is_some_and(|next| **next == term);
        }
        self.term = Some(term);
        Ok(())
    }
}
