//! The gates of a write in their order: a call that fails at two gates gets the code of the earlier one, and
//! nothing is changed.

use crate::workspace::fixture::{EXECUTOR, PLANNER, WorkspaceFixture, plan, sha256};
use crate::workspace::kernel::{lacks_sandbox, limit, with_ignored_size_signal};
use rustix::process::Resource;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const CONFLICT: &str = "<<<<<<< a\n=======\n>>>>>>> b\n";

/// Every file of the workspace but the log, with its hash.
fn files(fixture: &WorkspaceFixture) -> BTreeMap<PathBuf, String> {
    fn walk(dir: &Path, hashes: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, hashes),
                false => drop(hashes.insert(path.clone(), sha256(&fs::read(&path).unwrap()))),
            }
        }
    }
    let mut hashes = BTreeMap::new();
    walk(&fixture.root(), &mut hashes);
    hashes.retain(|path, _| !path.to_str().unwrap().contains("audit-log.jsonl"));
    hashes
}

/// Asks on a server with these flags; the code.
fn first(fixture: &WorkspaceFixture, flags: &[&str], arguments: Value) -> String {
    let mut client = fixture.client(with_ignored_size_signal(&fixture.command(EXECUTOR, flags)));
    client.begin_session();
    let pid = client.server.process().pid();
    limit(pid, Resource::Fsize, Some(512 * 1024));
    let before = files(fixture);
    let failed = client.call_err("write_file", arguments);
    assert_eq!(files(fixture), before);
    assert_eq!(failed.effect(), "none");
    let code = failed.code().to_owned();
    if code == "UNAUTHORIZED_ACTION" && !flags.contains(&"--read-only") {
        fixture.unlock();
    }
    code
}

#[test]
fn earlier_gate_decides_the_code() {
    let wrong = "0".repeat(64);
    let large = "x".repeat(600 * 1024);
    let fixture = WorkspaceFixture::new();
    fixture.write(".git/HEAD", "");
    fixture.write("other.txt", "");
    let read_only = ["--read-only"];
    let check = |flags: &[&str], arguments: Value, code: &str| {
        assert_eq!(
            first(&fixture, flags, arguments.clone()),
            code,
            "{arguments}"
        );
    };
    // Arguments, then the claimed role, then the path, then protected, then a server that only reads,
    // then the plan.
    check(
        &[],
        json!({ "path": 1, "content": "x", "role": PLANNER }),
        "INVALID_INPUT_TYPE",
    );
    check(
        &[],
        json!({ "path": "x", "content": "x", "patch": "x", "role": PLANNER }),
        "INVALID_INPUT_VALUE",
    );
    check(
        &[],
        json!({ "path": "../x", "content": "x", "role": PLANNER }),
        "ROLE_MISMATCH",
    );
    check(
        &[],
        json!({ "path": ".git/../x", "content": "x" }),
        "PATH_TRAVERSAL_BLOCKED",
    );
    check(
        &[],
        json!({ "path": ".git/HEAD/x", "content": "x" }),
        "PATH_NOT_FOUND",
    );
    check(
        &["--read-only", "--unlock", "report"],
        json!({ "path": "src/a.txt/x", "content": "x" }),
        "PATH_NOT_FOUND",
    );
    check(
        &read_only,
        json!({ "path": "src/b", "content": "x" }),
        "INSUFFICIENT_PERMISSIONS",
    );
    let draft = fixture.save_plan(plan(json!({ "allow": ["src/**"] })));
    check(
        &[],
        json!({ "path": "src/b", "content": "x", "plan_hash": draft, "phase_id": "OTHER" }),
        "PLAN_NOT_APPROVED",
    );
    fixture.approve(&draft);
    // Phase and scope, then create_only, then previous_hash, then edits or patch, then policy, then the
    // write.
    check(
        &[],
        json!({ "path": "other.txt", "content": "x", "create_only": true }),
        "PLAN_SCOPE_VIOLATION",
    );
    check(
        &[],
        json!({ "path": "src/a.txt", "content": "x", "create_only": true, "previous_hash": wrong }),
        "FILE_ALREADY_EXISTS",
    );
    for how in [
        json!({ "patch": "words" }),
        json!({ "edits": [{ "old": "none", "new": "" }] }),
    ] {
        let mut arguments = json!({ "path": "src/a.txt", "previous_hash": wrong });
        for (name, value) in how.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        check(&[], arguments, "HASH_MISMATCH");
    }
    check(
        &[],
        json!({ "path": "src/a.txt", "edits": [{ "old": "none", "new": CONFLICT }] }),
        "PATCH_APPLY_FAILED",
    );
    check(
        &[],
        json!({ "path": "src/b", "content": format!("{CONFLICT}{large}") }),
        "POLICY_VIOLATION",
    );
    // The write, then its checks.
    let each = fixture.allow_phase(json!({
        "allow": ["src/**"], "verify": [["false"]], "preflight": "each_write",
    }));
    check(
        &[],
        json!({ "path": "src/b", "content": large, "plan_hash": each }),
        "FILE_WRITE_FAILED",
    );
    if !lacks_sandbox() {
        check(
            &[],
            json!({ "path": "src/a.txt", "content": "x", "plan_hash": each }),
            "PREFLIGHT_FAILED",
        );
    }
    // A protected path comes before a read-only server. It locks, so it is the last case.
    check(
        &read_only,
        json!({ "path": ".git/HEAD", "content": "x" }),
        "UNAUTHORIZED_ACTION",
    );
}
