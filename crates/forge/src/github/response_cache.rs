//! A cache of responses with ETags, bounded in number and bytes. The least recently used are dropped.
//! A request with an ETag does not count for the rate limit if the response is unchanged.

use super::limits::{MAX_CACHED_BYTES, MAX_CACHED_RESPONSE_BYTES, MAX_CACHED_RESPONSES};
use candor_http_client::Bytes;
use candor_http_client::header::HeaderValue;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// A response with its ETag.
#[derive(Debug, Clone)]
pub(super) struct CachedResponse {
    pub(super) etag: HeaderValue,
    pub(super) body: Bytes,
    pub(super) more: bool,
}

/// Responses by request.
#[derive(Debug, Default)]
pub(super) struct ResponseCache(Mutex<CacheEntries>);

#[derive(Debug, Default)]
struct CacheEntries {
    answers: HashMap<String, (u64, CachedResponse)>,
    /// Keys by last use, the oldest first.
    used: BTreeMap<u64, String>,
    uses: u64,
    bytes: usize,
}

impl ResponseCache {
    pub(super) fn find(&self, key: &str) -> Option<CachedResponse> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .find(key)
    }

    pub(super) fn keep(&self, key: String, cached: CachedResponse) {
        if cached.body.len() <= MAX_CACHED_RESPONSE_BYTES {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .keep(key, cached);
        }
    }
}

impl CacheEntries {
    fn find(&mut self, key: &str) -> Option<CachedResponse> {
        let (used, cached) = self.answers.get_mut(key)?;
        let cached = cached.clone();
        self.uses += 1;
        let before = std::mem::replace(used, self.uses);
        self.used.remove(&before);
        self.used.insert(self.uses, key.to_owned());
        Some(cached)
    }

    fn keep(&mut self, key: String, cached: CachedResponse) {
        self.forget(&key);
        self.uses += 1;
        self.bytes += weight(&key, &cached);
        self.used.insert(self.uses, key.clone());
        self.answers.insert(key, (self.uses, cached));
        while self.answers.len() > MAX_CACHED_RESPONSES || self.bytes > MAX_CACHED_BYTES {
            let Some((_, oldest)) = self.used.pop_first() else {
                break;
            };
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, key: &str) {
        if let Some((used, cached)) = self.answers.remove(key) {
            self.used.remove(&used);
            self.bytes -= weight(key, &cached);
        }
    }
}

/// Returns the size of an entry. The key is stored twice.
fn weight(key: &str, cached: &CachedResponse) -> usize {
    2 * key.len() + cached.etag.len() + cached.body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(bytes: usize) -> CachedResponse {
        CachedResponse {
            etag: HeaderValue::from_static("\"a\""),
            body: Bytes::from(vec![b'x'; bytes]),
            more: false,
        }
    }

    fn shelf(remembered: &ResponseCache) -> (usize, usize, usize) {
        let shelf = remembered.0.lock().unwrap();
        (shelf.answers.len(), shelf.used.len(), shelf.bytes)
    }

    #[test]
    fn least_used_goes_first() {
        let remembered = ResponseCache::default();
        for number in 0..MAX_CACHED_RESPONSES {
            remembered.keep(number.to_string(), cached(1));
        }
        assert!(remembered.find("0").is_some());
        remembered.keep("one more".to_owned(), cached(1));
        assert!(remembered.find("0").is_some());
        assert!(remembered.find("1").is_none());
        assert_eq!(shelf(&remembered).0, MAX_CACHED_RESPONSES);
    }

    #[test]
    fn bytes_are_bounded_in_all_and_in_one() {
        let remembered = ResponseCache::default();
        for number in 0..40 {
            remembered.keep(number.to_string(), cached(MAX_CACHED_RESPONSE_BYTES));
        }
        let (answers, used, bytes) = shelf(&remembered);
        assert_eq!((answers, used), (15, 15));
        assert!(bytes <= MAX_CACHED_BYTES);
        remembered.keep("large".to_owned(), cached(MAX_CACHED_RESPONSE_BYTES + 1));
        assert!(remembered.find("large").is_none());
    }

    #[test]
    fn answer_that_is_kept_again_counts_once() {
        let remembered = ResponseCache::default();
        remembered.keep("a".to_owned(), cached(10));
        remembered.keep("a".to_owned(), cached(20));
        assert_eq!(shelf(&remembered), (1, 1, 2 + 3 + 20));
    }
}
