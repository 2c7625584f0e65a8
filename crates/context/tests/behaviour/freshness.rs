//! Whether a cache is what its sources are, and what differs.

use crate::ground::{Ground, real, tick};
use candor_context::{Location, Wanted, status};
use std::fs;

fn told(ground: &Ground) -> String {
    let told = status(
        &Location::Anywhere,
        &ground.sources(),
        &ground.cache(),
        &Wanted::default(),
        &real,
    );
    serde_json::to_string(&told.unwrap()).unwrap()
}

#[test]
fn what_differs_is_listed_by_path() {
    let ground = Ground::with(&[
        ("A.md", "one"),
        ("b.md", "two"),
        ("c.md", "three"),
        ("D.md", ""),
    ]);
    ground.build().unwrap();
    assert_eq!(
        told(&ground),
        r#"{"fresh":true,"added":[],"changed":[],"removed":[]}"#
    );
    tick();
    ground.put("b.md", "TWO");
    ground.put("x/E.md", "five");
    ground.put("c.md", "three");
    fs::remove_file(ground.sources().join("D.md")).unwrap();
    fs::rename(ground.sources().join("A.md"), ground.sources().join("a.md")).unwrap();
    let differs =
        r#"{"fresh":false,"added":["x/E.md"],"changed":["a.md","b.md"],"removed":["D.md"]}"#;
    assert_eq!(told(&ground), differs);
    ground.update().unwrap();
    assert_eq!(
        told(&ground),
        r#"{"fresh":true,"added":[],"changed":[],"removed":[]}"#
    );
}

#[test]
fn without_origins_every_source_is_read() {
    let ground = Ground::with(&[("A.md", "one"), ("b.md", "two")]);
    ground.build().unwrap();
    fs::remove_file(ground.cache().join("accelerator.src")).unwrap();
    assert_eq!(
        told(&ground),
        r#"{"fresh":true,"added":[],"changed":[],"removed":[]}"#
    );
    fs::remove_file(ground.sources().join("A.md")).unwrap();
    ground.put("b.md", "TWO");
    let differs = r#"{"fresh":false,"added":[],"changed":["b.md"],"removed":["a.md"]}"#;
    assert_eq!(told(&ground), differs);
}
