//! The comparison of a cache with its sources.

use crate::fixture::{CacheFixture, real, tick};
use candor_context::{Location, SourceFilter, status};
use std::fs;

fn message(fixture: &CacheFixture) -> String {
    let message = status(
        &Location::Anywhere,
        &fixture.sources(),
        &fixture.cache(),
        &SourceFilter::default(),
        &real,
    );
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
