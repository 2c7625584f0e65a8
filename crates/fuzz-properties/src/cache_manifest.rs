//! A cache with a changed `manifest.json` is valid only if its protected content is the same.

use super::cache::{CacheFixture, said, two};
use serde_json::{Value, json};

const FILE: &str = "manifest.json";

thread_local! {
    static CACHE: CacheFixture = CacheFixture::new(&two(), &[FILE]).without_proof();
}

/// Checks a cache with `bytes` as its manifest.
///
/// # Panics
///
/// Panics if the cache is accepted although protected content differs.
pub fn cache_manifest(bytes: &[u8]) {
    CACHE.with(|cache| {
        cache.put(FILE, bytes);
        if cache.is_right()
            && let Some(value) = said(bytes)
        {
            let built = said(cache.built(FILE)).expect("a built file is JSON");
            assert_eq!(protected(&value), protected(&built));
        } else {
            assert!(bytes != cache.built(FILE), "the built manifest is right");
        }
    });
}

/// Returns everything except the time and unknown members.
fn protected(manifest: &Value) -> Value {
    let config = &manifest["build_config"];
    let documents = manifest["documents"].as_array();
    let documents = documents.expect("documents are a list").iter();
    let listed = |one: &Value| json!([one["id"], one["version"], one["file"]]);
    json!({
        "cache_version": manifest["cache_version"],
        "build_config": [config["version"], config["hash_algorithm"]],
        "document_count": manifest["document_count"],
        "documents": documents.map(listed).collect::<Vec<_>>(),
    })
}
