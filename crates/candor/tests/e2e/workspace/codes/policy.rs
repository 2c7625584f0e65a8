//! Policy enforcement errors.

use crate::workspace::fixture::WorkspaceFixture;
use crate::workspace::kernel::lacks_sandbox;
use serde_json::json;

const CONFLICT: &str = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";

#[test]
fn policy_violation() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/b.txt", "content": CONFLICT }),
    );
    assert_eq!(failed.code(), "POLICY_VIOLATION");
    let finding = &failed.cause()["findings"][0];
    assert_eq!(finding["line"], 1, "{failed:?}");
    assert!(finding["rule"].is_string() && finding["text"].is_string());
    assert_eq!(failed.cause()["omitted"], 0);
    // Both at once.
    fixture.allow_phase(
        json!({ "id": "STRICT", "allow": ["src/**"], "policy": { "profiles": ["rust-strict"] } }),
    );
    let mut strict = fixture.executor(&["--rust-strict"]);
    let both = format!("{CONFLICT}fn f() {{ g().unwrap() }}\n");
    let plan = fixture.allow(&["src/**"]);
    let failed = strict.call_err(
        "write_file",
        json!({ "path": "src/b.rs", "content": both, "plan_hash": plan }),
    );
    assert_eq!(failed.code(), "POLICY_VIOLATION");
    assert!(!fixture.path("src/b.txt").exists());
}

#[test]
fn rust_policy_violation() {
    let fixture = WorkspaceFixture::new();
    fixture.write("src/old.rs", "fn f() { g().unwrap() }\n");
    fixture.allow_phase(json!({ "allow": ["src/**"], "policy": { "profiles": ["rust-strict"] } }));
    let mut client = fixture.executor(&[]);
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/b.rs", "content": "fn f() {\n    g().unwrap();\n    todo!()\n}\n" }),
    );
    assert_eq!(failed.code(), "RUST_POLICY_VIOLATION");
    let findings = failed.cause()["findings"].as_array().unwrap();
    let lines: Vec<_> = findings.iter().map(|one| one["line"].clone()).collect();
    assert_eq!(lines, [json!(2), json!(3)], "{failed:?}");
    // Words in prose and existing lines are not findings.
    client.call_ok(
        "write_file",
        json!({ "path": "src/c.rs", "content": "// unwrap() and panic! are words\nfn f() {}\n" }),
    );
    client.call_ok(
        "write_file",
        json!({ "path": "src/old.rs", "edits": [{ "old": "fn f", "new": "fn h() {}\nfn f" }] }),
    );
}

#[test]
fn preflight_failed() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let plan = fixture.allow_phase(json!({
        "allow": ["src/**"],
        "verify": [["sh", "-c", "echo said; exit 3"]],
    }));
    let mut client = fixture.executor(&[]);
    let failed = client.call_err("run_preflight", json!({ "plan_hash": plan }));
    assert_eq!(failed.code(), "PREFLIGHT_FAILED");
    let cause = failed.cause().as_object().unwrap();
    let keys: Vec<_> = cause.keys().collect();
    assert_eq!(
        keys,
        ["argv", "exit_code", "signal", "timed_out", "output_tail"]
    );
    assert_eq!(cause["exit_code"], 3, "{failed:?}");
    assert_eq!(cause["output_tail"], "said\n");
    // A check that runs with each write takes the write back.
    let each = fixture.allow_phase(json!({
        "allow": ["src/**"],
        "verify": [["sh", "-c", "grep -q good src/b.txt"]],
        "preflight": "each_write",
    }));
    let write = |content| json!({ "path": "src/b.txt", "content": content, "plan_hash": each });
    let failed = client.call_err("write_file", write("bad"));
    assert_eq!(
        (failed.code(), failed.effect()),
        ("PREFLIGHT_FAILED", "none")
    );
    assert!(!fixture.path("src/b.txt").exists());
    client.call_ok("write_file", write("good"));
}
