//! The comparison of a cache with its sources.

use crate::fixture::{CacheFixture, real, tick};
use candor_context::{Comparison, Location, status};
use std::fs;

fn message(fixture: &CacheFixture) -> String {
    let message = status(&Comparison {
        location: &Location::Anywhere,
        sources: &fixture.sources(),
        cache: &fixture.cache(),
        filter: &fixture.filter,
        skip_invalid: fixture.skip_invalid,
        now: &real,
    });
    serde_json::to_string(&message.unwrap()).unwrap()
}

#[test]
fn differences_are_listed_by_path() {
    let fixture = CacheFixture::with(&[
        ("A.md", "one"),
        ("b.md", "two"),
        ("c.md", "three"),
        ("D.md", ""),
    ]);
    fixture.build().unwrap();
    assert_eq!(
        message(&fixture),
        r#"{"fresh":true,"added":[],"changed":[],"removed":[]}"#
    );
    tick();
    fixture.put("b.md", "TWO");
    fixture.put("x/E.md", "five");
    fixture.put("c.md", "three");
    fs::remove_file(fixture.sources().join("D.md")).unwrap();
    fs::rename(
        fixture.sources().join("A.md"),
        fixture.sources().join("a.md"),
    )
    .unwrap();
    let differs =
        r#"{"fresh":false,"added":["x/E.md"],"changed":["a.md","b.md"],"removed":["D.md"]}"#;
    assert_eq!(message(&fixture), differs);
    fixture.update().unwrap();
    assert_eq!(
        message(&fixture),
        r#"{"fresh":true,"added":[],"changed":[],"removed":[]}"#
    );
}

#[test]
fn without_origins_every_source_is_read() {
    let fixture = CacheFixture::with(&[("A.md", "one"), ("b.md", "two")]);
    fixture.build().unwrap();
    fs::remove_file(fixture.cache().join("accelerator.src")).unwrap();
    assert_eq!(
        message(&fixture),
        r#"{"fresh":true,"added":[],"changed":[],"removed":[]}"#
    );
    fs::remove_file(fixture.sources().join("A.md")).unwrap();
    fixture.put("b.md", "TWO");
    let differs = r#"{"fresh":false,"added":[],"changed":["b.md"],"removed":["a.md"]}"#;
    assert_eq!(message(&fixture), differs);
}

#[test]
fn skipped_files_are_not_differences() {
    let mut fixture = CacheFixture::with(&[("a.md", "one"), ("b.md", "two")]);
    fixture.put("bad.md", b"\xff");
    fixture.put("X.md", "x");
    fixture.put("x.md", "x");
    fixture.skip_invalid = true;
    fixture.build().unwrap();
    assert_eq!(
        message(&fixture),
        r#"{"fresh":true,"added":[],"changed":[],"removed":[]}"#
    );
    tick();
    // A document becomes invalid, and an invalid file becomes a document.
    fixture.put("b.md", b"\xff");
    fixture.put("bad.md", "good");
    let differs = r#"{"fresh":false,"added":["bad.md"],"changed":[],"removed":["b.md"]}"#;
    assert_eq!(message(&fixture), differs);
    fixture.update().unwrap();
    assert_eq!(
        message(&fixture),
        r#"{"fresh":true,"added":[],"changed":[],"removed":[]}"#
    );
}
