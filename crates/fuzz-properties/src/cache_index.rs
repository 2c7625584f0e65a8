//! A cache with a changed `index.json` is valid only if its content is the same.

use super::cache::{CacheFixture, said, two};

const FILE: &str = "index.json";

thread_local! {
    static CACHE: CacheFixture = CacheFixture::new(&two(), &[FILE]).without_proof();
}

/// Checks a cache with `bytes` as its index.
///
/// # Panics
///
/// Panics if the cache is accepted although the index differs.
pub fn cache_index(bytes: &[u8]) {
    CACHE.with(|cache| {
        cache.put(FILE, bytes);
        if cache.is_right() {
            assert_eq!(said(bytes), said(cache.built(FILE)));
        } else {
            assert!(bytes != cache.built(FILE), "the built index is right");
        }
    });
}
