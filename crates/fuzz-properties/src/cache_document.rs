//! A cache with a changed document file is valid only if it is still the same document.

use super::cache::{CacheFixture, said, two};

thread_local! {
    static CACHE: CacheFixture = CacheFixture::new(&two(), &[FILE]).without_proof();
}

/// The file of the first source; its name is a prefix of the content's digest.
const FILE: &str = "documents/ba9dff486a9e.json";

/// Checks a cache with `bytes` as one of its documents.
///
/// # Panics
///
/// Panics if the cache is accepted although the document is another one.
pub fn cache_document(bytes: &[u8]) {
    CACHE.with(|cache| {
        cache.put(FILE, bytes);
        if cache.is_right()
            && let Some(value) = said(bytes)
        {
            let built = said(cache.built(FILE)).expect("a built file is JSON");
            for member in ["id", "version", "content"] {
                assert_eq!(value[member], built[member]);
            }
            assert!(value["source"].is_string() && value["metadata"].is_object());
        } else {
            assert!(bytes != cache.built(FILE), "the built document is right");
        }
    });
}
