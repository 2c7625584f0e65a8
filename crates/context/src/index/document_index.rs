//! The index of documents: their words and their sizes.

use crate::format::codec::{ByteReader, CorruptFile};
use crate::format::digest::Digest;
use crate::index::inverted::{IndexKind, InvertedIndex, TermShard};
use crate::index::words::{WordCounter, tokens};
use crate::parallel::lock;
use crate::query::request::{Query, TokenBudget};
use crate::query::selection::{DocumentMatch, DocumentSizes, MatchCounts};
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Mutex;

/// The version of the word rules; v0 is frozen.
pub(crate) const MAKER: u32 = 1;

/// The sizes of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DocumentFacts {
    pub(crate) bytes: u32,
    pub(crate) words: u32,
}

/// The encoded size of the facts of one document.
const FACTS: usize = 8;

/// Adds the words of one document to a shard.
pub(crate) fn gather(
    shard: &mut TermShard,
    counter: &mut WordCounter,
    number: u32,
    content: &str,
) -> DocumentFacts {
    let words = counter.count(content);
    shard.add_all(counter, number.into());
    DocumentFacts {
        bytes: content.len() as u32,
        words: words as u32,
    }
}

pub(crate) fn write_facts(facts: &[DocumentFacts]) -> Vec<u8> {
    let mut out = Vec::with_capacity(facts.len() * FACTS);
    for one in facts {
        out.extend_from_slice(&one.bytes.to_le_bytes());
        out.extend_from_slice(&one.words.to_le_bytes());
    }
    out
}

pub(crate) fn read_facts(bytes: &[u8], documents: u32) -> Result<Vec<DocumentFacts>, CorruptFile> {
    if bytes.len() != documents as usize * FACTS {
        return Err(CorruptFile);
    }
    let mut reading = ByteReader(bytes);
    let mut facts = Vec::with_capacity(documents as usize);
    while !reading.is_empty() {
        let (bytes, words) = (reading.u32()?, reading.u32()?);
        facts.push(DocumentFacts { bytes, words });
    }
    Ok(facts)
}

/// An open index of documents.
#[derive(Debug)]
pub(crate) struct DocumentIndex {
    terms: InvertedIndex,
    sizes: DocumentSizes,
    /// Buffers for counting, reused by later queries.
    idle: Mutex<Vec<MatchCounts>>,
    #[cfg(test)]
    selections: std::sync::atomic::AtomicUsize,
}

impl DocumentIndex {
    pub(crate) fn open(file: File, cache_version: Digest) -> Result<DocumentIndex, CorruptFile> {
        let terms = InvertedIndex::open(file, IndexKind::Documents, MAKER, cache_version)?;
        let facts = read_facts(terms.facts(), terms.units())?;
        let size = |one: &DocumentFacts| tokens(one.bytes.into()) as u32;
        let sizes = DocumentSizes::new(
            facts.iter().map(size).collect(),
            facts.iter().map(|one| one.words).collect(),
        );
        let idle = Mutex::default();
        Ok(DocumentIndex {
            terms,
            sizes,
            idle,
            #[cfg(test)]
            selections: Default::default(),
        })
    }

    /// Returns the number of selections so far.
    #[cfg(test)]
    pub(crate) fn selections(&self) -> usize {
        self.selections.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn terms(&self) -> &InvertedIndex {
        &self.terms
    }

    pub(crate) fn sizes(&self) -> &DocumentSizes {
        &self.sizes
    }

    /// Selects documents for a query.
    pub(crate) fn select(
        &self,
        query: &Query,
        budget: TokenBudget,
    ) -> Result<Vec<DocumentMatch>, CorruptFile> {
        #[cfg(test)]
        self.selections
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let idle = || lock(&self.idle);
        let mut matches = idle().pop().unwrap_or_default();
        matches.clear(self.sizes.documents());
        self.count(query, &mut matches)?;
        let selection = self.sizes.select(&matches, budget.tokens());
        idle().push(matches);
        Ok(selection)
    }

    fn count(&self, query: &Query, matches: &mut MatchCounts) -> Result<(), CorruptFile> {
        let mut terms: BTreeMap<&str, u64> = BTreeMap::new();
        for term in query.terms() {
            *terms.entry(term).or_default() += 1;
        }
        for (term, times) in terms {
            let mut add = matches.begin_list();
            let count = |document, found| add(document, u64::from(found) * times);
            self.terms.postings(term.as_bytes(), count)?;
        }
        Ok(())
    }
}
