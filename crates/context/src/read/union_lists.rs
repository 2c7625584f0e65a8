//! Several indexes of passages as one: counts, document frequencies and lengths are added up before any
//! score is computed.

use crate::format::codec::CorruptFile;
use crate::index::passage_index::PassageIndex;
use crate::passages::PassageLists;
use std::sync::Arc;

/// The indexes of several caches, whose passages are numbered one cache after another.
pub(crate) struct UnionLists<'a> {
    parts: &'a [Arc<PassageIndex>],
    /// The number of the first passage of each cache.
    begins: Vec<u32>,
    passages: u32,
    total_length: u64,
}

impl<'a> UnionLists<'a> {
    /// Returns `None` if there are more passages than can be numbered.
    pub(crate) fn new(parts: &'a [Arc<PassageIndex>]) -> Option<UnionLists<'a>> {
        let mut begins = Vec::with_capacity(parts.len());
        let mut passages = 0u32;
        let mut total_length = 0;
        for part in parts {
            begins.push(passages);
            passages = passages.checked_add(part.passages())?;
            total_length += part.total_length();
        }
        Some(UnionLists {
            parts,
            begins,
            passages,
            total_length,
        })
    }

    /// Returns the cache of a passage, and its number there.
    pub(crate) fn locate(&self, passage: u32) -> (usize, u32) {
        // There are at most sixteen, so a scan is quicker than a binary search.
        let later = self.begins.iter().skip(1);
        let part = later.take_while(|begin| **begin <= passage).count();
        let begin = self.begins.get(part).copied().unwrap_or(0);
        (part, passage - begin)
    }

    fn part(&self, passage: u32) -> (&PassageIndex, u32) {
        let (part, passage) = self.locate(passage);
        (&self.parts[part], passage)
    }
}

impl PassageLists for UnionLists<'_> {
    /// The number of the cache whose index is corrupt.
    type Error = (usize, CorruptFile);

    fn passages(&self) -> u32 {
        self.passages
    }

    fn total_length(&self) -> u64 {
        self.total_length
    }

    fn length(&self, passage: u32) -> u32 {
        let (part, passage) = self.part(passage);
        part.length(passage)
    }

    fn tokens(&self, passage: u32) -> u32 {
        let (part, passage) = self.part(passage);
        part.tokens(passage)
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<u32, Self::Error> {
        let mut holding = 0u32;
        for (at, (part, begin)) in self.parts.iter().zip(&self.begins).enumerate() {
            let mut shifted = |passage: u32, tf| visit(begin + passage, tf);
            let found = part.postings(term, &mut shifted);
            holding = holding.saturating_add(found.map_err(|error| (at, error))?);
        }
        Ok(holding)
    }
}
