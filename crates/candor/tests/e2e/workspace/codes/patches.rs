//! Patch errors.

use crate::workspace::fixture::WorkspaceFixture;
use serde_json::{Value, json};

fn patch(text: &str) -> Value {
    json!({ "path": "src/a.txt", "patch": text })
}

const HEAD: &str = "--- a/src/a.txt\n+++ b/src/a.txt\n";

#[test]
fn patch_invalid() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let two = format!("{HEAD}@@ -1 +1 @@\n-one\n+1\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n");
    for text in ["words", HEAD, &two] {
        let failed = client.call_err("write_file", patch(text));
        assert_eq!(failed.code(), "PATCH_INVALID", "{failed:?}");
    }
    // Models miscount.
    let miscounted = format!("{HEAD}@@ -1,9 +1,7 @@\n-one\n+ONE\n two\n");
    client.call_ok("write_file", patch(&miscounted));
    assert_eq!(fixture.read("src/a.txt"), "ONE\ntwo\nthree\n");
}

#[test]
fn patch_apply_failed() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let failed = client.call_err(
        "write_file",
        patch(&format!("{HEAD}@@ -1,2 +1,2 @@\n four\n-five\n+six\n")),
    );
    assert_eq!(failed.code(), "PATCH_APPLY_FAILED");
    fixture.write("src/b.txt", "twice\ntwice\n");
    for old in ["never", "twice"] {
        let edits = json!([{ "old": old, "new": "x" }]);
        let failed = client.call_err("write_file", json!({ "path": "src/b.txt", "edits": edits }));
        assert_eq!(failed.code(), "PATCH_APPLY_FAILED", "{old}");
        assert!(failed.cause()["nearest"].is_array(), "{failed:?}");
    }
    assert_eq!(fixture.read("src/b.txt"), "twice\ntwice\n");
}

#[test]
fn hash_mismatch() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let wrong = "0".repeat(64);
    let actual = fixture.hash("src/a.txt");
    let failed = client.call_err(
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
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "HASH_MISMATCH");
        assert_eq!(
            *failed.cause(),
            json!({ "expected": wrong, "actual": null })
        );
    }
    let read = client.call_ok("read_file", json!({ "path": "src/a.txt" }));
    let deleted = json!({ "path": "src/a.txt", "previous_hash": read["hash"] });
    client.call_ok("delete_file", deleted);
    assert!(!fixture.path("src/a.txt").exists());
}
