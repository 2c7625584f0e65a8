//! A full disk, on a small file system of the server's own.

use crate::requests::call;
use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use crate::workspace::requests::AgentClient;
use candor_testkit::on_small_disk;
use serde_json::{Value, json};
use std::fs;

/// The size of the file system in bytes.
const SIZE: usize = 6 * 1024 * 1024;

/// Returns the code of a call. This process cannot see the files of the server.
fn code(client: &mut AgentClient, tool: &str, arguments: Value) -> String {
    let answer = client.call(tool, &arguments);
    if answer["result"]["isError"] != true {
        return String::from("ok");
    }
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let envelope: Value = serde_json::from_str(text).unwrap();
    assert!(text.contains("ENOSPC"), "{text}");
    assert_eq!(
        answer["result"]["_meta"]["dev.candor/fault"]["effect"],
        "none"
    );
    envelope["error_code"].as_str().unwrap().to_owned()
}

#[test]
fn full_disk_is_reported_and_loses_nothing() {
    let fixture = WorkspaceFixture::with_plan();
    let command = fixture.command(EXECUTOR, &[]);
    let Some(command) = on_small_disk(&command, &fixture.root(), SIZE) else {
        return;
    };
    let mut client = fixture.client(command);
    client.begin_session();
    let write = |path: &str, bytes: usize| json!({ "path": path, "content": "x".repeat(bytes) });
    for path in ["src/a.txt", "src/new"] {
        let failed = code(&mut client, "write_file", write(path, SIZE));
        assert_eq!(failed, "FILE_WRITE_FAILED");
    }
    let read = client.call_ok("read_file", json!({ "path": "src/a.txt" }));
    assert_eq!(read["content"], "one\ntwo\nthree\n");
    let names = client
        .call_ok("list_files", json!({ "path": "src" }))
        .to_string();
    assert!(
        !names.contains("new") && !names.contains(".candor"),
        "{names}"
    );
    // Another program fills the file system.
    let pid = client.server.process().pid();
    let filler = format!("/proc/{pid}/root{}/filler", fixture.root_text());
    let full = fs::write(&filler, vec![0; SIZE]);
    assert!(full.is_err());
    assert_eq!(
        code(&mut client, "write_file", write("src/new", 5)),
        "FILE_WRITE_FAILED"
    );
    // The space reserved for the log is used up last.
    let mut lines = 0;
    let refused = loop {
        for id in 0..64 {
            client
                .server
                .send_line(call(id, "session_status", json!({})));
        }
        let answers: Vec<_> = (0..64).map(|_| client.server.line().unwrap()).collect();
        lines += answers
            .iter()
            .filter(|text| !text.contains("isError"))
            .count();
        if let Some(refused) = answers
            .into_iter()
            .find(|text| text.contains("AUDIT_LOG_FAILED"))
        {
            break refused;
        }
        assert!(lines < 10_000, "the disk is not full");
    };
    assert!(refused.contains("ENOSPC"), "{refused}");
    assert!(lines > 256 * 1024 / 2048, "{lines}");
    fs::remove_file(&filler).unwrap();
    client.call_ok("write_file", write("src/new", 5));
    assert_eq!(
        client.call_ok("verify_audit_log", json!({}))["verified"],
        true
    );
    client.end();
}
