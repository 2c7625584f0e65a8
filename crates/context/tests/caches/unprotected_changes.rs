//! Changes of a cache that the format does not protect against.

use crate::fixture::file_of;
use crate::tampered_cache::{SOURCES, TamperedCache};
use serde_json::json;
use std::fs;

#[test]
fn creation_time_may_change() {
    for at in [
        "2999-01-01T00:00:00Z",
        "1999-12-31T23:59:60.25-11:30",
        "0000-01-01t00:00:00z",
    ] {
        let cache = TamperedCache::new();
        cache.edit("manifest.json", |all| all["created_at"] = json!(at));
        cache.still_answers();
    }
}

#[test]
fn unknown_members_are_ignored() {
    let cache = TamperedCache::new();
    cache.edit("manifest.json", |all| {
        all["more"] = json!({ "a": [1, 2.5, null] });
        all["build_config"]["more"] = json!(true);
        all["documents"][0]["more"] = json!("x");
    });
    let file = file_of(SOURCES[0].1);
    cache.edit(&file, |all| all["more"] = json!([]));
    cache.edit(&file, |all| all["metadata"] = json!({ "n": -1, "t": "u" }));
    cache.edit(&file, |all| all["source"] = json!("elsewhere.md"));
    cache.still_answers();
}

#[test]
fn white_space_and_member_order_may_change() {
    let cache = TamperedCache::new();
    for file in ["manifest.json", "index.json"] {
        let text = cache.text(file);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let backwards: serde_json::Map<_, _> = value
            .as_object()
            .unwrap()
            .clone()
            .into_iter()
            .rev()
            .collect();
        cache.write(file, format!("\n\t {}\r\n", json!(backwards)));
    }
    cache.still_answers();
}

#[test]
fn foreign_files_are_ignored() {
    let cache = TamperedCache::new();
    cache.write("README", "a note");
    fs::create_dir(cache.path("more")).unwrap();
    fs::remove_file(cache.path("accelerator.idx")).unwrap();
    cache.write("accelerator.sig", "broken");
    cache.still_answers();
}

#[test]
fn restored_file_is_valid_again() {
    let cache = TamperedCache::new();
    let file = file_of(SOURCES[3].1);
    let text = cache.text(&file);
    cache.write(&file, "");
    assert_eq!(cache.problems().len(), 1);
    cache.write(&file, text);
    cache.still_answers();
    let manifest = cache.text("manifest.json");
    fs::remove_file(cache.path("manifest.json")).unwrap();
    assert_eq!(cache.problems(), ["manifest.json: missing"]);
    cache.write("manifest.json", manifest);
    cache.still_answers();
}

#[test]
fn valid_cache_is_described_completely() {
    let cache = TamperedCache::new();
    let version = candor_context::Digest::of(
        SOURCES
            .iter()
            .fold(
                String::from(r#"{"version":"1","hash_algorithm":"sha256"}"#),
                |all, (path, content)| {
                    let version = candor_context::Digest::of(content.as_bytes());
                    format!("{all}{}:{version}", path.to_lowercase())
                },
            )
            .as_bytes(),
    );
    let bytes: usize = SOURCES
        .iter()
        .map(|(_, content)| cache.text(&file_of(content)).len())
        .sum();
    assert_eq!(
        cache.inspected().to_string(),
        format!(
            r#"{{"cache_version":"{version}","document_count":4,"total_bytes":{bytes},"valid":true}}"#
        )
    );
    assert_eq!(
        cache.verified().to_string(),
        format!(r#"{{"cache_version":"{version}","document_count":4,"valid":true,"problems":[]}}"#)
    );
}
