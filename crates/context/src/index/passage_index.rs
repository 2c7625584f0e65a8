//! The index of passages: their terms, their lengths and their documents.

use crate::format::codec::{ByteReader, CorruptFile, put_varint};
use crate::format::digest::Digest;
use crate::index::inverted::{IndexKind, InvertedIndex, TermShard};
use crate::passages::{
    Analyser, NumberedTerm, PassageFacts, PassageLists, SearchOutcome, Syntax, VERSION,
    document_terms, search,
};
use crate::tokenizer::Tokenizer;
use std::fs::File;
use std::ops::Range;

/// The file of the index of passages in a cache.
pub(crate) const PASSAGES_FILE: &str = "passages.idx";

/// Gathers the terms and facts of passages.
pub(crate) struct PassageGatherer {
    pub(crate) shard: TermShard,
    /// The documents that were added, with the facts of their passages.
    pub(crate) facts: Vec<(u32, Vec<PassageFacts>)>,
    tokenizer: Tokenizer,
    analyser: Analyser,
    slots: TermSlots,
}

/// The slots in a shard of the terms of an analyser, by their numbers.
#[derive(Default)]
struct TermSlots {
    known: Vec<Option<u32>>,
    /// The number of times that the analyser had forgotten everything when the slots were found.
    forgotten: u64,
}

impl TermSlots {
    /// Forgets the slots if the analyser has forgotten its terms.
    fn follow(&mut self, analyser: &Analyser) {
        if self.forgotten != analyser.forgotten() {
            self.forgotten = analyser.forgotten();
            self.known.clear();
        }
    }

    fn of(&mut self, term: NumberedTerm<'_>, shard: &mut TermShard) -> u32 {
        let number = term.number as usize;
        if number >= self.known.len() {
            self.known.resize(number + 1, None);
        }
        let slot = || shard.slot(term.text.as_bytes());
        *self.known[number].get_or_insert_with(slot)
    }
}

impl PassageGatherer {
    pub(crate) fn new(tokenizer: Tokenizer) -> PassageGatherer {
        PassageGatherer {
            tokenizer,
            shard: TermShard::default(),
            facts: Vec::new(),
            analyser: Analyser::new(),
            slots: TermSlots::default(),
        }
    }

    pub(crate) fn add(&mut self, number: u32, id: &str, content: &str) {
        self.analyser.forget_if_full();
        self.slots.follow(&self.analyser);
        let (shard, slots) = (&mut self.shard, &mut self.slots);
        let (syntax, tokenizer) = (Syntax::of(id), self.tokenizer);
        let facts = document_terms(
            content,
            syntax,
            tokenizer,
            &mut self.analyser,
            |ordinal, term, count| {
                let slot = slots.of(term, shard);
                shard.add(slot, key(number, ordinal), count);
            },
        );
        self.facts.push((number, facts));
    }
}

/// Returns the key of a passage. Passages are numbered when all of them are known.
fn key(document: u32, ordinal: u32) -> u64 {
    u64::from(document) << 32 | u64::from(ordinal)
}

/// The number of the first passage of each document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassageNumbering(Vec<u32>);

impl PassageNumbering {
    /// Takes the number of passages of each document.
    pub(crate) fn new(
        counts: impl Iterator<Item = usize>,
    ) -> Result<PassageNumbering, CorruptFile> {
        let mut begins = vec![0];
        let mut next = 0u32;
        for count in counts {
            let count = u32::try_from(count).map_err(|_| CorruptFile)?;
            next = next.checked_add(count).ok_or(CorruptFile)?;
            begins.push(next);
        }
        Ok(PassageNumbering(begins))
    }

    pub(crate) fn passages(&self) -> u32 {
        self.0.last().copied().unwrap_or(0)
    }

    fn of(&self, document: u32, ordinal: u32) -> Option<u32> {
        let begin = self.0.get(document as usize)?;
        let end = self.0.get(document as usize + 1)?;
        let number = begin.checked_add(ordinal)?;
        (number < *end).then_some(number)
    }

    /// Returns the number of the passage with this key.
    pub(crate) fn of_key(&self, key: u64) -> Option<u32> {
        self.of((key >> 32) as u32, key as u32)
    }

    /// Returns the document of a passage, and its index there.
    pub(crate) fn locate(&self, passage: u32) -> (u32, u32) {
        let document = self.0.partition_point(|begin| *begin <= passage) - 1;
        (document as u32, passage - self.0[document])
    }

    fn documents(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the numbers of the passages of a document.
    fn passages_of(&self, document: u32) -> Range<usize> {
        let begin = |document: usize| self.0.get(document).map_or(0, |begin| *begin as usize);
        begin(document as usize)..begin(document as usize + 1)
    }

    /// Maps passages to another numbering, in which documents have the numbers `documents`.
    pub(crate) fn renumbered(
        &self,
        documents: &[Option<u32>],
        to: &PassageNumbering,
    ) -> Vec<Option<u32>> {
        let renumber = |passage| {
            let (document, ordinal) = self.locate(passage);
            let document = documents.get(document as usize).copied().flatten()?;
            to.of(document, ordinal)
        };
        (0..self.passages()).map(renumber).collect()
    }
}

/// Encodes the facts of all passages. The version and the tokenizer are first, so that the digest of the index depends on
/// them.
pub(crate) fn write_facts(tokenizer: Tokenizer, facts: &[Vec<PassageFacts>]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, VERSION.into());
    put_varint(&mut out, tokenizer.number());
    for passages in facts {
        put_varint(&mut out, passages.len() as u64);
        for one in passages {
            put_varint(&mut out, one.tokens.into());
            put_varint(&mut out, one.length.into());
        }
    }
    out
}

fn read_tokenizer(reading: &mut ByteReader<'_>) -> Result<Tokenizer, CorruptFile> {
    if reading.varint()? != u64::from(VERSION) {
        return Err(CorruptFile);
    }
    Tokenizer::numbered(reading.varint()?).ok_or(CorruptFile)
}

pub(crate) fn read_facts(bytes: &[u8]) -> Result<(Tokenizer, Vec<Vec<PassageFacts>>), CorruptFile> {
    let mut reading = ByteReader(bytes);
    let tokenizer = read_tokenizer(&mut reading)?;
    let mut all = Vec::new();
    while !reading.is_empty() {
        let count = usize::try_from(reading.varint()?).map_err(|_| CorruptFile)?;
        if count > reading.0.len() {
            return Err(CorruptFile);
        }
        let narrow = |number| u32::try_from(number).map_err(|_| CorruptFile);
        let mut passages = Vec::with_capacity(count);
        for _ in 0..count {
            passages.push(PassageFacts {
                tokens: narrow(reading.varint()?)?,
                length: narrow(reading.varint()?)?,
            });
        }
        all.push(passages);
    }
    Ok((tokenizer, all))
}

/// An open index of passages.
#[derive(Debug)]
pub(crate) struct PassageIndex {
    terms: InvertedIndex,
    tokenizer: Tokenizer,
    numbering: PassageNumbering,
    facts: Vec<PassageFacts>,
    total_length: u64,
}

impl PassageIndex {
    /// Opens the index of a cache with this number of documents.
    pub(crate) fn open(
        file: File,
        cache_version: Digest,
        documents: usize,
    ) -> Result<PassageIndex, CorruptFile> {
        let terms = InvertedIndex::open(file, IndexKind::Passages, VERSION, cache_version)?;
        let (tokenizer, facts) = read_facts(terms.facts())?;
        let numbering = PassageNumbering::new(facts.iter().map(Vec::len))?;
        if numbering.documents() != documents || numbering.passages() != terms.units() {
            return Err(CorruptFile);
        }
        let facts = facts.concat();
        Ok(PassageIndex {
            total_length: facts.iter().map(|one| u64::from(one.length)).sum(),
            terms,
            tokenizer,
            numbering,
            facts,
        })
    }

    /// Returns the tokenizer of an index of any cache.
    pub(crate) fn stored_tokenizer(file: File) -> Result<Tokenizer, CorruptFile> {
        let facts = InvertedIndex::facts_of(&file, IndexKind::Passages, VERSION)?;
        read_tokenizer(&mut ByteReader(&facts))
    }

    pub(crate) fn terms(&self) -> &InvertedIndex {
        &self.terms
    }

    /// Returns the tokenizer that has counted its passages.
    pub(crate) fn tokenizer(&self) -> Tokenizer {
        self.tokenizer
    }

    /// Returns the tokens of the passages of a document.
    pub(crate) fn document_tokens(&self, document: u32) -> u64 {
        let passages = self.numbering.passages_of(document);
        let facts = self.facts.get(passages).unwrap_or_default();
        facts.iter().map(|one| u64::from(one.tokens)).sum()
    }

    pub(crate) fn numbering(&self) -> &PassageNumbering {
        &self.numbering
    }

    /// Finds the best matches of a query within a budget.
    pub(crate) fn search(&self, query: &str, budget: u64) -> Result<SearchOutcome, CorruptFile> {
        search(self, query, budget)
    }
}

impl PassageLists for PassageIndex {
    type Error = CorruptFile;

    fn passages(&self) -> u32 {
        self.terms.units()
    }

    fn total_length(&self) -> u64 {
        self.total_length
    }

    fn length(&self, passage: u32) -> u32 {
        self.facts[passage as usize].length
    }

    fn tokens(&self, passage: u32) -> u32 {
        self.facts[passage as usize].tokens
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<u32, CorruptFile> {
        self.terms.postings(term.as_bytes(), visit)
    }
}
