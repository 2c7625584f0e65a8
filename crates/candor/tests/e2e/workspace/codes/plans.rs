//! Plan errors.

use crate::workspace::asking::{Client, Failed};
use crate::workspace::place::{Place, key, plan};
use serde_json::{Value, json};
use std::fs;

fn write(client: &mut Client, by: Value) -> Failed {
    let mut arguments = json!({ "path": "src/b.txt", "content": "x" });
    for (name, value) in by.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    client.failed("write_file", arguments)
}

#[test]
fn plan_not_found() {
    let place = Place::new();
    let mut client = place.executor(&[]);
    assert_eq!(write(&mut client, json!({})).code(), "PLAN_NOT_FOUND");
    place.allow(&["src/**"]);
    let failed = write(&mut client, json!({ "plan_hash": "00000000" }));
    assert_eq!(failed.code(), "PLAN_NOT_FOUND");
    assert_eq!(failed.envelope["plan_hash"], "00000000");
    for tool in ["read_plan", "wait_for_approval"] {
        let failed = client.failed(tool, json!({ "plan_hash": "00000000" }));
        assert_eq!(failed.code(), "PLAN_NOT_FOUND");
    }
}

#[test]
fn plan_not_approved() {
    let place = Place::new();
    let mut client = place.executor(&[]);
    let waiting = place.draft(plan(json!({ "allow": ["src/**"] })));
    let failed = write(&mut client, json!({ "plan_hash": &waiting[..8] }));
    assert_eq!(failed.code(), "PLAN_NOT_APPROVED");
    assert_eq!(failed.envelope["plan_hash"], json!(waiting));
    let command = format!(
        "candor workspace approve {} --root {}",
        &waiting[..12],
        place.root_text()
    );
    assert!(failed.message().contains(&command), "{}", failed.message());
    let refuse = |client: &mut Client, what: &str| {
        let failed = write(client, json!({}));
        assert_eq!(failed.code(), "PLAN_NOT_APPROVED", "{what}");
    };
    refuse(&mut client, "a draft");
    place.sign(&waiting, &key(), -60, 3600);
    refuse(&mut client, "signed by a stranger");
    place.sign(&waiting, place.key(), -60, -30);
    refuse(&mut client, "expired");
    place.approve(&waiting);
    let signed = fs::read_dir(place.at("docs/plans")).unwrap();
    let signed = signed.map(|entry| entry.unwrap().path());
    let signed = signed.filter(|path| path.to_str().unwrap().ends_with("approval.json"));
    for path in signed {
        let text = fs::read_to_string(&path).unwrap();
        let later = text.replacen("\"not_after\":\"20", "\"not_after\":\"21", 1);
        let later = later.replacen("\"not_after\": \"20", "\"not_after\": \"21", 1);
        fs::write(&path, later).unwrap();
    }
    refuse(&mut client, "changed after it was signed");
    place.approve(&waiting);
    client.done("write_file", json!({ "path": "src/b.txt", "content": "x" }));
    place.revoke(&waiting);
    refuse(&mut client, "revoked");
}

#[test]
fn plan_enforcement_failed() {
    let place = Place::new();
    let mut client = place.executor(&[]);
    let hash = place.allow(&["src/**"]);
    let file = format!("docs/plans/{hash}.toml");
    let text = place.got(&file);
    for damaged in [text.replace("src/**", "**"), String::from("nonsense")] {
        place.put(&file, damaged);
        let failed = write(&mut client, json!({ "plan_hash": hash }));
        assert_eq!(failed.code(), "PLAN_ENFORCEMENT_FAILED");
        assert_eq!(failed.envelope["plan_hash"], json!(hash));
    }
    place.put(&file, text.replace('\n', "\r\n"));
    client.done("write_file", json!({ "path": "src/b.txt", "content": "x" }));
}

#[test]
fn plan_scope_violation() {
    let place = Place::new();
    place.put("lib/x", "");
    place.allow_phase(json!({ "allow": ["src/*.txt"], "operations": ["create"] }));
    let mut client = place.executor(&["--lock-after", "1000"]);
    for arguments in [
        json!({ "path": "lib/b.txt", "content": "x" }),
        json!({ "path": "src/b.rs", "content": "x" }),
        json!({ "path": "src/a.txt", "content": "x" }),
        json!({ "path": "src/b.txt", "content": "x", "phase_id": "OTHER" }),
    ] {
        let failed = client.failed("write_file", arguments);
        assert_eq!(failed.code(), "PLAN_SCOPE_VIOLATION", "{failed:?}");
    }
    let failed = client.failed(
        "delete_file",
        json!({ "path": "src/a.txt", "previous_hash": place.hash("src/a.txt") }),
    );
    assert_eq!(failed.code(), "PLAN_SCOPE_VIOLATION");
    assert_eq!(failed.envelope["phase_id"], "WORK");
    client.done("write_file", json!({ "path": "src/b.txt", "content": "x" }));
}
