//! The order and the end of a walk.

use super::super::fixture::Fixture;
use super::*;
use crate::reading::MAX_GITIGNORE_BYTES;
use std::fs;

fn remaining_paths(walk: &mut TreeWalk<'_>) -> Vec<PathBuf> {
    std::iter::from_fn(|| walk.next())
        .map(|item| item.path)
        .collect()
}

#[test]
fn walk_visits_a_bounded_number_of_names() {
    let fixture = Fixture::new();
    fixture.write("a/b", "");
    fixture.write("a/c", "");
    let reading = fixture.reading();
    let mut walk = reading.walk(Path::new(""), 9).unwrap();
    walk.looked_at = MAX_WALK_NAMES - 2;
    assert_eq!(remaining_paths(&mut walk).len(), 3);
    assert_eq!(walk.cut, None);
    let mut walk = reading.walk(Path::new(""), 9).unwrap();
    walk.looked_at = MAX_WALK_NAMES - 1;
    assert_eq!(remaining_paths(&mut walk).len(), 2);
    assert_eq!(walk.cut, Some(Truncation::Work));
}

#[test]
fn only_the_beginning_of_a_long_ignore_file_applies() {
    let fixture = Fixture::new();
    let filler = "#".repeat(MAX_GITIGNORE_BYTES as usize);
    fixture.write(".gitignore", format!("early\n{filler}\nlate\n"));
    fixture.write("early", "");
    fixture.write("late", "");
    let reading = fixture.reading();
    let mut walk = reading.walk(Path::new(""), 9).unwrap();
    let ignored: Vec<(PathBuf, bool)> = std::iter::from_fn(|| walk.next())
        .map(|item| (item.path, item.ignored))
        .collect();
    let expected = [(".gitignore", false), ("early", true), ("late", false)];
    assert_eq!(
        ignored,
        expected.map(|(name, ignored)| (PathBuf::from(name), ignored))
    );
}

#[test]
fn ignore_files_apply_from_the_nearest_outwards() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "*.log\n/only\n");
    fixture.write("a/.gitignore", "!keep.log\n/sub/\n");
    for path in [
        "a/keep.log",
        "a/x.log",
        "a/only",
        "a/sub/x",
        "only",
        "keep.log",
    ] {
        fixture.write(path, "");
    }
    // A link is not an ignore file, and neither is a pipe.
    fs::create_dir(fixture.at("b")).unwrap();
    fixture.link("b/.gitignore", "../a/.gitignore");
    fixture.write("b/keep.log", "");
    fs::create_dir(fixture.at("c")).unwrap();
    fixture.fifo("c/.gitignore");
    let reading = fixture.reading();
    let mut walk = reading.walk(Path::new(""), 9).unwrap();
    let items = std::iter::from_fn(|| walk.next());
    let ignored: Vec<PathBuf> = items
        .filter(|item| item.ignored)
        .map(|item| item.path)
        .collect();
    let expected = ["a/sub", "a/x.log", "b/keep.log", "keep.log", "only"];
    assert_eq!(ignored, expected.map(PathBuf::from));
}
