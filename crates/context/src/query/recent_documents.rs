//! The documents that were read recently, up to a limit of memory. A document whose file is unchanged
//! need not be read again.

use crate::format::document::Document;
use crate::parallel::lock;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};

/// The most bytes of recent documents of one cache.
pub const MAX_RECENT: usize = 2 * 1024 * 1024;

/// The documents that were used last, in two generations: when the young ones take half of the memory,
/// they become the old ones, and the previous old ones are dropped.
#[derive(Debug, Default)]
pub(crate) struct RecentDocuments(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<u32, Arc<Document>, FixedState>,
    old: HashMap<u32, Arc<Document>, FixedState>,
    /// The bytes of the young documents.
    size: usize,
}

impl RecentDocuments {
    pub(crate) fn get(&self, number: u32) -> Option<Arc<Document>> {
        let mut ages = lock(&self.0);
        if let Some(document) = ages.young.get(&number) {
            return Some(Arc::clone(document));
        }
        let document = ages.old.remove(&number)?;
        ages.keep(number, &document);
        Some(document)
    }

    pub(crate) fn keep(&self, number: u32, document: &Arc<Document>) {
        lock(&self.0).keep(number, document);
    }
}

impl Generations {
    fn keep(&mut self, number: u32, document: &Arc<Document>) {
        let size = size_of(document);
        if size > MAX_RECENT / 2 {
            return;
        }
        if self.size + size > MAX_RECENT / 2 {
            self.old = std::mem::take(&mut self.young);
            self.size = 0;
        }
        if self.young.insert(number, Arc::clone(document)).is_none() {
            self.size += size;
        }
    }
}

/// Returns an estimate of the memory of a document with its table entry.
fn size_of(document: &Document) -> usize {
    document.content.capacity() + document.id.capacity() + document.source.capacity() + 256
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;

    fn document(content: String) -> Arc<Document> {
        Arc::new(Document {
            id: String::from("a.md"),
            version: Digest::of(content.as_bytes()),
            source: String::from("a.md"),
            content,
        })
    }

    fn total_bytes(recent: &RecentDocuments) -> usize {
        let ages = lock(&recent.0);
        let all = ages.young.values().chain(ages.old.values());
        all.map(|one| size_of(one)).sum()
    }

    #[test]
    fn recent_documents_stay_within_their_limit() {
        let recent = RecentDocuments::default();
        for number in 0..10_000 {
            recent.keep(number, &document("x".repeat(1000)));
            assert!(recent.get(number).is_some());
            // A document that is used again and again stays.
            assert!(recent.get(0).is_some());
            assert!(total_bytes(&recent) <= MAX_RECENT);
        }
        assert!(total_bytes(&recent) > MAX_RECENT / 3);
        assert!(recent.get(1).is_none());
        recent.keep(1, &document("x".repeat(MAX_RECENT)));
        assert!(recent.get(1).is_none());
    }
}
