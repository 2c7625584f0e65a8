//! Files that other programs run or obey: a plan must name them.

use super::fixture::WorkspaceFixture;
use serde_json::json;

#[test]
fn p18_wildcard_does_not_cover_executed_files() {
    let fixture = WorkspaceFixture::new();
    fixture.allow(&["**"]);
    let mut client = fixture.executor(&["--lock-after", "1"]);
    for path in [
        ".github/workflows/x.yml",
        "build.rs",
        ".mcp.json",
        ".claude/settings.json",
        ".husky/pre-commit",
        "sub/.Cargo/config.toml",
        "MAKEFILE",
    ] {
        let failed = client.call_err("write_file", json!({ "path": path, "content": "x" }));
        assert_eq!(failed.code(), "PLAN_SCOPE_VIOLATION", "{path}");
        assert_eq!(failed.cause()["executed"], true);
        assert_eq!(failed.cause()["entry"], path);
        assert_eq!(failed.effect(), "none");
        assert!(!fixture.path(path).exists(), "{path}");
    }
    // None of these was a strike, and other files are covered.
    client.call_ok("write_file", json!({ "path": "README.md", "content": "x" }));
}

#[test]
fn p18_existing_executed_files_are_neither_changed_moved_nor_deleted() {
    let fixture = WorkspaceFixture::new();
    fixture.write("build.rs", "fn main() {}\n");
    fixture.allow(&["**"]);
    let mut client = fixture.executor(&[]);
    let hash = fixture.hash("build.rs");
    for (tool, arguments) in [
        (
            "write_file",
            json!({ "path": "build.rs", "edits": [{ "old": "main", "new": "m" }] }),
        ),
        (
            "delete_file",
            json!({ "path": "build.rs", "previous_hash": hash }),
        ),
        (
            "move_file",
            json!({ "from": "build.rs", "to": "b.rs", "previous_hash": hash }),
        ),
        (
            "move_file",
            json!({ "from": "src/a.txt", "to": "justfile", "previous_hash": fixture.hash("src/a.txt") }),
        ),
    ] {
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "PLAN_SCOPE_VIOLATION", "{tool}");
        assert_eq!(failed.cause()["executed"], true);
    }
    assert_eq!(fixture.hash("build.rs"), hash);
}

#[test]
fn p18_named_executed_files_can_be_written() {
    let fixture = WorkspaceFixture::new();
    fixture.allow(&["**", ".github/workflows/*", "**/build.rs"]);
    let mut client = fixture.executor(&[]);
    for path in [".github/workflows/x.yml", "crates/a/build.rs"] {
        client.call_ok("write_file", json!({ "path": path, "content": "x" }));
    }
    let failed = client.call_err("write_file", json!({ "path": ".envrc", "content": "x" }));
    assert_eq!(failed.cause()["executed"], true);
}

#[test]
fn p18_person_extends_and_shortens_the_list() {
    let fixture = WorkspaceFixture::new();
    fixture.allow(&["**"]);
    fixture.write(".candor/executed", "deploy/\n!build.rs\n");
    let mut client = fixture.executor(&[]);
    client.call_ok("write_file", json!({ "path": "build.rs", "content": "x" }));
    let failed = client.call_err("write_file", json!({ "path": "deploy/x", "content": "x" }));
    assert_eq!(failed.cause()["executed"], true);
    fixture.write(".candor/executed", "ok\n[\n");
    let failed = client.call_err("write_file", json!({ "path": "b.txt", "content": "x" }));
    assert_eq!(failed.code(), "FILE_READ_FAILED");
    assert!(
        failed.message().contains(".candor/executed, line 2"),
        "{}",
        failed.message()
    );
    let failed = client.call_err(
        "write_file",
        json!({ "path": ".candor/executed", "content": "" }),
    );
    assert_eq!(failed.code(), "UNAUTHORIZED_ACTION");
}
