//! Secrets in calls of an agent appear in no record and not on stderr.

use crate::workspace::fixture::{EXECUTOR, PLANNER, WorkspaceFixture, plan};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Returns a token of the right shape, composed here so that this file contains none.
fn token() -> String {
    format!("gh{}_{}", 'p', "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6")
}

/// No file below has the token, but for the journal: it has to name the files that it would restore.
fn is_clean(dir: &Path, token: &str) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            is_clean(&path, token);
        } else if !name.starts_with("journal.") {
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            let line = text.lines().find(|line| line.contains(token));
            assert_eq!(line, None, "{}", path.display());
        }
    }
}

fn calls(token: &str) -> Vec<(&'static str, Value)> {
    vec![
        (
            "begin_session",
            json!({ "workspace_root": format!("/{token}") }),
        ),
        ("read_file", json!({ "path": token })),
        ("read_file", json!({ "path": "src/secret.txt" })),
        ("read_file", json!({ "path": format!("src/none/{token}") })),
        ("read_file", json!({ "path": "src/a.txt", token: 1 })),
        ("read_file", json!({ "path": [token] })),
        ("read_file", json!({ "path": "src/a.txt", "role": token })),
        ("list_files", json!({ "path": token })),
        ("list_files", json!({ "glob": format!("[{token}") })),
        ("search_files", json!({ "pattern": token })),
        ("search_files", json!({ "pattern": format!("({token}") })),
        (
            "write_file",
            json!({ "path": "src/b.txt", "content": token }),
        ),
        (
            "write_file",
            json!({ "path": format!("src/{token}"), "content": "x" }),
        ),
        (
            "write_file",
            json!({ "path": format!("src/{token}/b"), "content": "x" }),
        ),
        (
            "write_file",
            json!({ "path": "src/a.txt", "edits": [{ "old": token, "new": "x" }] }),
        ),
        (
            "write_file",
            json!({ "path": "src/secret.txt", "edits": [{ "old": "none", "new": "x" }] }),
        ),
        ("write_file", json!({ "path": "src/a.txt", "patch": token })),
        (
            "write_file",
            json!({ "path": "src/b", "content": "", "plan_hash": token }),
        ),
        (
            "write_file",
            json!({ "path": "src/b", "content": "", "phase_id": token }),
        ),
        (
            "delete_file",
            json!({ "path": format!("src/{token}"), "previous_hash": "0".repeat(64) }),
        ),
        ("lint_plan", json!({ "content": token })),
        (
            "save_plan",
            json!({ "content": format!("title = {token}") }),
        ),
        ("save_plan", json!({ "plan": { token: 1 } })),
        (
            "save_plan",
            json!({ "plan": plan(json!({ "allow": [token], "verify": [[token]] })) }),
        ),
        ("run_preflight", json!({})),
        (
            "write_failure_report",
            json!({ "title": token, "body": token }),
        ),
    ]
}

#[test]
fn secrets_appear_in_no_record() {
    let token = token();
    for role in [EXECUTOR, PLANNER] {
        let fixture = WorkspaceFixture::new();
        fixture.write("src/secret.txt", &token);
        fixture.allow_phase(json!({
            "allow": ["src/**"],
            "verify": [["sh", "-c", "cat src/secret.txt; exit 1"]],
        }));
        let mut command = fixture.command(role, &["--lock-after", "1000"]);
        command.env("CANDOR_LOG", "trace");
        let mut client = fixture.client(command);
        for (tool, arguments) in calls(&token) {
            client.call(tool, &arguments);
        }
        client.begin_session();
        for (tool, arguments) in calls(&token) {
            let answer = client.call(tool, &arguments);
            if answer["result"]["isError"] == true {
                let failed = client.parse_failure(&answer);
                assert!(!failed.text.contains(&token), "{}", failed.text);
            }
        }
        for message in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": token }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": token } }),
        ] {
            client.server.ask(message.to_string());
        }
        client.server.ask(token.clone());
        client.end();
        let stderr = client.server.process().whole_stderr(crate::fixture::LIMIT);
        let line = stderr.lines().find(|line| line.contains(&token));
        assert_eq!(line, None);
        is_clean(&fixture.path_beside("state"), &token);
        let log = fixture.read("audit-log.jsonl");
        let line = log.lines().find(|line| line.contains(&token));
        assert_eq!(line, None, "{role}");
    }
}

/// Client names and request ids may contain secrets too.
#[test]
fn secrets_in_client_names_and_ids_are_hidden_too() {
    let token = token();
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    for message in [
        json!({ "jsonrpc": "2.0", "id": token, "method": "tools/call", "params": { "name": "list_plans" } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": token, "version": token },
        } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "list_plans" } }),
    ] {
        let answer = client.server.ask(message.to_string());
        assert!(answer.contains("\"result\""), "{answer}");
    }
    client.end();
    let log = fixture.read("audit-log.jsonl");
    let line = log.lines().find(|line| line.contains(&token));
    assert_eq!(line, None);
}
