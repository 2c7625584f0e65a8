//! The index of passages contains the counts of its tokenizer, and updates and seals keep it.

use crate::fixture::{CacheFixture, ahead, bytes_of, real};
use candor_context::passages::PassagesResponse;
use candor_context::{Location, Query, TokenBudget, Tokenizer, seal};
use std::fs;

const PASSAGES: &str = "passages.idx";

fn fixture(tokenizer: Tokenizer) -> CacheFixture {
    let mut fixture = CacheFixture::sealed(&[
        (
            "one.md",
            "# One\n\nAn internationalization of antidisestablishmentarianism.",
        ),
        ("two.md", "# Two\n\ninternationalization 日本語 12345678"),
    ]);
    fixture.clock = ahead;
    fixture.passages = true;
    fixture.tokenizer = tokenizer;
    fixture.build_at("cache", true).unwrap();
    fixture
}

fn passages(fixture: &CacheFixture, budget: u64) -> PassagesResponse {
    let query = Query::new("internationalization").unwrap();
    let mut reader = fixture.reader().unwrap();
    reader
        .passages(&query, TokenBudget::new(budget).unwrap())
        .unwrap()
}

fn check_counts(fixture: &CacheFixture, tokenizer: Tokenizer) {
    let answer = passages(fixture, 1000);
    assert!(answer.passages.len() >= 2);
    for passage in &answer.passages {
        assert_eq!(u64::from(passage.tokens), tokenizer.count(&passage.content));
    }
    // The budget is spent in the same unit: at the sum and one below.
    let sum = answer.selection.tokens_used;
    assert_eq!(passages(fixture, sum).passages.len(), answer.passages.len());
    assert!(passages(fixture, sum - 1).passages.len() < answer.passages.len());
}

#[test]
fn answers_have_the_counts_of_the_tokenizer() {
    let [bytes4, o200k] = Tokenizer::ALL.map(fixture);
    check_counts(&bytes4, Tokenizer::Bytes4);
    check_counts(&o200k, Tokenizer::O200k);
    let (one, other) = (passages(&bytes4, 1000), passages(&o200k, 1000));
    assert_ne!(one.selection.index, other.selection.index);
    let scores = |answer: &PassagesResponse| -> Vec<u64> {
        answer
            .passages
            .iter()
            .map(|passage| passage.score)
            .collect()
    };
    assert_eq!(scores(&one), scores(&other));
    // v0 does not depend on it.
    let frozen = |fixture: &CacheFixture| {
        let mut files = bytes_of(&fixture.cache());
        let ours = [PASSAGES, "build.json"];
        files.retain(|name, _| !name.starts_with("accelerator") && !ours.contains(&name.as_str()));
        files
    };
    assert_eq!(frozen(&bytes4), frozen(&o200k));
}

#[test]
fn update_and_seal_keep_the_tokenizer() {
    let fixture = fixture(Tokenizer::O200k);
    fixture.put("three.md", "internationalization again");
    fixture.update().unwrap();
    check_counts(&fixture, Tokenizer::O200k);
    let updated = fs::read(fixture.cache().join(PASSAGES)).unwrap();
    fixture.build_at("cache", true).unwrap();
    assert!(fs::read(fixture.cache().join(PASSAGES)).unwrap() == updated);
    seal(&Location::Anywhere, &fixture.cache(), false, &real).unwrap();
    assert!(fs::read(fixture.cache().join(PASSAGES)).unwrap() == updated);
}

#[test]
fn update_with_another_tokenizer_counts_anew() {
    let mut fixture = fixture(Tokenizer::O200k);
    fixture.tokenizer = Tokenizer::Bytes4;
    fixture.update().unwrap();
    check_counts(&fixture, Tokenizer::Bytes4);
    let updated = fs::read(fixture.cache().join(PASSAGES)).unwrap();
    fixture.build_at("cache", true).unwrap();
    assert!(fs::read(fixture.cache().join(PASSAGES)).unwrap() == updated);
}

#[test]
fn cache_without_an_index_counts_bytes() {
    let fixture = fixture(Tokenizer::O200k);
    fs::remove_file(fixture.cache().join(PASSAGES)).unwrap();
    check_counts(&fixture, Tokenizer::Bytes4);
}
