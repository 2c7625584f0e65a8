//! Whatever stands in `manifest.json`: the cache is right only where it says the same as before.

use super::cache::{Cache, said, two};
use serde_json::{Value, json};

const FILE: &str = "manifest.json";

thread_local! {
    static CACHE: Cache = Cache::new(&two(), &[FILE]).without_proof();
}

/// Checks a cache with `bytes` as its manifest.
///
/// # Panics
/// Panics where the cache is taken for right, and what the format protects differs.
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

/// Everything but the time, and members that nobody knows.
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
