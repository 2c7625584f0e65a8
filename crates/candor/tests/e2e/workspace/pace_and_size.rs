//! P12: a client that floods the server is slowed down, the log has a maximum size, and old lines can be moved
//! away.

use crate::requests::call;
use crate::workspace::fixture::WorkspaceFixture;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// 100 calls more than the burst wait at the even pace, and all are answered.
#[test]
fn p12_further_calls_wait_and_none_is_refused() {
    const CALLS: u64 = 2_100;
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&["--max-rate", "20"]);
    let start = Instant::now();
    for id in 1..=CALLS {
        client
            .server
            .send_line(call(id, "read_file", json!({ "path": "src/a.txt" })));
    }
    let mut answered = vec![false; CALLS as usize];
    for _ in 0..CALLS {
        let answer: Value = serde_json::from_str(&client.server.line().unwrap()).unwrap();
        assert_eq!(
            answer["result"]["structuredContent"]["size"], 14,
            "{answer}"
        );
        let id = answer["id"].as_u64().unwrap();
        assert!(!std::mem::replace(&mut answered[id as usize - 1], true));
    }
    let least = Duration::from_secs(100) / 20;
    assert!(
        start.elapsed() >= least - Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
    client.end();
    fixture.verify();
}

#[test]
fn p12_full_log_stops_every_call_but_two() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&["--log-max", "200KiB"]);
    let read = json!({ "path": "src/a.txt" });
    let mut calls = 0;
    let failed = loop {
        let answer = client.call("read_file", &read);
        if answer["result"]["isError"] == true {
            break client.parse_failure(&answer);
        }
        calls += 1;
        assert!(calls < 2_000, "the log has no maximum size");
    };
    assert_eq!(
        (failed.code(), failed.effect()),
        ("AUDIT_LOG_FAILED", "none")
    );
    let size = || {
        std::fs::metadata(fixture.path("audit-log.jsonl"))
            .unwrap()
            .len()
    };
    let full = size();
    assert!(full > 200 * 1024 && full < 600 * 1024, "{full}");
    let write = json!({ "path": "src/a.txt", "content": "new" });
    for _ in 0..3 {
        assert_eq!(
            client.call_err("write_file", write.clone()).code(),
            "AUDIT_LOG_FAILED"
        );
    }
    assert_eq!(
        (size(), fixture.read("src/a.txt")),
        (full, String::from("one\ntwo\nthree\n"))
    );
    client.call_ok("session_status", json!({}));
    client.begin_session();
    client.end();
    // A larger maximum lets the work go on.
    let mut client = fixture.executor(&["--log-max", "1GiB"]);
    client.call_ok("write_file", write);
    client.end();
    fixture.verify();
}
