//! Failures that lock a session, tools that work while it is locked, and ways to unlock it.

use crate::workspace::fixture::{EXECUTOR, PLANNER, WorkspaceFixture, plan};
use crate::workspace::requests::{AgentClient, CallFailure};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

fn write(path: &str) -> Value {
    json!({ "path": path, "content": "x" })
}

fn report(client: &mut AgentClient) -> Value {
    client.call_ok(
        "write_failure_report",
        json!({ "title": "It failed", "body": "So it was." }),
    )
}

/// The workspace is locked by this failure and no other.
fn check_locked_by(client: &mut AgentClient, first: &CallFailure) {
    for (tool, arguments) in [
        ("write_file", write("src/b.txt")),
        ("write_file", write(".git/x")),
        ("write_file", json!({ "nonsense": 1 })),
        ("run_preflight", json!({})),
    ] {
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "SESSION_LOCKED", "{tool}");
        let seq = &first.line.as_ref().unwrap()["seq"];
        assert_eq!(
            *failed.cause(),
            json!({ "error_code": first.code(), "human_message": first.message(), "seq": seq })
        );
    }
}

fn check_unlocked(client: &mut AgentClient) {
    client.call_ok("write_file", write("src/free.txt"));
}

fn fixture() -> WorkspaceFixture {
    let fixture = WorkspaceFixture::with_plan();
    fixture.write(".git/HEAD", "");
    fixture.write(".env", "");
    fixture
}

#[test]
fn write_to_a_protected_path_locks_at_once() {
    for (tool, arguments) in [
        ("write_file", write(".git/hooks")),
        (
            "delete_file",
            json!({ "path": "audit-log.jsonl", "previous_hash": "0".repeat(64) }),
        ),
        (
            "apply_changes",
            json!({ "changes": [write("src/b.txt"), write(".GIT/HEAD")] }),
        ),
    ] {
        let fixture = fixture();
        fixture.write(".GIT/HEAD", "");
        let mut client = fixture.executor(&[]);
        let first = client.call_err(tool, arguments);
        assert_eq!(first.code(), "UNAUTHORIZED_ACTION", "{tool}");
        check_locked_by(&mut client, &first);
        assert!(!fixture.path("src/b.txt").exists());
    }
}

#[test]
fn third_violation_locks() {
    let strikes = [
        (
            "read_file",
            json!({ "path": "../x" }),
            "PATH_TRAVERSAL_BLOCKED",
        ),
        (
            "read_file",
            json!({ "path": "/etc/passwd" }),
            "OUTSIDE_WORKSPACE",
        ),
        ("save_plan", json!({}), "UNAUTHORIZED_ACTION"),
        (
            "read_file",
            json!({ "path": ".env" }),
            "UNAUTHORIZED_ACTION",
        ),
        ("write_file", write("out-of-scope"), "PLAN_SCOPE_VIOLATION"),
    ];
    for (tool, arguments, code) in &strikes {
        let fixture = fixture();
        let mut client = fixture.executor(&[]);
        for _ in 0..2 {
            assert_eq!(client.call_code(tool, arguments.clone()), *code);
            check_unlocked(&mut client);
        }
        let third = client.call_err(tool, arguments.clone());
        assert_eq!(third.code(), *code);
        check_locked_by(&mut client, &third);
    }
    // Violations count together, up to the number that the owner chooses.
    let fixture = fixture();
    let mut client = fixture.executor(&["--lock-after", "5"]);
    for (tool, arguments, _) in &strikes[..4] {
        client.call_err(tool, arguments.clone());
        check_unlocked(&mut client);
    }
    let fifth = client.call_err(strikes[4].0, strikes[4].1.clone());
    check_locked_by(&mut client, &fifth);
}

#[test]
fn other_failures_do_not_lock() {
    let fixture = fixture();
    let draft = fixture.save_plan(plan(json!({ "id": "OTHER", "allow": ["lib/**"] })));
    symlink("/etc/passwd", fixture.path("src/link")).unwrap();
    let mut client = fixture.executor(&["--lock-after", "1"]);
    let conflict = "<<<<<<< a\n=======\n>>>>>>> b\n";
    for (tool, arguments, code) in [
        ("read_file", json!({ "path": "none" }), "FILE_NOT_FOUND"),
        ("read_file", json!({ "path": "none/x" }), "PATH_NOT_FOUND"),
        ("read_file", json!({ "path": "src" }), "FILE_READ_FAILED"),
        ("read_file", json!({ "path": "a\0" }), "INVALID_PATH"),
        (
            "read_file",
            json!({ "path": "src/link" }),
            "OUTSIDE_WORKSPACE",
        ),
        ("write_file", write("src/link"), "OUTSIDE_WORKSPACE"),
        (
            "session_status",
            json!({ "role": PLANNER }),
            "ROLE_MISMATCH",
        ),
        (
            "session_status",
            json!({ "role": "assistant" }),
            "INVALID_INPUT_VALUE",
        ),
        ("read_file", json!({}), "MISSING_REQUIRED_FIELD"),
        ("read_file", json!({ "path": 1 }), "INVALID_INPUT_TYPE"),
        (
            "write_file",
            json!({ "path": "src/c", "content": conflict }),
            "POLICY_VIOLATION",
        ),
        (
            "write_file",
            json!({ "path": "src/c", "content": "", "plan_hash": draft }),
            "PLAN_NOT_APPROVED",
        ),
        (
            "write_file",
            json!({ "path": "src/c", "content": "", "plan_hash": "00000000" }),
            "PLAN_NOT_FOUND",
        ),
        (
            "write_file",
            json!({ "path": "src/a.txt", "content": "", "create_only": true }),
            "FILE_ALREADY_EXISTS",
        ),
        (
            "begin_session",
            json!({ "workspace_root": "/" }),
            "SESSION_INITIALIZATION_FAILED",
        ),
    ] {
        for _ in 0..2 {
            assert_eq!(client.call_code(tool, arguments.clone()), code);
        }
        check_unlocked(&mut client);
    }
    assert_eq!(client.call_ok("session_status", json!({}))["strikes"], 0);
}

#[test]
fn locked_session_can_read_and_a_report_unlocks_it() {
    let fixture = fixture();
    let mut client = fixture.executor(&[]);
    let first = client.call_err("write_file", write(".git/HEAD"));
    let plan = client.call_ok("list_plans", json!({}))["plans"][0]["plan_hash"].clone();
    for (tool, arguments) in [
        ("session_status", json!({})),
        ("read_file", json!({ "path": "src/a.txt" })),
        ("list_files", json!({})),
        ("search_files", json!({ "pattern": "two" })),
        ("list_plans", json!({})),
        ("read_plan", json!({ "plan_hash": plan })),
        (
            "wait_for_approval",
            json!({ "plan_hash": plan, "timeout_s": 0 }),
        ),
        ("read_audit_log", json!({})),
        ("verify_audit_log", json!({})),
    ] {
        client.call_ok(tool, arguments);
    }
    // Other failures keep their code and do not become the cause of the lock.
    for _ in 0..4 {
        let failed = client.call_err("read_file", json!({ "path": "../x" }));
        assert_eq!(failed.code(), "PATH_TRAVERSAL_BLOCKED");
    }
    check_locked_by(&mut client, &first);
    let session = client.begin_session();
    assert_eq!(session["locked"], true);
    assert_eq!(session["lock"]["error_code"], "UNAUTHORIZED_ACTION");
    let answer = report(&mut client);
    assert_eq!(answer["unlocked"], true);
    let text = fixture.read(answer["path"].as_str().unwrap());
    assert!(
        text.contains("So it was.") && text.contains("UNAUTHORIZED_ACTION"),
        "{text}"
    );
    check_unlocked(&mut client);
    let status = client.call_ok("session_status", json!({}));
    assert_eq!(
        (&status["locked"], &status["strikes"]),
        (&json!(false), &json!(0))
    );
}

#[test]
fn unlock_by_person_refuses_reports() {
    let fixture = fixture();
    let mut client = fixture.executor(&["--unlock", "person"]);
    let first = client.call_err("write_file", write(".git/HEAD"));
    assert_eq!(report(&mut client)["unlocked"], false);
    check_locked_by(&mut client, &first);
    client.end();
    // Nor by another server that is started otherwise.
    let mut client = fixture.executor(&[]);
    assert_eq!(report(&mut client)["unlocked"], false);
    check_locked_by(&mut client, &first);
}

#[test]
fn lock_outlives_the_process_and_belongs_to_workspace_and_role() {
    let fixture = fixture();
    let other = fixture.path_beside("other");
    std::fs::create_dir(&other).unwrap();
    let flags = ["--root", other.to_str().unwrap()];
    let mut client = fixture.executor(&flags);
    let first = client.call_err("write_file", write(".git/HEAD"));
    client.server.process().signal("KILL");
    client.server.exit();
    let mut client = fixture.serve(EXECUTOR, &flags);
    let session = client.begin_session();
    assert_eq!(session["locked"], true);
    assert_eq!(session["lock"]["seq"], first.line.as_ref().unwrap()["seq"]);
    check_locked_by(&mut client, &first);
    // The planner of the same workspace, and the executor of another, are not locked.
    let mut planner = fixture.planner(&[]);
    assert_eq!(
        planner.call_ok("session_status", json!({}))["locked"],
        false
    );
    planner.call_ok(
        "lint_plan",
        json!({ "plan": plan(json!({ "allow": ["src/**"] })) }),
    );
    let mut elsewhere = fixture.serve(EXECUTOR, &flags);
    let session = elsewhere.call_ok("begin_session", json!({ "workspace_root": other }));
    assert_eq!(session["locked"], false);
    // Another server of the role unlocks it for all.
    let mut second = fixture.executor(&[]);
    assert_eq!(report(&mut second)["unlocked"], true);
    check_unlocked(&mut client);
}
