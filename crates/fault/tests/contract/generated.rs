//! What is committed is what the registries say, and what is locked stays.

use candor_fault::export::{self, LOCK_PATH};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn committed(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn committed_files_are_the_generated_ones() {
    let differing: Vec<_> = export::files()
        .into_iter()
        .filter(|(path, content)| committed(path) != *content)
        .map(|(path, _)| path)
        .collect();
    assert!(
        differing.is_empty(),
        "run `cargo run -p candor-fault --example export -- .`: {differing:?}"
    );
}

#[test]
fn no_page_is_left_over() {
    let known: BTreeSet<_> = export::files().into_iter().map(|(path, _)| path).collect();
    for entry in fs::read_dir(root().join("docs/errors")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&format!("docs/errors/{name}")), "{name}");
    }
}

#[test]
fn the_lock_holds() {
    assert_eq!(export::lock_conflicts(&committed(LOCK_PATH)), [""; 0]);
}

#[test]
fn a_locked_row_may_not_change() {
    let other = export::lock().replace("\"Cache does not exist\"", "\"No cache\"");
    assert_eq!(
        export::lock_conflicts(&other),
        [
            "context/cache_missing: `message` is locked as \"No cache\" and is now \
          \"Cache does not exist\"; a locked row may never change."
        ]
    );
}

#[test]
fn a_locked_row_may_not_vanish() {
    let other = export::lock().replace("\"cache_missing\"", "\"cache_gone\"");
    assert_eq!(
        export::lock_conflicts(&other),
        [
            "context/cache_gone is locked and is no longer a frozen row; \
          a locked row may never vanish."
        ]
    );
}

#[test]
fn words_below_a_code_may_come_but_not_go() {
    let fewer = export::lock().replace("        \"ORDER_NOT_FOUND\",\n", "");
    assert_ne!(fewer, export::lock());
    assert_eq!(export::lock_conflicts(&fewer), [""; 0]);
    let more = export::lock().replace("\"ORDER_NOT_FOUND\"", "\"ORDER_GONE\"");
    let conflicts = export::lock_conflicts(&more);
    assert_eq!(conflicts.len(), 1);
    assert!(conflicts[0].starts_with("orders/4001: `reasons` is locked as [\"ORDER_GONE\""));
}

#[test]
fn new_rows_break_no_lock() {
    assert_eq!(
        export::lock_conflicts(r#"{"version":1,"rows":[]}"#),
        [""; 0]
    );
}

#[test]
fn a_lock_that_cannot_be_read_is_no_lock() {
    assert_eq!(
        export::lock_conflicts("{"),
        ["registry.lock.json is not JSON."]
    );
    assert_eq!(
        export::lock_conflicts(r#"{"version":2,"rows":[]}"#),
        ["registry.lock.json is not of version 1."]
    );
}

#[test]
fn every_code_has_a_section_on_its_page() {
    let files = export::files();
    for (section, rows) in candor_fault::codes::all() {
        let path = format!("docs/errors/{section}.md");
        let (_, page) = files.iter().find(|(known, _)| *known == path).unwrap();
        for row in rows {
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
    for (path, content) in export::files() {
        for block in content.split("```json\n").skip(1) {
            let (json, _) = block.split_once("\n```").unwrap();
            let example = serde_json::from_str::<serde_json::Value>(json);
            assert!(example.is_ok(), "{path}: {json}");
        }
    }
}
