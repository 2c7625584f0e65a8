//! A small cache and its responses, made by an independent script from the same sources.

use crate::fixture::{CacheFixture, bytes_of, copy, real, resolve_at};
use candor_context::{Location, MAX_BUDGET, Reader, verify};
use std::fs;
use std::path::PathBuf;

fn golden(inside: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(inside)
}

/// Name, query and budget, as in `make.py`.
const REQUESTS: [(&str, &str, u64); 7] = [
    ("everything", "contract", MAX_BUDGET),
    ("nothing-fits-but-empty", "contract", 0),
    ("tight", "CONTRACT the", 13),
    ("folded", "ΟΔΟΣ straße. same", 30),
    ("twice", "the the words contract", 40),
    ("no-words", " \t", 9),
    ("absent", "nowhere to be found", 20),
];

fn answers(cache: &std::path::Path) {
    for (name, query, budget) in REQUESTS {
        let expected = fs::read_to_string(golden(&format!("answers/{name}.json"))).unwrap();
        let answer = resolve_at(cache, query, budget).unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), expected, "{name}");
    }
}

#[test]
fn build_gives_the_golden_bytes() {
    let fixture = CacheFixture::new();
    copy(&golden("sources"), &fixture.sources());
    fixture.build().unwrap();
    let mut built = bytes_of(&fixture.cache());
    // Other builders write neither the accelerator nor a record.
    built.retain(|name, _| !name.starts_with("accelerator.") && name != "build.json");
    let expected = bytes_of(&golden("cache"));
    let names = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
        files.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&built), names(&expected));
    for (name, bytes) in expected {
        let (built, expected) = (&built[&name], &bytes);
        assert_eq!(
            String::from_utf8_lossy(built),
            String::from_utf8_lossy(expected),
            "{name}"
        );
    }
    answers(&fixture.cache());
}

#[test]
fn foreign_cache_gives_the_golden_responses() {
    let fixture = CacheFixture::new();
    copy(&golden("cache"), &fixture.cache());
    let reader = Reader::open(&Location::Anywhere, &fixture.cache(), &real).unwrap();
    assert!(reader.was_hashed());
    answers(&fixture.cache());
    let report = verify(&Location::Anywhere, &fixture.cache(), &real).unwrap();
    assert!(report.failure().is_none());
}

#[test]
fn every_golden_response_is_compared() {
    let mut names: Vec<_> = REQUESTS
        .iter()
        .map(|(name, ..)| format!("{name}.json"))
        .collect();
    names.sort();
    let mut files: Vec<_> = fs::read_dir(golden("answers"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(names, files);
}
