//! Patch errors.

use crate::workspace::place::Place;
use serde_json::{Value, json};

fn patch(text: &str) -> Value {
    json!({ "path": "src/a.txt", "patch": text })
}

const HEAD: &str = "--- a/src/a.txt\n+++ b/src/a.txt\n";

#[test]
fn patch_invalid() {
    let place = Place::allowed();
    let mut client = place.executor(&[]);
    let two = format!("{HEAD}@@ -1 +1 @@\n-one\n+1\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n");
    for text in ["words", HEAD, &two] {
        let failed = client.failed("write_file", patch(text));
        assert_eq!(failed.code(), "PATCH_INVALID", "{failed:?}");
    }
    // Models miscount.
    let miscounted = format!("{HEAD}@@ -1,9 +1,7 @@\n-one\n+ONE\n two\n");
    client.done("write_file", patch(&miscounted));
    assert_eq!(place.got("src/a.txt"), "ONE\ntwo\nthree\n");
}

#[test]
fn patch_apply_failed() {
    let place = Place::allowed();
    let mut client = place.executor(&[]);
    let failed = client.failed(
        "write_file",
        patch(&format!("{HEAD}@@ -1,2 +1,2 @@\n four\n-five\n+six\n")),
    );
    assert_eq!(failed.code(), "PATCH_APPLY_FAILED");
    place.put("src/b.txt", "twice\ntwice\n");
    for old in ["never", "twice"] {
        let edits = json!([{ "old": old, "new": "x" }]);
        let failed = client.failed("write_file", json!({ "path": "src/b.txt", "edits": edits }));
        assert_eq!(failed.code(), "PATCH_APPLY_FAILED", "{old}");
        assert!(failed.cause()["nearest"].is_array(), "{failed:?}");
    }
    assert_eq!(place.got("src/b.txt"), "twice\ntwice\n");
}

#[test]
fn hash_mismatch() {
    let place = Place::allowed();
    let mut client = place.executor(&[]);
    let wrong = "0".repeat(64);
    let actual = place.hash("src/a.txt");
    let failed = client.failed(
        "write_file",
        json!({ "path": "src/a.txt", "content": "x", "previous_hash": wrong }),
    );
    assert_eq!(failed.code(), "HASH_MISMATCH");
    assert_eq!(
        *failed.cause(),
        json!({ "expected": wrong, "actual": actual })
    );
    for (tool, arguments) in [
        (
            "write_file",
            json!({ "path": "src/gone", "content": "x", "previous_hash": wrong }),
        ),
        (
            "delete_file",
            json!({ "path": "src/gone", "previous_hash": wrong }),
        ),
    ] {
        let failed = client.failed(tool, arguments);
        assert_eq!(failed.code(), "HASH_MISMATCH");
        assert_eq!(
            *failed.cause(),
            json!({ "expected": wrong, "actual": null })
        );
    }
    let read = client.done("read_file", json!({ "path": "src/a.txt" }));
    let deleted = json!({ "path": "src/a.txt", "previous_hash": read["hash"] });
    client.done("delete_file", deleted);
    assert!(!place.at("src/a.txt").exists());
}
