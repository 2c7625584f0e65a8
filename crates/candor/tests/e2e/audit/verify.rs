//! `candor audit verify`: valid logs, broken logs, and changes that only checkpoints reveal.

use crate::audit::fixture::{AuditFixture, entries};
use candor_testkit::Exit;
use insta::assert_snapshot;
use serde_json::{Value, json};

const CHECKPOINT: [&str; 2] = ["--checkpoint", "state/checkpoint.json"];

#[test]
fn unchanged_log_verifies() {
    let fixture = AuditFixture::new();
    assert_eq!(fixture.files(), ["log.jsonl", "log.jsonl.000001"]);
    assert_snapshot!(fixture.run_unchecked(&["verify", "log.jsonl"]), @r"
    chain consistent, completeness not checked: log.jsonl, 4 lines in 2 files
    line 4 is the last; its hash is 74fd0a18a31ec3c150471fa2bd405308951f9a7571a0360bb05fe084ddadac66
    no checkpoint was found, so lines that are missing at the end cannot be detected
    ");
    let with = [&["verify", "log.jsonl"][..], &CHECKPOINT].concat();
    assert_snapshot!(fixture.run_ok(&with), @r"
    log.jsonl is whole: 4 lines in 2 files
    line 4 is the last; its hash is 74fd0a18a31ec3c150471fa2bd405308951f9a7571a0360bb05fe084ddadac66
    state/checkpoint.json agrees up to line 4 of 2026-01-02T03:04:09.000Z, not signed
    ");
    let json = [&with[..], &["--json"]].concat();
    assert_snapshot!(fixture.run_ok(&json), @r#"
    {
      "log": "log.jsonl",
      "files": 2,
      "lines": 4,
      "bytes": 1344,
      "last": {
        "seq": 4,
        "hash": "74fd0a18a31ec3c150471fa2bd405308951f9a7571a0360bb05fe084ddadac66"
      },
      "flaw": null,
      "completeness": "checked",
      "checkpoints": [
        {
          "place": "state/checkpoint.json",
          "seq": 4,
          "counter": 1,
          "hash": "74fd0a18a31ec3c150471fa2bd405308951f9a7571a0360bb05fe084ddadac66",
          "timestamp": "2026-01-02T03:04:09.000Z",
          "key_id": null,
          "signature_checked": false,
          "verdict": "agrees"
        }
      ]
    }
    "#);
}

#[test]
fn first_changed_line_is_named() {
    let fixture = AuditFixture::new();
    let whole = fixture.read("log.jsonl.000001");
    fixture.write(
        "log.jsonl.000001",
        &whole.replace("src/main.rs", "src/evil.rs"),
    );
    assert_snapshot!(fixture.run_err(3, &["verify", "log.jsonl"]), @r"
    error: log.jsonl is broken at line 1: it is not what its hash says
    hint: to move the log aside, run:
      candor audit quarantine log.jsonl
    ");
    fixture.write(
        "log.jsonl.000001",
        &whole.replace("HASH_MISMATCH", "NOTHING"),
    );
    assert_snapshot!(fixture.run_err(3, &["verify", "log.jsonl"]), @r"
    error: log.jsonl is broken at line 2: it is not what its hash says
    hint: line 1 is intact; to move the log aside, run:
      candor audit quarantine log.jsonl
    ");
    let ended = fixture.run(&["verify", "log.jsonl", "--json"]);
    assert_eq!(ended.exit, Exit::Code(3));
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(
        report["flaw"],
        json!({ "kind": "changed", "seq": 2, "message": "it is not what its hash says" })
    );
    fixture.write("log.jsonl.000001", "");
    assert_snapshot!(fixture.run_err(3, &["verify", "log.jsonl"]), @r"
    error: log.jsonl is broken at line 1: another line stands in its place
    hint: to move the log aside, run:
      candor audit quarantine log.jsonl
    ");
}

#[test]
fn truncated_log_fails_against_its_checkpoint() {
    let fixture = AuditFixture::new();
    fixture.append(entries(), None);
    let text = fixture.read("log.jsonl");
    let last = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    fixture.write("log.jsonl", &text[..last]);
    fixture.run_unchecked(&["verify", "log.jsonl"]);
    let with = [&["verify", "log.jsonl"][..], &CHECKPOINT].concat();
    assert_snapshot!(fixture.run_err(3, &with), @r"
    error: log.jsonl is broken at line 8: the log ends before it, but a checkpoint has seen it
    hint: lines 1 to 7 are intact; to move the log aside, run:
      candor audit quarantine log.jsonl --checkpoint state/checkpoint.json
    ");
    for file in fixture.files() {
        std::fs::remove_file(fixture.path(&file)).unwrap();
    }
    assert_snapshot!(fixture.run_err(3, &with), @r"
    error: log.jsonl is broken at line 1: the log ends before it, but a checkpoint has seen it
    hint: to move the log aside, run:
      candor audit quarantine log.jsonl --checkpoint state/checkpoint.json
    ");
    assert_snapshot!(fixture.run_err(1, &["verify", "log.jsonl"]), @r"
    error: there is no log log.jsonl
    hint: name its newest file, such as audit-log.jsonl
    ");
}

/// The chain is valid, but differs from the original after its first line.
#[test]
fn rewritten_log_fails_against_its_checkpoint() {
    let fixture = AuditFixture::new();
    let checkpoint = fixture.read("state/checkpoint.json");
    let text = fixture.read("log.jsonl.000001");
    let first = text.find('\n').unwrap() + 1;
    std::fs::remove_file(fixture.path("log.jsonl.000001")).unwrap();
    std::fs::remove_file(fixture.path("state/checkpoint.json")).unwrap();
    fixture.write("log.jsonl", &text[..first]);
    fixture.append(entries(), None);
    fixture.write("state/checkpoint.json", &checkpoint);
    fixture.run_unchecked(&["verify", "log.jsonl"]);
    let with = [&["verify", "log.jsonl"][..], &CHECKPOINT].concat();
    assert_snapshot!(fixture.run_err(3, &with), @r"
    error: log.jsonl is broken at line 4: it is not the line that a checkpoint has seen
    hint: earlier lines may have been changed too; to move the log aside, run:
      candor audit quarantine log.jsonl --checkpoint state/checkpoint.json
    ");
}

#[test]
fn usage_errors_exit_with_1_and_broken_logs_with_3() {
    let fixture = AuditFixture::new();
    assert_snapshot!(fixture.run_err(1, &["verify", "none/log.jsonl"]), @"error: cannot open none/log.jsonl: No such file or directory (os error 2)");
    assert_snapshot!(fixture.run_err(1, &["verify", ".."]), @"error: .. does not name a file");
    assert_snapshot!(fixture.run_err(1, &["verify", "log.jsonl", "--checkpoint", "state/none"]), @"error: there is no checkpoint state/none");
    assert_snapshot!(fixture.run_err(1, &["verify", "log.jsonl", "--checkpoint", "log.jsonl"]), @"error: cannot read log.jsonl: the file is no checkpoint");
    std::os::unix::fs::symlink("log.jsonl", fixture.path("link.jsonl")).unwrap();
    assert_snapshot!(fixture.run_err(1, &["verify", "link.jsonl"]), @"error: cannot read link.jsonl: Too many levels of symbolic links (os error 40)");
}
