//! Directories that a new file needs, moves, and the right to execute.

use super::fixture::{WorkspaceFixture, plan, sha256};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn mode(fixture: &WorkspaceFixture, path: &str) -> u32 {
    let metadata = fs::metadata(fixture.path(path)).unwrap();
    metadata.permissions().mode() & 0o7777
}

fn set_mode(fixture: &WorkspaceFixture, path: &str, mode: u32) {
    fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns the subjects of the last line of the log.
fn last_subject(fixture: &WorkspaceFixture) -> Value {
    fixture.log_lines().pop().unwrap()["subject"].take()
}

fn paths(subject: &Value) -> Vec<&str> {
    let subjects = subject.as_array().unwrap().iter();
    subjects.map(|one| one["path"].as_str().unwrap()).collect()
}

/// Returns a workspace whose plan has a command that fails after each write. Returns `None` and reports the
/// test as skipped if this kernel cannot confine commands.
fn with_failing_commands() -> Option<WorkspaceFixture> {
    if super::kernel::lacks_sandbox() {
        return None;
    }
    let fixture = WorkspaceFixture::new();
    fixture.allow_phase(json!({
        "allow": ["src/**"], "verify": [["false"]], "preflight": "each_write",
    }));
    Some(fixture)
}

#[test]
fn p19_missing_directories_are_made() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let written = client.call_ok(
        "write_file",
        json!({ "path": "src/new/deep/mod.rs", "content": "pub fn f() {}\n" }),
    );
    assert_eq!(written["operation"], "create");
    assert_eq!(written["made_dirs"], json!(["src/new", "src/new/deep"]));
    assert_eq!(fixture.read("src/new/deep/mod.rs"), "pub fn f() {}\n");
    assert_eq!(mode(&fixture, "src/new/deep"), 0o755);
    let beside = client.call_ok(
        "write_file",
        json!({ "path": "src/new/b.rs", "content": "" }),
    );
    assert!(beside.get("made_dirs").is_none(), "{beside}");
    let several = client.call_ok(
        "apply_changes",
        json!({ "changes": [
            { "path": "src/x/y/one", "content": "1" },
            { "path": "src/x/z/two", "content": "2" },
        ] }),
    );
    assert_eq!(
        several["changes"][0]["made_dirs"],
        json!(["src/x", "src/x/y"])
    );
    assert_eq!(several["changes"][1]["made_dirs"], json!(["src/x/z"]));
}

#[test]
fn p19_directories_are_made_only_within_the_plan() {
    let fixture = WorkspaceFixture::with_plan();
    fixture.write("outside/secret", "s");
    symlink(fixture.path_beside("state"), fixture.path("src/out")).unwrap();
    let mut client = fixture.executor(&["--lock-after", "1000"]);
    let deep = format!("src/{}x", "d/".repeat(33));
    for (path, code) in [
        ("other/new/x", "PLAN_SCOPE_VIOLATION"),
        ("src/out/new/x", "OUTSIDE_WORKSPACE"),
        (deep.as_str(), "PATH_NOT_FOUND"),
    ] {
        let failed = client.call_err("write_file", json!({ "path": path, "content": "x" }));
        assert_eq!(failed.code(), code, "{path}");
        assert_eq!(failed.effect(), "none");
    }
    let wide: Vec<_> = (0..33)
        .map(|n| json!({ "path": format!("src/d{n}/x"), "content": "x" }))
        .collect();
    let failed = client.call_err("apply_changes", json!({ "changes": wide }));
    assert_eq!(failed.code(), "PATH_NOT_FOUND");
    for path in ["other", "src/d", "src/d0", "src/d32"] {
        assert!(!fixture.path(path).exists(), "{path}");
    }
    assert!(!fixture.path_beside("state/new").exists());
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/vendor/.git/hooks/pre-commit", "content": "x" }),
    );
    assert_eq!(failed.code(), "UNAUTHORIZED_ACTION");
    assert!(!fixture.path("src/vendor").exists());
}

#[test]
fn p19_made_directories_are_undone_with_the_write() {
    let Some(fixture) = with_failing_commands() else {
        return;
    };
    let mut client = fixture.executor(&[]);
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/new/deep/x", "content": "x" }),
    );
    assert_eq!(failed.code(), "PREFLIGHT_FAILED");
    assert!(!fixture.path("src/new").exists());
}

#[test]
fn p19_move_keeps_bytes_and_mode() {
    let fixture = WorkspaceFixture::with_plan();
    fixture.write("src/tool.sh", "#!/bin/sh\n");
    set_mode(&fixture, "src/tool.sh", 0o750);
    let hash = fixture.hash("src/tool.sh");
    let mut client = fixture.executor(&[]);
    let moved = client.call_ok(
        "move_file",
        json!({ "from": "src/tool.sh", "to": "src/bin/run.sh", "previous_hash": hash }),
    );
    let members: Vec<_> = moved.as_object().unwrap().keys().collect();
    let expected = [
        "path",
        "from",
        "operation",
        "before",
        "after",
        "bytes",
        "made_dirs",
        "plan",
    ];
    assert_eq!(members, expected);
    assert_eq!(moved["path"], "src/bin/run.sh");
    assert_eq!(moved["from"], "src/tool.sh");
    assert_eq!(moved["operation"], "move");
    assert_eq!(
        (&moved["before"], &moved["after"]),
        (&json!(hash), &json!(hash))
    );
    assert_eq!(moved["bytes"], 10);
    assert_eq!(moved["made_dirs"], json!(["src/bin"]));
    assert!(!fixture.path("src/tool.sh").exists());
    assert_eq!(fixture.read("src/bin/run.sh"), "#!/bin/sh\n");
    assert_eq!(mode(&fixture, "src/bin/run.sh"), 0o750);
    let subject = last_subject(&fixture);
    assert_eq!(paths(&subject), ["src/tool.sh", "src/bin/run.sh"]);
    assert_eq!(
        (&subject[0]["before"], &subject[0]["after"]),
        (&json!(hash), &Value::Null)
    );
    assert_eq!(
        (&subject[1]["before"], &subject[1]["after"]),
        (&Value::Null, &json!(hash))
    );
    let back = client.call_ok(
        "move_file",
        json!({ "from": "src/bin/run.sh", "to": "src/tool.sh", "previous_hash": hash }),
    );
    assert_eq!(back["made_dirs"], json!([]));
    client.end();
    fixture.verify();
}

#[test]
fn p19_large_file_is_moved() {
    let fixture = WorkspaceFixture::with_plan();
    let bytes = vec![7; 6 * 1024 * 1024];
    fixture.write("src/big", &bytes);
    let hash = sha256(&bytes);
    let mut client = fixture.executor(&[]);
    let moved = client.call_ok(
        "move_file",
        json!({ "from": "src/big", "to": "src/bigger", "previous_hash": hash }),
    );
    assert_eq!(moved["after"], json!(hash));
    assert_eq!(moved["bytes"], bytes.len());
    assert_eq!(fixture.hash("src/bigger"), hash);
}

#[test]
fn p19_refused_moves_change_nothing() {
    let fixture = WorkspaceFixture::new();
    fixture.write("src/b.txt", "b\n");
    fixture.write("src/.env", "TOKEN=1\n");
    fixture.write("kept/c.txt", "c\n");
    fs::create_dir(fixture.path("src/dir")).unwrap();
    fixture.allow(&["src/**"]);
    let mut client = fixture.executor(&["--lock-after", "1000"]);
    let hash = fixture.hash("src/a.txt");
    let wrong = "0".repeat(64);
    for (from, to, hash, code) in [
        ("src/a.txt", "src/b.txt", &hash, "FILE_ALREADY_EXISTS"),
        ("src/a.txt", "src/a.txt", &hash, "FILE_ALREADY_EXISTS"),
        ("src/a.txt", "src/c.txt", &wrong, "HASH_MISMATCH"),
        ("src/none", "src/c.txt", &wrong, "HASH_MISMATCH"),
        ("src/none/x", "src/c.txt", &wrong, "PATH_NOT_FOUND"),
        ("src/dir", "src/c.txt", &wrong, "INVALID_PATH"),
        ("src/a.txt", "src/dir", &hash, "INVALID_PATH"),
        ("src/a.txt", "other.txt", &hash, "PLAN_SCOPE_VIOLATION"),
        ("kept/c.txt", "src/c.txt", &wrong, "PLAN_SCOPE_VIOLATION"),
        ("src/a.txt", "../x", &hash, "PATH_TRAVERSAL_BLOCKED"),
        (
            "src/.env",
            "src/env.txt",
            &fixture.hash("src/.env"),
            "UNAUTHORIZED_ACTION",
        ),
    ] {
        let arguments = json!({ "from": from, "to": to, "previous_hash": hash });
        let failed = client.call_err("move_file", arguments.clone());
        assert_eq!(failed.code(), code, "{arguments}");
        assert_eq!(failed.effect(), "none");
    }
    assert_eq!(fixture.hash("src/a.txt"), hash);
    for path in ["src/c.txt", "src/env.txt", "other.txt"] {
        assert!(!fixture.path(path).exists(), "{path}");
    }
}

#[test]
fn p19_move_needs_delete_and_create() {
    for operations in [json!(["create", "modify"]), json!(["delete", "modify"])] {
        let fixture = WorkspaceFixture::new();
        let hash = fixture.save_plan(plan(
            json!({ "allow": ["src/**"], "operations": operations }),
        ));
        fixture.approve(&hash);
        let mut client = fixture.executor(&[]);
        let arguments = json!({ "from": "src/a.txt", "to": "src/b.txt", "previous_hash": fixture.hash("src/a.txt") });
        let failed = client.call_err("move_file", arguments);
        assert_eq!(failed.code(), "PLAN_SCOPE_VIOLATION");
    }
}

#[test]
fn p19_several_changes_can_move_and_edit() {
    let fixture = WorkspaceFixture::with_plan();
    fixture.write("src/b.txt", "b\n");
    let (a, b) = (fixture.hash("src/a.txt"), fixture.hash("src/b.txt"));
    let mut client = fixture.executor(&[]);
    let done = client.call_ok(
        "apply_changes",
        json!({ "changes": [
            { "from": "src/a.txt", "path": "src/m/a.txt", "previous_hash": a, "edits": [{ "old": "two", "new": "2" }] },
            { "from": "src/b.txt", "path": "src/m/b.txt", "previous_hash": b, "executable": true },
        ] }),
    );
    assert_eq!(done["changes"][0]["operation"], "move");
    assert_eq!(done["changes"][0]["before"], json!(a));
    assert_eq!(
        done["changes"][0]["after"],
        json!(fixture.hash("src/m/a.txt"))
    );
    assert_eq!(fixture.read("src/m/a.txt"), "one\n2\nthree\n");
    assert_eq!(mode(&fixture, "src/m/b.txt"), 0o755);
    assert_eq!(
        paths(&last_subject(&fixture)),
        ["src/a.txt", "src/m/a.txt", "src/b.txt", "src/m/b.txt"]
    );
    // If one change fails, no file is moved.
    let moved = json!({ "from": "src/m/a.txt", "path": "src/a.txt", "previous_hash": fixture.hash("src/m/a.txt") });
    let stale = json!({ "path": "src/m/b.txt", "content": "x", "previous_hash": a });
    let failed = client.call_err("apply_changes", json!({ "changes": [moved, stale] }));
    assert_eq!(failed.code(), "HASH_MISMATCH");
    assert!(fixture.path("src/m/a.txt").exists() && !fixture.path("src/a.txt").exists());
}

#[test]
fn p19_move_arguments_are_checked_in_order() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let hash = fixture.hash("src/a.txt");
    for (tool, arguments, code) in [
        (
            "move_file",
            json!({ "from": "src/a.txt", "to": "src/b" }),
            "MISSING_REQUIRED_FIELD",
        ),
        (
            "move_file",
            json!({ "from": 1, "to": "src/b", "previous_hash": hash }),
            "INVALID_INPUT_TYPE",
        ),
        (
            "move_file",
            json!({ "from": "a", "to": "b", "previous_hash": "x" }),
            "INVALID_INPUT_FORMAT",
        ),
        (
            "move_file",
            json!({ "from": "", "to": "b", "previous_hash": hash }),
            "INVALID_INPUT_VALUE",
        ),
        (
            "move_file",
            json!({ "from": "a", "to": "b", "previous_hash": hash, "executable": true }),
            "INVALID_INPUT_VALUE",
        ),
        (
            "apply_changes",
            json!({ "changes": [{ "from": "src/a.txt", "path": "src/b" }] }),
            "MISSING_REQUIRED_FIELD",
        ),
        (
            "apply_changes",
            json!({ "changes": [{ "from": "src/a.txt", "path": "src/b", "content": "x", "previous_hash": hash }] }),
            "INVALID_INPUT_VALUE",
        ),
        (
            "apply_changes",
            json!({ "changes": [{ "from": "src/a.txt", "path": "src/b", "delete": true, "previous_hash": hash }] }),
            "INVALID_INPUT_VALUE",
        ),
        (
            "apply_changes",
            json!({ "changes": [{ "path": "src/a.txt", "delete": true, "executable": true, "previous_hash": hash }] }),
            "INVALID_INPUT_VALUE",
        ),
        (
            "write_file",
            json!({ "path": "src/a.txt", "from": "src/b", "content": "x" }),
            "INVALID_INPUT_VALUE",
        ),
        (
            "write_file",
            json!({ "path": "src/a.txt", "edits": [] }),
            "INVALID_INPUT_VALUE",
        ),
        (
            "write_file",
            json!({ "path": "src/a.txt", "executable": true }),
            "MISSING_REQUIRED_FIELD",
        ),
        (
            "write_file",
            json!({ "path": "src/a.txt", "edits": [], "executable": "yes" }),
            "INVALID_INPUT_TYPE",
        ),
    ] {
        let failed = client.call_err(tool, arguments.clone());
        assert_eq!(failed.code(), code, "{tool} {arguments}");
    }
    let failed = client.call_err("write_file", json!({ "path": "src/a.txt", "edits": [] }));
    let violation = &failed.cause()["violations"][0];
    assert_eq!(violation["keyword"], "minItems", "{violation}");
    assert_eq!(violation["message"], "must NOT have fewer than 1 items");
    assert_eq!(violation["path"], "/edits");
}

#[test]
fn p19_executable_sets_and_clears_the_right_for_those_who_may_read() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let new = json!({ "path": "src/run", "content": "#!/bin/sh\n", "executable": true });
    client.call_ok("write_file", new);
    assert_eq!(mode(&fixture, "src/run"), 0o755);
    client.call_ok(
        "write_file",
        json!({ "path": "src/run", "content": "#!/bin/sh\n:\n" }),
    );
    assert_eq!(mode(&fixture, "src/run"), 0o755, "it stays");
    let before = fixture.hash("src/run");
    let cleared = json!({ "path": "src/run", "edits": [], "executable": false });
    let done = client.call_ok("write_file", cleared);
    assert_eq!(
        (&done["before"], &done["after"]),
        (&json!(before), &json!(before))
    );
    assert_eq!(mode(&fixture, "src/run"), 0o644);
    set_mode(&fixture, "src/run", 0o640);
    let binary = json!({ "path": "src/run", "edits": [], "executable": true });
    client.call_ok("write_file", binary);
    assert_eq!(mode(&fixture, "src/run"), 0o750);
    assert_eq!(fixture.read("src/run"), "#!/bin/sh\n:\n");
}

#[test]
fn p19_changed_mode_is_undone_with_the_write() {
    let Some(fixture) = with_failing_commands() else {
        return;
    };
    let mut client = fixture.executor(&[]);
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/a.txt", "edits": [], "executable": true }),
    );
    assert_eq!(failed.code(), "PREFLIGHT_FAILED");
    assert_eq!(mode(&fixture, "src/a.txt"), 0o644);
}

#[test]
fn p3_special_bits_are_never_kept() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    for path in ["src/written", "src/edited", "src/moved", "src/only-mode"] {
        fixture.write(path, "x\n");
        set_mode(&fixture, path, 0o7755);
    }
    let hash = fixture.hash("src/moved");
    client.call_ok(
        "write_file",
        json!({ "path": "src/written", "content": "y" }),
    );
    client.call_ok(
        "write_file",
        json!({ "path": "src/edited", "edits": [{ "old": "x", "new": "y" }] }),
    );
    client.call_ok(
        "move_file",
        json!({ "from": "src/moved", "to": "src/there", "previous_hash": hash }),
    );
    client.call_ok(
        "write_file",
        json!({ "path": "src/only-mode", "edits": [], "executable": true }),
    );
    for path in ["src/written", "src/edited", "src/there", "src/only-mode"] {
        assert_eq!(mode(&fixture, path), 0o755, "{path}");
    }
}

#[test]
fn p19_policy_judges_a_moved_file_at_its_new_path() {
    let fixture = WorkspaceFixture::new();
    fixture.write("src/lib.rs", "");
    fixture.write("tests/t.rs", "fn f() { g().unwrap() }\n");
    fixture.allow_phase(json!({
        "allow": ["src/**", "tests/**"], "policy": { "profiles": ["rust-strict"] },
    }));
    let mut client = fixture.executor(&[]);
    let hash = fixture.hash("tests/t.rs");
    let failed = client.call_err(
        "move_file",
        json!({ "from": "tests/t.rs", "to": "src/t.rs", "previous_hash": hash }),
    );
    assert_eq!(failed.code(), "RUST_POLICY_VIOLATION");
    client.call_ok(
        "move_file",
        json!({ "from": "tests/t.rs", "to": "tests/u.rs", "previous_hash": hash }),
    );
}
