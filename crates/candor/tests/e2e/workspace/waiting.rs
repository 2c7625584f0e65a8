//! Calls that wait for an approval, cancelled calls, and calls of an ending server.

use crate::fixture::LIMIT;
use crate::requests::call;
use crate::workspace::fixture::{WorkspaceFixture, plan};
use candor_testkit::Exit;
use serde_json::{Value, json};

#[test]
fn approval_ends_the_wait() {
    let fixture = WorkspaceFixture::new();
    let draft = fixture.save_plan(plan(json!({ "allow": ["src/**"] })));
    let mut client = fixture.executor(&[]);
    let wait = |seconds: u64| json!({ "plan_hash": &draft[..8], "timeout_s": seconds });
    let waited = client.call_ok("wait_for_approval", wait(0));
    assert_eq!(waited["approval"]["approved"], false);
    client
        .server
        .send_line(call(7, "wait_for_approval", wait(600)));
    // Others are answered meanwhile.
    let answer = client.server.ask(call(8, "session_status", json!({})));
    assert!(answer.contains("\"id\":8"), "{answer}");
    fixture.approve(&draft);
    let answer: Value = serde_json::from_str(&client.server.line().unwrap()).unwrap();
    let waited = &answer["result"]["structuredContent"];
    assert_eq!(waited["approval"]["approved"], true, "{answer}");
    assert_eq!(waited["approval"]["approver"], "anna");
    client.call_ok("write_file", json!({ "path": "src/b.txt", "content": "x" }));
}

/// A call that was cancelled is not answered, but it is on record like any other.
#[test]
fn cancelled_call_is_recorded() {
    let fixture = WorkspaceFixture::new();
    let draft = fixture.save_plan(plan(json!({ "allow": ["src/**"] })));
    let mut client = fixture.executor(&[]);
    let wait = json!({ "plan_hash": draft, "timeout_s": 600 });
    client.server.send_line(call(7, "wait_for_approval", &wait));
    client.server.ask(call(8, "session_status", json!({})));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    client.server.send_line(cancel.to_string());
    let next = client.server.ask(call(9, "session_status", json!({})));
    assert!(next.contains("\"id\":9"), "{next}");
    client.end();
    let lines = fixture.log_lines();
    let line = lines.iter().find(|line| line["request_id"] == "7").unwrap();
    assert_eq!(line["error_code"], "UNKNOWN_TOOL_FAILURE", "{line}");
    assert!(line["envelope"]["cause"].is_object(), "{line}");
    fixture.verify();
}

/// A server that must end answers its waiting calls, and its log is valid.
#[test]
fn calls_of_an_ending_server_fail() {
    let fixture = WorkspaceFixture::new();
    let draft = fixture.save_plan(plan(json!({ "allow": ["src/**"] })));
    let mut client = fixture.executor(&[]);
    let wait = json!({ "plan_hash": draft, "timeout_s": 600 });
    client.server.send_line(call(7, "wait_for_approval", &wait));
    client.server.ask(call(8, "session_status", json!({})));
    client.server.process().signal("TERM");
    for answer in client.server.rest() {
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let failed = client.parse_failure(&answer);
        assert_eq!(failed.code(), "UNKNOWN_TOOL_FAILURE");
    }
    let exit = client.server.process().exit_within(LIMIT);
    assert_eq!(exit, Some(Exit::Code(0)));
    fixture.verify();
    let lines = fixture.log_lines();
    assert!(
        lines.iter().any(|line| line["request_id"] == "7"),
        "{lines:?}"
    );
}

/// The last checkpoint is written before the server exits, even while its input stays open.
#[test]
fn signal_does_not_lose_the_last_checkpoint() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    client.server.process().signal("TERM");
    let exit = client.server.process().exit_within(LIMIT);
    assert_eq!(exit, Some(Exit::Code(0)));
    let checkpoint = std::fs::read(fixture.state().join("checkpoint.json")).unwrap();
    let checkpoint: Value = serde_json::from_slice(&checkpoint).unwrap();
    assert_eq!(checkpoint["seq"], fixture.log_lines().len());
}
