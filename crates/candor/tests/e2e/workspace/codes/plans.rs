//! Plan errors.

use crate::workspace::fixture::{WorkspaceFixture, key, plan};
use crate::workspace::requests::{AgentClient, CallFailure};
use serde_json::{Value, json};
use std::fs;

fn write(client: &mut AgentClient, by: Value) -> CallFailure {
    let mut arguments = json!({ "path": "src/b.txt", "content": "x" });
    for (name, value) in by.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    client.call_err("write_file", arguments)
}

#[test]
fn plan_not_found() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    assert_eq!(write(&mut client, json!({})).code(), "PLAN_NOT_FOUND");
    fixture.allow(&["src/**"]);
    let failed = write(&mut client, json!({ "plan_hash": "00000000" }));
    assert_eq!(failed.code(), "PLAN_NOT_FOUND");
    assert_eq!(failed.envelope["plan_hash"], "00000000");
    for tool in ["read_plan", "wait_for_approval"] {
        let failed = client.call_err(tool, json!({ "plan_hash": "00000000" }));
        assert_eq!(failed.code(), "PLAN_NOT_FOUND");
    }
}

#[test]
fn plan_not_approved() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let waiting = fixture.save_plan(plan(json!({ "allow": ["src/**"] })));
    let failed = write(&mut client, json!({ "plan_hash": &waiting[..8] }));
    assert_eq!(failed.code(), "PLAN_NOT_APPROVED");
    assert_eq!(failed.envelope["plan_hash"], json!(waiting));
    let command = format!(
        "candor workspace approve {} --root {}",
        &waiting[..12],
        fixture.root_text()
    );
    assert!(failed.message().contains(&command), "{}", failed.message());
    let refuse = |client: &mut AgentClient, reason: &str| {
        let failed = write(client, json!({}));
        assert_eq!(failed.code(), "PLAN_NOT_APPROVED", "{reason}");
    };
    refuse(&mut client, "a draft");
    fixture.sign(&waiting, &key(), -60, 3600);
    refuse(&mut client, "signed by a stranger");
    fixture.sign(&waiting, fixture.key(), -60, -30);
    refuse(&mut client, "expired");
    fixture.approve(&waiting);
    let signed = fs::read_dir(fixture.path("docs/plans")).unwrap();
    let signed = signed.map(|entry| entry.unwrap().path());
    let signed = signed.filter(|path| path.to_str().unwrap().ends_with("approval.json"));
    for path in signed {
        let text = fs::read_to_string(&path).unwrap();
        let later = text.replacen("\"not_after\":\"20", "\"not_after\":\"21", 1);
        let later = later.replacen("\"not_after\": \"20", "\"not_after\": \"21", 1);
        fs::write(&path, later).unwrap();
    }
    refuse(&mut client, "changed after it was signed");
    fixture.approve(&waiting);
    client.call_ok("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    fixture.revoke(&waiting);
    refuse(&mut client, "revoked");
}

#[test]
fn plan_enforcement_failed() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let hash = fixture.allow(&["src/**"]);
    let file = format!("docs/plans/{hash}.toml");
    let text = fixture.read(&file);
    for damaged in [text.replace("src/**", "**"), String::from("nonsense")] {
        fixture.write(&file, damaged);
        let failed = write(&mut client, json!({ "plan_hash": hash }));
        assert_eq!(failed.code(), "PLAN_ENFORCEMENT_FAILED");
        assert_eq!(failed.envelope["plan_hash"], json!(hash));
    }
    fixture.write(&file, text.replace('\n', "\r\n"));
    client.call_ok("write_file", json!({ "path": "src/b.txt", "content": "x" }));
}

#[test]
fn plan_scope_violation() {
    let fixture = WorkspaceFixture::new();
    fixture.write("lib/x", "");
    fixture.allow_phase(json!({ "allow": ["src/*.txt"], "operations": ["create"] }));
    let mut client = fixture.executor(&["--lock-after", "1000"]);
    for arguments in [
        json!({ "path": "lib/b.txt", "content": "x" }),
        json!({ "path": "src/b.rs", "content": "x" }),
        json!({ "path": "src/a.txt", "content": "x" }),
        json!({ "path": "src/b.txt", "content": "x", "phase_id": "OTHER" }),
    ] {
        let failed = client.call_err("write_file", arguments);
        assert_eq!(failed.code(), "PLAN_SCOPE_VIOLATION", "{failed:?}");
    }
    let failed = client.call_err(
        "delete_file",
        json!({ "path": "src/a.txt", "previous_hash": fixture.hash("src/a.txt") }),
    );
    assert_eq!(failed.code(), "PLAN_SCOPE_VIOLATION");
    assert_eq!(failed.envelope["phase_id"], "WORK");
    client.call_ok("write_file", json!({ "path": "src/b.txt", "content": "x" }));
}
