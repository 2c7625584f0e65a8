//! Whatever stands in `index.json`: the cache is right only where it says the same as before.

use super::cache::{Cache, said, two};

const FILE: &str = "index.json";

thread_local! {
    static CACHE: Cache = Cache::new(&two(), &[FILE]).without_proof();
}

/// Checks a cache with `bytes` as its index.
///
/// # Panics
/// Panics where the cache is taken for right, and the index says something else.
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
