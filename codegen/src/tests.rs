//! The committed files are the generated ones, and locked rows stay as they are.

use crate::lock::{LOCK_PATH, lock, lock_conflicts};
use crate::registry_files::registry_files;
use crate::{check, left_over_pages, write};
use candor::registries::REGISTRIES;
use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn committed(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn committed_registry_files_are_the_generated_ones() {
    let differing: Vec<_> = registry_files()
        .into_iter()
        .filter(|file| committed(&file.path) != file.content)
        .map(|file| file.path)
        .collect();
    assert!(
        differing.is_empty(),
        "run `cargo xtask codegen`: {differing:?}"
    );
}

#[test]
fn no_page_is_left_over() {
    let left_over = left_over_pages(&root(), &registry_files()).unwrap();
    assert_eq!(left_over, [""; 0]);
}

#[test]
fn check_finds_what_write_repairs() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("docs/errors")).unwrap();
    fs::copy(
        self::root().join("docs/github.md"),
        root.join("docs/github.md"),
    )
    .unwrap();
    assert_eq!(write(root).unwrap(), [""; 0]);
    assert_eq!(check(root).unwrap(), [""; 0]);
    fs::write(root.join("schemas/wire.error.schema.json"), "{}").unwrap();
    fs::write(root.join("docs/errors/old.md"), "").unwrap();
    assert_eq!(
        check(root).unwrap(),
        [
            "schemas/wire.error.schema.json is not up to date.",
            "docs/errors/old.md is not generated any more."
        ]
    );
    fs::remove_file(root.join("docs/errors/old.md")).unwrap();
    assert_eq!(write(root).unwrap(), [""; 0]);
    assert_eq!(check(root).unwrap(), [""; 0]);
}

#[test]
fn nothing_is_written_if_a_locked_row_would_change() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let locked = lock().replacen("\"cache_missing\"", "\"cache_gone\"", 1);
    fs::write(root.join(LOCK_PATH), &locked).unwrap();
    assert_eq!(write(root).unwrap().len(), 1);
    assert_eq!(fs::read_to_string(root.join(LOCK_PATH)).unwrap(), locked);
    assert!(!root.join("registry.json").exists());
}

#[test]
fn registries_keep_the_committed_lock() {
    assert_eq!(lock_conflicts(&committed(LOCK_PATH)), [""; 0]);
}

#[test]
fn changed_locked_row_is_a_conflict() {
    let other = lock().replacen("\"Cache does not exist\"", "\"No cache\"", 1);
    assert_eq!(
        lock_conflicts(&other),
        [
            "context/cache_missing: `message` is locked as \"No cache\" and is now \
          \"Cache does not exist\"; a locked row may never change."
        ]
    );
}

#[test]
fn vanished_locked_row_is_a_conflict() {
    let other = lock().replacen("\"cache_missing\"", "\"cache_gone\"", 1);
    assert_eq!(
        lock_conflicts(&other),
        [
            "context/cache_gone is locked and is no longer a frozen row; \
          a locked row may never vanish."
        ]
    );
}

#[test]
fn reasons_may_be_added_but_not_removed() {
    let fewer = lock().replace("        \"ORDER_NOT_FOUND\",\n", "");
    assert_ne!(fewer, lock());
    assert_eq!(lock_conflicts(&fewer), [""; 0]);
    let more = lock().replace("\"ORDER_NOT_FOUND\"", "\"ORDER_GONE\"");
    let conflicts = lock_conflicts(&more);
    assert_eq!(conflicts.len(), 1);
    assert!(conflicts[0].starts_with("orders/4001: `reasons` is locked as [\"ORDER_GONE\""));
}

#[test]
fn new_rows_are_not_conflicts() {
    assert_eq!(lock_conflicts(r#"{"version":1,"rows":[]}"#), [""; 0]);
}

#[test]
fn unreadable_lock_is_a_conflict() {
    assert_eq!(lock_conflicts("{"), ["registry.lock.json is not JSON."]);
    assert_eq!(
        lock_conflicts(r#"{"version":2,"rows":[]}"#),
        ["registry.lock.json is not of version 1."]
    );
}

#[test]
fn every_code_has_a_section_on_its_page() {
    let files = registry_files();
    for registry in REGISTRIES {
        let path = format!("docs/errors/{}.md", registry.name);
        let page = &files.iter().find(|file| file.path == path).unwrap().content;
        for row in registry.rows {
            assert!(
                page.contains(&format!("### `{}`", row.code)),
                "{}",
                row.code
            );
            assert!(page.contains(row.remedy));
        }
    }
}

#[test]
fn every_example_on_a_page_is_json() {
    for file in registry_files() {
        for block in file.content.split("```json\n").skip(1) {
            let (json, _) = block.split_once("\n```").unwrap();
            let example = serde_json::from_str::<serde_json::Value>(json);
            assert!(example.is_ok(), "{}: {json}", file.path);
        }
    }
}
