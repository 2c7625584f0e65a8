//! The gates of a write in their order: a call that fails at two neighbours is told the earlier one, and
//! nothing is changed.

use crate::workspace::kernel::{limit, minding_sizes};
use crate::workspace::place::{EXECUTOR, PLANNER, Place, plan, sha256};
use rustix::process::Resource;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const CONFLICT: &str = "<<<<<<< a\n=======\n>>>>>>> b\n";

/// Every file of the workspace but the log, with its hash.
fn files(place: &Place) -> BTreeMap<PathBuf, String> {
    fn walk(dir: &Path, found: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, found),
                false => drop(found.insert(path.clone(), sha256(&fs::read(&path).unwrap()))),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&place.root(), &mut found);
    found.retain(|path, _| !path.to_str().unwrap().contains("audit-log.jsonl"));
    found
}

/// Asks on a server with these flags; the code.
fn first(place: &Place, flags: &[&str], arguments: Value) -> String {
    let mut client = place.client(minding_sizes(&place.command(EXECUTOR, flags)));
    client.begin();
    let pid = client.server.process().pid();
    limit(pid, Resource::Fsize, Some(512 * 1024));
    let before = files(place);
    let failed = client.failed("write_file", arguments);
    assert_eq!(files(place), before);
    assert_eq!(failed.effect(), "none");
    let code = failed.code().to_owned();
    if code == "UNAUTHORIZED_ACTION" && !flags.contains(&"--read-only") {
        client.done("write_failure_report", json!({ "title": "t", "body": "b" }));
    }
    code
}

#[test]
fn the_earlier_gate_answers() {
    let wrong = "0".repeat(64);
    let large = "x".repeat(600 * 1024);
    let place = Place::new();
    place.put(".git/HEAD", "");
    place.put("other.txt", "");
    let read_only = ["--read-only"];
    let check = |flags: &[&str], arguments: Value, code: &str| {
        assert_eq!(first(&place, flags, arguments.clone()), code, "{arguments}");
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
        json!({ "path": "src/none/x", "content": "x" }),
        "PATH_NOT_FOUND",
    );
    check(
        &read_only,
        json!({ "path": "src/b", "content": "x" }),
        "INSUFFICIENT_PERMISSIONS",
    );
    let draft = place.draft(plan(json!({ "allow": ["src/**"] })));
    check(
        &[],
        json!({ "path": "src/b", "content": "x", "plan_hash": draft, "phase_id": "OTHER" }),
        "PLAN_NOT_APPROVED",
    );
    place.approve(&draft);
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
    let each = place.allow_phase(json!({
        "allow": ["src/**"], "verify": [["false"]], "preflight": "each_write",
    }));
    check(
        &[],
        json!({ "path": "src/b", "content": large, "plan_hash": each }),
        "FILE_WRITE_FAILED",
    );
    check(
        &[],
        json!({ "path": "src/a.txt", "content": "x", "plan_hash": each }),
        "PREFLIGHT_FAILED",
    );
    // Protected, before a server that only reads: it locks, so it comes last.
    check(
        &read_only,
        json!({ "path": ".git/HEAD", "content": "x" }),
        "UNAUTHORIZED_ACTION",
    );
}
