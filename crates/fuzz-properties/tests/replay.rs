//! Replays on stable what fuzzing has found: every file of `fuzz/corpus` and `fuzz/findings` goes
//! through its target's property.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use candor_fuzz_properties as properties;
use std::fs;
use std::path::Path;

fn replay(target: &str, property: fn(&[u8])) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut replayed = 0;
    for kind in ["corpus", "findings"] {
        let folder = fuzz.join(kind).join(target);
        // A target without findings has no folder for them; it always has a corpus.
        let Ok(files) = fs::read_dir(&folder) else {
            assert_eq!(kind, "findings", "{} is missing", folder.display());
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let held = std::panic::catch_unwind(|| property(&bytes));
            assert!(
                held.is_ok(),
                "{} breaks the property `{target}`",
                path.display()
            );
            replayed += 1;
        }
    }
    assert!(replayed > 10, "only {replayed} inputs for `{target}`");
}

#[test]
fn the_core_answers_every_collected_message() {
    replay("core", properties::core);
}

#[test]
fn the_scan_agrees_with_the_oracle_on_every_collected_text() {
    replay("scanner", properties::scanner);
}

#[test]
fn the_validator_keeps_its_bounds_on_every_collected_schema() {
    replay("validator", properties::validator);
}

#[test]
fn a_cache_is_right_only_with_the_manifest_it_was_built_with() {
    replay("cache_manifest", properties::cache_manifest);
}

#[test]
fn a_cache_is_right_only_with_the_index_it_was_built_with() {
    replay("cache_index", properties::cache_index);
}

#[test]
fn a_cache_is_right_only_with_the_documents_it_was_built_with() {
    replay("cache_document", properties::cache_document);
}

#[test]
fn no_accelerator_changes_an_answer() {
    replay("cache_accelerator", properties::cache_accelerator);
}
