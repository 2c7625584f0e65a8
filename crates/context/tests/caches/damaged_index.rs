//! Index files are not trusted: if they are missing, truncated, changed or foreign, responses do not
//! change and nothing fails.

use crate::fixture::{
    CacheFixture, ahead, bytes_of, copy, documents, oracle_response, real, resolve_at,
};
use candor_context::{Location, Query, TokenBudget, seal, to_json_line};
use std::fs;
use std::path::Path;

const INDEX: &str = "accelerator.idx";
const PROOF: &str = "accelerator.sig";
const ORIGINS: &str = "accelerator.src";
const PASSAGES: &str = "passages.idx";

/// Returns sources whose index has lists inside and outside the dictionary.
fn sources() -> Vec<(String, String)> {
    (0..30)
        .map(|number| {
            let content = format!("all w{} {}", number % 4, "x ".repeat(number));
            (format!("{number:02}.md"), content)
        })
        .collect()
}

/// A query, a budget, and the bytes of their response.
type ExpectedResponse = (&'static str, u64, Vec<u8>);

fn sealed_cache() -> (CacheFixture, Vec<ExpectedResponse>) {
    let sources = sources();
    let sources: Vec<_> = sources
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let fixture = CacheFixture::sealed(&sources);
    let documents = documents(&sources);
    let request = [("all x w1", 60), ("w3 X", 9), ("", 200)];
    let plain = |(query, budget)| (query, budget, oracle_response(&documents, query, budget));
    (fixture, request.map(plain).to_vec())
}

fn check_responses(cache: &Path, expected: &[ExpectedResponse], damage: &str) {
    for (query, budget, bytes) in expected {
        let answer =
            resolve_at(cache, query, *budget).unwrap_or_else(|error| panic!("{damage}: {error}"));
        assert!(&answer == bytes, "{damage}: {query:?} with {budget}");
    }
}

/// Damages one file in every way, and calls `check` each time.
fn for_each_damage(name: &str, mut check: impl FnMut(&CacheFixture, &str)) {
    let (fixture, _) = sealed_cache();
    let path = fixture.cache().join(name);
    let bytes = fs::read(&path).unwrap();
    let step = (bytes.len() / 150).max(1);
    for position in (0..bytes.len()).step_by(step) {
        let mut changed = bytes.clone();
        changed[position] ^= 1 << (position % 8);
        fs::write(&path, &changed).unwrap();
        check(&fixture, &format!("{name} with byte {position} changed"));
    }
    for length in (0..bytes.len()).step_by(step * 4) {
        fs::write(&path, &bytes[..length]).unwrap();
        check(&fixture, &format!("{name} cut to {length}"));
    }
    for (damage, wrong) in [
        ("longer", [&bytes[..], b"\0"].concat()),
        ("twice", [&bytes[..], &bytes[..]].concat()),
        ("shifted", [b"\0", &bytes[..]].concat()),
        ("zeros", vec![0; bytes.len()]),
        ("ones", vec![0xff; bytes.len()]),
    ] {
        fs::write(&path, wrong).unwrap();
        check(&fixture, &format!("{name}: {damage}"));
    }
    fs::remove_file(&path).unwrap();
    check(&fixture, &format!("{name} missing"));
    fs::create_dir(&path).unwrap();
    check(&fixture, &format!("{name} a directory"));
}

#[test]
fn damaged_index_changes_no_response() {
    let (_, expected) = sealed_cache();
    for_each_damage(INDEX, |fixture, damage| {
        check_responses(&fixture.cache(), &expected, damage)
    });
}

#[test]
fn damaged_proof_changes_no_response() {
    let (_, expected) = sealed_cache();
    for_each_damage(PROOF, |fixture, damage| {
        check_responses(&fixture.cache(), &expected, damage)
    });
}

/// Returns the bytes of the passages for a query.
fn passages(fixture: &CacheFixture) -> Vec<u8> {
    let query = Query::new("w3 x all").unwrap();
    let mut reader = fixture.reader().unwrap();
    let answer = reader
        .passages(&query, TokenBudget::new(50).unwrap())
        .unwrap();
    to_json_line(&answer).unwrap()
}

#[test]
fn damaged_passage_index_changes_no_response() {
    let (mut fixture, _) = sealed_cache();
    let in_memory = passages(&fixture);
    fixture.passages = true;
    fixture.build_at("cache", true).unwrap();
    assert_eq!(passages(&fixture), in_memory);
    let path = fixture.cache().join(PASSAGES);
    let bytes = fs::read(&path).unwrap();
    for position in (0..bytes.len()).step_by((bytes.len() / 100).max(1)) {
        let mut changed = bytes.clone();
        changed[position] ^= 0x04;
        fs::write(&path, &changed).unwrap();
        assert!(passages(&fixture) == in_memory, "byte {position}");
    }
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(passages(&fixture) == in_memory, "cut");
}

/// Damages a file before each of several updates, and compares each with a build.
fn check_update_over_damage(name: &str) {
    let (mut fixture, _) = sealed_cache();
    fixture.clock = ahead;
    fixture.passages = true;
    fixture.build_at("cache", true).unwrap();
    let expected_bytes = bytes_of(&fixture.cache());
    assert!(expected_bytes.contains_key(PASSAGES));
    let path = fixture.cache().join(name);
    let length = fs::metadata(&path).unwrap().len() as usize;
    for position in (0..length).step_by((length / 12).max(1)) {
        let mut changed = fs::read(&path).unwrap();
        changed[position] ^= 0x10;
        fs::write(&path, &changed).unwrap();
        if let Err(failure) = fixture.update() {
            panic!("{name}, byte {position}: {failure}");
        }
        let updated = bytes_of(&fixture.cache());
        let names = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
            files.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(
            names(&updated),
            names(&expected_bytes),
            "{name}, byte {position}"
        );
        assert!(updated == expected_bytes, "{name}, byte {position}");
    }
}

#[test]
fn update_over_a_damaged_index_gives_the_bytes_of_a_build() {
    check_update_over_damage(INDEX);
}

#[test]
fn update_over_a_damaged_passage_index_gives_the_bytes_of_a_build() {
    check_update_over_damage(PASSAGES);
}

#[test]
fn update_over_damaged_origins_gives_the_bytes_of_a_build() {
    check_update_over_damage(ORIGINS);
}

#[test]
fn surplus_origins_are_ignored() {
    let (mut fixture, _) = sealed_cache();
    fixture.clock = ahead;
    fixture.update().unwrap();
    assert_eq!(fixture.update().unwrap().read, 0, "all origins are known");
    let expected_bytes = bytes_of(&fixture.cache());
    let path = fixture.cache().join(ORIGINS);
    let mut bytes = fs::read(&path).unwrap();
    // Inserts an origin before the first: a path of one byte, a version, no stamp.
    bytes.splice(48..48, [&[1, b'0'][..], &[0; 32], &[0]].concat());
    bytes[44] += 1;
    let seed = u64::from_le_bytes(*bytes[12..].first_chunk().unwrap());
    let (body, sum) = bytes.split_last_chunk_mut::<8>().unwrap();
    *sum = xxhash_rust::xxh3::xxh3_64_with_seed(body, seed).to_le_bytes();
    fs::write(&path, bytes).unwrap();
    let built = fixture.update().unwrap();
    assert_eq!(built.read, 30, "everything is read again");
    assert!(bytes_of(&fixture.cache()) == expected_bytes);
}

#[test]
fn index_files_of_another_cache_are_ignored() {
    let (fixture, expected) = sealed_cache();
    let other = CacheFixture::sealed(&[("00.md", "all all all"), ("01.md", "w3")]);
    for name in [INDEX, PROOF, ORIGINS] {
        fs::copy(other.cache().join(name), fixture.cache().join(name)).unwrap();
        check_responses(&fixture.cache(), &expected, name);
    }
}

#[test]
fn copy_is_hashed_until_it_is_sealed() {
    let (fixture, expected) = sealed_cache();
    let copied = fixture.path("copied");
    copy(&fixture.cache(), &copied);
    let by_hashing = || {
        let reader = candor_context::Reader::open(&Location::Anywhere, &copied, &real);
        reader.unwrap().was_hashed()
    };
    assert!(by_hashing());
    check_responses(&copied, &expected, "a copy");
    let built = seal(&Location::Anywhere, &copied, false, &real).unwrap();
    assert_eq!(
        serde_json::to_string(&built).unwrap(),
        format!(
            r#"{{"cache_version":"{}","document_count":30,"read":30}}"#,
            built.cache_version
        )
    );
    assert!(!by_hashing());
    check_responses(&copied, &expected, "a sealed copy");
    assert!(
        bytes_of(&copied) == bytes_of(&fixture.cache()),
        "its index is the built one"
    );
}

#[test]
fn cache_without_index_files_is_complete() {
    let (fixture, expected) = sealed_cache();
    for name in [INDEX, PROOF, ORIGINS] {
        fs::remove_file(fixture.cache().join(name)).unwrap();
    }
    assert!(fixture.reader().unwrap().was_hashed());
    check_responses(&fixture.cache(), &expected, "without an accelerator");
}

#[test]
fn passage_index_of_version_one_is_not_used_and_is_replaced() {
    let (mut fixture, _) = sealed_cache();
    fixture.clock = ahead;
    let in_memory = passages(&fixture);
    // The index that version 1 made for these sources.
    let old = include_bytes!("../golden/version-1/passages.idx");
    let path = fixture.cache().join(PASSAGES);
    fs::write(&path, old).unwrap();
    assert_eq!(passages(&fixture), in_memory);
    fixture.passages = true;
    fixture.update().unwrap();
    let updated = fs::read(&path).unwrap();
    assert_ne!(updated, old);
    assert_eq!(passages(&fixture), in_memory);
    fixture.build_at("cache", true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), updated);
}
