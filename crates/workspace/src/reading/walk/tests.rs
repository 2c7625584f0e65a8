//! Where a walk goes, and where it ends.

use super::super::place::Place;
use super::*;
use crate::path::Root;
use crate::protected::DenyRead;
use crate::reading::MAX_GITIGNORE_BYTES;
use crate::somebody::{is_somebody_else, run_as_somebody_else};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn rest(walk: &mut Walk<'_>) -> Vec<PathBuf> {
    std::iter::from_fn(|| walk.next())
        .map(|item| item.path)
        .collect()
}

#[test]
fn a_walk_looks_at_a_bounded_number_of_names() {
    let place = Place::new();
    place.write("a/b", "");
    place.write("a/c", "");
    let reading = place.reading();
    let mut walk = reading.walk(Path::new(""), 9).unwrap();
    walk.looked_at = MAX_WALK_NAMES - 2;
    assert_eq!(rest(&mut walk).len(), 3);
    assert_eq!(walk.cut, None);
    let mut walk = reading.walk(Path::new(""), 9).unwrap();
    walk.looked_at = MAX_WALK_NAMES - 1;
    assert_eq!(rest(&mut walk).len(), 2);
    assert_eq!(walk.cut, Some(Cut::Work));
}

#[test]
fn of_a_long_ignore_file_the_beginning_is_heeded() {
    let place = Place::new();
    let filler = "#".repeat(MAX_GITIGNORE_BYTES as usize);
    place.write(".gitignore", format!("early\n{filler}\nlate\n"));
    place.write("early", "");
    place.write("late", "");
    let reading = place.reading();
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
    let place = Place::new();
    place.write(".gitignore", "*.log\n/only\n");
    place.write("a/.gitignore", "!keep.log\n/sub/\n");
    for path in [
        "a/keep.log",
        "a/x.log",
        "a/only",
        "a/sub/x",
        "only",
        "keep.log",
    ] {
        place.write(path, "");
    }
    // A link is no ignore file, and neither is a pipe.
    fs::create_dir(place.at("b")).unwrap();
    place.link("b/.gitignore", "../a/.gitignore");
    place.write("b/keep.log", "");
    fs::create_dir(place.at("c")).unwrap();
    place.fifo("c/.gitignore");
    let reading = place.reading();
    let mut walk = reading.walk(Path::new(""), 9).unwrap();
    let items = std::iter::from_fn(|| walk.next());
    let ignored: Vec<PathBuf> = items
        .filter(|item| item.ignored)
        .map(|item| item.path)
        .collect();
    let expected = ["a/sub", "a/x.log", "b/keep.log", "keep.log", "only"];
    assert_eq!(ignored, expected.map(PathBuf::from));
}

#[test]
fn directories_that_cannot_be_read_are_counted() {
    if is_somebody_else() {
        let root = Root::open(std::env::current_dir().unwrap()).unwrap();
        let deny = DenyRead::default();
        let reading = Reading {
            root: &root,
            deny: &deny,
            stop: &|| false,
        };
        let mut walk = reading.walk(Path::new(""), 9).unwrap();
        let names = rest(&mut walk);
        assert_eq!(
            names,
            ["candor-somebody-else", "open", "open/x", "shut"].map(PathBuf::from)
        );
        assert_eq!((walk.unreadable, walk.cut), (1, None));
        let refused = reading.walk(Path::new("shut"), 9).map(|_| ());
        assert!(matches!(
            refused,
            Err(ReadError::Path(PathError::Denied(_)))
        ));
        return;
    }
    let place = Place::new();
    place.write("open/x", "");
    place.write("shut/x", "");
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&place.top, 0o755);
    set(&place.at("shut"), 0o000);
    run_as_somebody_else(
        "reading::walk::tests::directories_that_cannot_be_read_are_counted",
        &place.at(""),
    );
    set(&place.at("shut"), 0o700);
}
