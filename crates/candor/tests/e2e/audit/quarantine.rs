//! `candor audit quarantine`.

use crate::audit::fixture::{AuditFixture, entries};
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn broken_log_is_moved_aside_and_a_new_one_begins() {
    let fixture = AuditFixture::new();
    let whole = fixture.read("log.jsonl.000001");
    fixture.write(
        "log.jsonl.000001",
        &whole.replace("HASH_MISMATCH", "NOTHING"),
    );
    let quarantine = [
        "quarantine",
        "log.jsonl",
        "--checkpoint",
        "state/checkpoint.json",
        "--yes",
        "--why",
        "An editor was here",
    ];
    assert_snapshot!(fixture.run_ok(&quarantine), @r"
    log.jsonl was moved aside (2 files), and a new log was started
      log.jsonl.quarantined.1
      log.jsonl.quarantined.1.000001
    ");
    let aside = [
        "log.jsonl",
        "log.jsonl.quarantined.1",
        "log.jsonl.quarantined.1.000001",
    ];
    assert_eq!(fixture.files(), aside);
    let first: Value = serde_json::from_str(&fixture.read("log.jsonl")).unwrap();
    assert_eq!(first["seq"], 1);
    assert_eq!(first["kind"], "quarantine");
    assert_eq!(first["why"], "An editor was here");
    assert_eq!(first["old"]["flaw"]["kind"], "changed");
    assert_eq!(first["old"]["flaw"]["seq"], 2);
    assert_eq!(first["old"]["last"]["seq"], 1);
    assert_eq!(first["old"]["files"], serde_json::json!(aside[1..]));
    // A server with the same checkpoint file continues.
    let receipts = fixture.append(entries(), None);
    assert_eq!(receipts[0].seq, 2);
    let verified = fixture.run_ok(&[
        "verify",
        "log.jsonl",
        "--checkpoint",
        "state/checkpoint.json",
    ]);
    assert!(verified.contains("agrees up to line 5"), "{verified}");
}

#[test]
fn log_is_not_moved_without_confirmation() {
    let fixture = AuditFixture::new();
    assert_snapshot!(fixture.run_err(1, &["quarantine", "log.jsonl"]), @r"
    error: the log was not moved: there is no terminal to ask for confirmation
    hint: run it in a terminal, or confirm with --yes
    ");
    assert_eq!(fixture.files(), ["log.jsonl", "log.jsonl.000001"]);
    assert_snapshot!(fixture.run_err(1, &["quarantine", "none.jsonl", "--yes"]), @r"
    error: there is no log none.jsonl
    hint: name its newest file, such as audit-log.jsonl
    ");
}
