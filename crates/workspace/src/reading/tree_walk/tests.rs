//! The order and the end of a walk.

use super::super::fixture::Fixture;
use super::*;
use crate::as_other_user::{is_other_user, run_as_other_user};
use crate::path::Root;
use crate::protected::DenyRead;
use crate::reading::MAX_GITIGNORE_BYTES;
use std::fs;
use std::os::unix::fs::PermissionsExt;

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

#[test]
fn directories_that_cannot_be_read_are_counted() {
    if is_other_user() {
        let root = Root::open(std::env::current_dir().unwrap()).unwrap();
        let deny = DenyRead::default();
        let reading = WorkspaceReader {
            root: &root,
            deny: &deny,
            stop: &|| false,
        };
        let mut walk = reading.walk(Path::new(""), 9).unwrap();
        let names = remaining_paths(&mut walk);
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
    let fixture = Fixture::new();
    fixture.write("open/x", "");
    fixture.write("shut/x", "");
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&fixture.top, 0o755);
    set(&fixture.at("shut"), 0o000);
    run_as_other_user(
        "reading::tree_walk::tests::directories_that_cannot_be_read_are_counted",
        &fixture.at(""),
    );
    set(&fixture.at("shut"), 0o700);
}
