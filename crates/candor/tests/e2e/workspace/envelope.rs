//! The envelope on the wire: its members, the stack that only debugging adds, the shapes of causes, and
//! requests that are not calls of a tool.

use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use crate::workspace::kernel::lacks_sandbox;
use crate::workspace::requests::KEYS;
use serde_json::{Value, json};

#[test]
fn stack_needs_debug_stack_true() {
    let fixture = WorkspaceFixture::new();
    for (value, adds) in [
        ("true", true),
        ("1", false),
        ("TRUE", false),
        ("True", false),
        ("true ", false),
        ("yes", false),
        ("", false),
    ] {
        let mut command = fixture.command(EXECUTOR, &[]);
        command.env("DEBUG_STACK", value);
        let mut client = fixture.client(command);
        let early = client.call_err("session_status", json!({}));
        client.begin_session();
        let later = client.call_err("read_file", json!({ "path": "src/none" }));
        for failed in [early, later] {
            let keys: Vec<_> = failed.envelope.as_object().unwrap().keys().collect();
            let expected = KEYS.iter().copied();
            let expected: Vec<_> = expected.chain(adds.then_some("stack_trace")).collect();
            assert_eq!(keys, expected, "DEBUG_STACK={value}");
            assert_eq!(failed.envelope["stack_trace"].is_string(), adds);
            let line = failed.line.unwrap();
            assert!(!line.to_string().contains("stack_trace"), "{line}");
        }
        client.end();
    }
}

/// A request that is not a call fails with a JSON-RPC error, and is recorded.
#[test]
fn requests_that_are_not_calls_are_recorded() {
    let fixture = WorkspaceFixture::new();
    for in_session in [false, true] {
        let mut client = fixture.serve(EXECUTOR, &[]);
        if in_session {
            client.begin_session();
        }
        for (message, code) in [
            ("nonsense", -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/none"}"#, -32601),
            (
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"no_tool"}}"#,
                -32602,
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":5}}"#,
                -32602,
            ),
        ] {
            let answer: Value = serde_json::from_str(&client.server.ask(message)).unwrap();
            assert_eq!(answer["error"]["code"], code, "{answer}");
            let lines = match in_session {
                true => fixture.log_lines(),
                false => fixture.refusals(),
            };
            let line = lines.last().unwrap();
            for name in ["tool_name", "error_code", "envelope", "invariant_id"] {
                assert_eq!(line[name], Value::Null, "{name}: {line}");
            }
            assert_eq!(line["result"], "error");
            assert_eq!(line["cause"]["code"], code, "{line}");
        }
        client.end();
    }
    fixture.verify();
}

/// The members that every line has, sorted as canonical JSON has them.
#[test]
fn log_line_has_all_its_members() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let before = fixture.hash("src/a.txt");
    client.call_ok(
        "write_file",
        json!({ "path": "src/a.txt", "content": "new" }),
    );
    client.call_err("read_file", json!({ "path": "none" }));
    let lines = fixture.log_lines();
    for line in &lines {
        let keys: Vec<_> = line.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "actor",
                "approval",
                "args_hash",
                "cause",
                "commands",
                "duration_us",
                "effect",
                "envelope",
                "error_code",
                "hash",
                "invariant_id",
                "phase_id",
                "plan_hash",
                "prev_hash",
                "request_id",
                "result",
                "role",
                "sandbox",
                "seq",
                "session_id",
                "subject",
                "timestamp",
                "tool_name",
                "v",
            ]
        );
        let actor: Vec<_> = line["actor"].as_object().unwrap().keys().collect();
        assert_eq!(actor, ["candor", "client", "client_version", "os_user"]);
    }
    let wrote = &lines[1];
    assert_eq!(
        wrote["subject"],
        json!({ "path": "src/a.txt", "before": before, "after": fixture.hash("src/a.txt"), "bytes": 3, "mode": "100644" })
    );
    assert_eq!(wrote["approval"]["approver"], "anna");
    assert_eq!(wrote["envelope"], Value::Null);
    assert_eq!(wrote["result"], "ok");
    assert_eq!(lines[0]["prev_hash"], "0".repeat(64));
}

/// A long cause is shortened and marked; the record contains the same text.
#[test]
fn long_cause_is_cut() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let plan = fixture.allow_phase(json!({
        "allow": ["src/**"],
        "verify": [["sh", "-c", "yes 0123456789abcdef | head -c 200000; exit 1"]],
    }));
    let mut client = fixture.executor(&[]);
    let failed = client.call_err("run_preflight", json!({ "plan_hash": plan }));
    assert_eq!(failed.code(), "PREFLIGHT_FAILED");
    assert!(failed.cause().to_string().len() <= 16 * 1024);
}
