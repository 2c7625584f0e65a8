//! Objects that were read before, by repository and id.
//!
//! An id names the same bytes for ever, so an entry is never wrong. The memory is bounded: entries are kept
//! in two generations, and when the younger one is full, the older one is dropped.

use super::ref_cache::RefCache;
use super::tree_entries::TreeEntries;
use crate::TreeItem;
use git2::Oid;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum memory of all cached objects of a forge.
pub const MAX_CACHED_BYTES: usize = 32 << 20;

/// The maximum memory of one cached object.
pub const MAX_CACHED_OBJECT: usize = 1 << 20;

/// The memory of an entry beside its object.
const ENTRY_BYTES: usize = 160;

/// A cached fact about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CachedFact {
    /// The tree of a commit.
    Tree,
    /// The content of a blob.
    Content,
    /// The entries of a tree.
    Entries,
    /// The sizes of the blobs of a tree, in the order of its entries.
    Sizes,
    /// The number of entries of a tree and all trees below it.
    Total,
    /// The entries of a tree and all trees below it.
    Listing,
}

/// A value of the cache.
#[derive(Debug, Clone)]
pub(super) enum CachedValue {
    Tree(Oid),
    Content(Arc<[u8]>),
    Entries(Arc<TreeEntries>),
    Sizes(Arc<[u64]>),
    Total(u64),
    Listing(Arc<[TreeItem]>),
}

impl CachedValue {
    fn memory(&self) -> usize {
        ENTRY_BYTES
            + match self {
                CachedValue::Content(bytes) => bytes.len(),
                CachedValue::Entries(entries) => entries.memory(),
                CachedValue::Sizes(sizes) => size_of_val(&**sizes),
                CachedValue::Listing(items) => items.iter().map(item_memory).sum(),
                CachedValue::Tree(_) | CachedValue::Total(_) => 0,
            }
    }
}

fn item_memory(item: &TreeItem) -> usize {
    size_of::<TreeItem>() + item.path.capacity() + item.mode.capacity()
}

/// The number of an opened repository directory, an object in it, and a fact about the object.
type CacheKey = (u64, Oid, CachedFact);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<CacheKey, CachedValue>,
    old: HashMap<CacheKey, CachedValue>,
    /// The memory of the younger generation.
    bytes: usize,
}

/// The cached objects of all repositories of a forge.
#[derive(Debug, Default)]
pub(super) struct ObjectCache(Mutex<Generations>);

/// The cached objects and refs of one repository.
#[derive(Debug, Clone)]
pub(super) struct RepositoryObjects {
    pub(super) cache: Arc<ObjectCache>,
    pub(super) repository: u64,
    pub(super) refs: Arc<RefCache>,
}

impl RepositoryObjects {
    pub(super) fn get(&self, id: Oid, fact: CachedFact) -> Option<CachedValue> {
        let mut cache = self.cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.repository, id, fact);
        if let Some(value) = cache.young.get(&key) {
            return Some(value.clone());
        }
        let value = cache.old.remove(&key)?;
        cache.insert(key, value.clone());
        Some(value)
    }

    /// Keeps a value, unless it is too large.
    pub(super) fn put(&self, id: Oid, fact: CachedFact, value: CachedValue) {
        if value.memory() <= MAX_CACHED_OBJECT {
            let mut cache = self.cache.0.lock().unwrap_or_else(PoisonError::into_inner);
            cache.insert((self.repository, id, fact), value);
        }
    }
}

impl Generations {
    fn insert(&mut self, key: CacheKey, value: CachedValue) {
        let memory = value.memory();
        if self.bytes + memory > MAX_CACHED_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        if let Some(before) = self.young.insert(key, value) {
            self.bytes -= before.memory();
        }
        self.bytes += memory;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> Oid {
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Oid::from_bytes(&bytes).unwrap()
    }

    fn content(length: usize) -> CachedValue {
        CachedValue::Content(vec![0; length].into())
    }

    #[test]
    fn cache_is_bounded_and_keeps_what_is_used() {
        let objects = RepositoryObjects {
            cache: Arc::default(),
            repository: 1,
            refs: Arc::default(),
        };
        for number in 0..1000 {
            objects.put(id(number), CachedFact::Content, content(100_000));
            assert!(
                objects.get(id(0), CachedFact::Content).is_some(),
                "{number}"
            );
        }
        let cache = objects.cache.0.lock().unwrap();
        let all = cache.young.values().chain(cache.old.values());
        let bytes: usize = all.map(CachedValue::memory).sum();
        assert!(bytes <= MAX_CACHED_BYTES, "{bytes}");
        assert!(cache.young.len() < 200);
    }

    #[test]
    fn other_repositories_and_large_objects_are_not_found() {
        let cache = Arc::new(ObjectCache::default());
        let of = |repository| RepositoryObjects {
            cache: Arc::clone(&cache),
            repository,
            refs: Arc::default(),
        };
        of(1).put(id(1), CachedFact::Content, content(10));
        of(1).put(id(2), CachedFact::Content, content(MAX_CACHED_OBJECT));
        assert!(of(1).get(id(1), CachedFact::Content).is_some());
        assert!(of(1).get(id(2), CachedFact::Content).is_none());
        assert!(of(1).get(id(1), CachedFact::Entries).is_none());
        assert!(of(2).get(id(1), CachedFact::Content).is_none());
    }
}
