//! Commands on record: a durable line before the first one starts, their outcome in the line of the call, and
//! a recovery if the server dies in between.

use crate::requests::call;
use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use crate::workspace::kernel::lacks_sandbox;
use candor_testkit::Exit;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Returns the lines with this `tool_name`.
fn lines_of(fixture: &WorkspaceFixture, tool: &str) -> Vec<Value> {
    let lines = fixture.log_lines().into_iter();
    lines.filter(|line| line["tool_name"] == tool).collect()
}

#[test]
fn commands_have_a_start_and_an_end_on_record() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let plan = fixture.allow_phase(json!({
        "allow": ["src/**"],
        "verify": [["true"], ["sh", "-c", "exit 0"]],
    }));
    let mut client = fixture.executor(&[]);
    client.call_ok("run_preflight", json!({ "plan_hash": plan }));
    client.end();
    let lines = fixture.log_lines();
    let [_, start, end] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert_eq!(start["tool_name"], "command_start");
    assert_eq!(
        (&start["result"], &start["effect"]),
        (&json!("ok"), &json!("unknown"))
    );
    for name in [
        "request_id",
        "session_id",
        "args_hash",
        "plan_hash",
        "phase_id",
        "approval",
    ] {
        assert_eq!(start[name], end[name], "{name}");
        assert!(!start[name].is_null(), "{name}");
    }
    let command = |argv: Value, code: Value| json!({ "argv": argv, "exit_code": code, "signal": null, "timed_out": false, "fresh": false });
    let commands = |code: Value| {
        json!([
            command(json!(["true"]), code.clone()),
            command(json!(["sh", "-c", "exit 0"]), code),
        ])
    };
    assert_eq!(start["commands"], commands(Value::Null));
    assert_eq!(end["commands"], commands(json!(0)));
    for line in [start, end] {
        assert_eq!(line["v"], 2);
        assert_ne!(line["sandbox"]["level"], "none", "{line}");
        assert_eq!(line["sandbox"]["network"]["mode"], "off");
    }
    assert!(
        !fixture
            .state()
            .join("running")
            .read_dir()
            .unwrap()
            .any(|_| true)
    );
    fixture.verify();
}

/// The server is killed while a command runs; the next session records that the start has no end.
#[test]
fn p2_start_without_an_end_gets_a_recovery() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    fixture.allow_phase(json!({ "allow": ["src/**"], "verify": [["sleep", "600"]] }));
    let mut client = fixture.executor(&[]);
    client.server.send_line(call(7, "run_preflight", json!({})));
    let start = loop {
        if let Some(start) = lines_of(&fixture, "command_start").pop() {
            break start;
        }
        std::thread::yield_now();
    };
    // A session that begins meanwhile leaves the start of a living server alone.
    let mut other = fixture.executor(&[]);
    other.end();
    assert_eq!(lines_of(&fixture, "recovery"), Vec::<Value>::new());
    let pid = Pid::from_raw(client.server.process().pid().try_into().unwrap());
    kill_process(pid.unwrap(), Signal::KILL).unwrap();
    assert_eq!(client.server.end().1, Exit::Signal(9));
    for _ in 0..2 {
        let mut next = fixture.executor(&[]);
        next.end();
        let recoveries = lines_of(&fixture, "recovery");
        assert_eq!(recoveries.len(), 1, "{recoveries:?}");
        assert_eq!(recoveries[0]["cause"]["start_seq"], start["seq"]);
        assert_eq!(recoveries[0]["commands"], start["commands"]);
        assert_eq!(recoveries[0]["effect"], "unknown");
    }
    fixture.verify();
}

/// A write with commands is interrupted: one recovery undoes it and ends the start.
#[test]
fn interrupted_write_with_commands_has_one_recovery() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    fixture.allow_phase(json!({
        "allow": ["src/**"], "verify": [["sleep", "600"]], "preflight": "each_write",
    }));
    let mut client = fixture.executor(&[]);
    let write = json!({ "path": "src/a.txt", "content": "new" });
    client.server.send_line(call(7, "write_file", &write));
    while lines_of(&fixture, "command_start").is_empty() {
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(client.server.process().pid().try_into().unwrap());
    kill_process(pid.unwrap(), Signal::KILL).unwrap();
    assert_eq!(client.server.end().1, Exit::Signal(9));
    let mut next = fixture.executor(&[]);
    next.end();
    let recoveries = lines_of(&fixture, "recovery");
    assert_eq!(recoveries.len(), 1, "{recoveries:?}");
    assert_eq!(recoveries[0]["cause"]["start_seq"], 2);
    assert_eq!(recoveries[0]["subject"]["path"], "src/a.txt");
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
}

/// If the start cannot be recorded, nothing is started, and a write is undone.
#[test]
fn nothing_starts_if_the_start_cannot_be_recorded() {
    let fixture = WorkspaceFixture::new();
    fixture.allow_phase(json!({
        "allow": ["src/**"], "verify": [["true"]], "preflight": "each_write",
    }));
    let mut client = fixture.executor(&[]);
    // The state directory cannot take the mark of the session.
    std::fs::write(fixture.state().join("running"), "").unwrap();
    let write = json!({ "path": "src/a.txt", "content": "new" });
    let failed = client.call_err("write_file", write);
    assert_eq!(
        (failed.code(), failed.effect()),
        ("AUDIT_LOG_FAILED", "none")
    );
    assert_eq!(lines_of(&fixture, "command_start"), Vec::<Value>::new());
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
}

/// A log of version 1 goes on with lines of version 2, and verifies.
#[test]
fn log_of_version_1_goes_on() {
    let fixture = WorkspaceFixture::new();
    let old = include_str!("fixtures/audit-log-v1.jsonl");
    fixture.write("audit-log.jsonl", old);
    let mut permissions = std::fs::metadata(fixture.path("audit-log.jsonl"))
        .unwrap()
        .permissions();
    permissions.set_mode(0o600);
    std::fs::set_permissions(fixture.path("audit-log.jsonl"), permissions).unwrap();
    let mut client = fixture.serve(EXECUTOR, &[]);
    client.begin_session();
    client.call_ok("verify_audit_log", json!({}));
    client.end();
    let versions: Vec<_> = fixture
        .log_lines()
        .iter()
        .map(|line| line["v"].clone())
        .collect();
    assert_eq!(versions[..2], [json!(1), json!(1)]);
    assert!(
        versions[2..].iter().all(|version| *version == 2),
        "{versions:?}"
    );
    fixture.verify();
}
