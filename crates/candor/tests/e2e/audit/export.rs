//! `candor audit export`.

use crate::audit::fixture::AuditFixture;
use insta::assert_snapshot;

#[test]
fn lines_are_exported_unchanged() {
    let fixture = AuditFixture::new();
    let raw = fixture.read("log.jsonl.000001") + &fixture.read("log.jsonl");
    assert_eq!(fixture.run_ok(&["export", "log.jsonl"]), raw);
    let lines: Vec<_> = raw.split_inclusive('\n').collect();
    let middle = fixture.run_ok(&["export", "log.jsonl", "--from", "2", "--to", "3"]);
    assert_eq!(middle, lines[1..3].concat());
    assert_eq!(fixture.run_ok(&["export", "log.jsonl", "--from", "9"]), "");
}

#[test]
fn csv_has_a_header_and_one_row_per_line() {
    let fixture = AuditFixture::new();
    let table = fixture.run_ok(&["export", "log.jsonl", "--format", "csv"]);
    let raw = fixture.read("log.jsonl.000001") + &fixture.read("log.jsonl");
    let mut table = table.replace("\r\n", "\n");
    for (n, line) in raw.lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let hash = line["hash"].as_str().unwrap();
        table = table.replace(hash, &format!("<hash {}>", n + 1));
    }
    assert_snapshot!(table.replace(&"0".repeat(64), "<zeros>"), @r"
    seq,timestamp,session_id,role,tool,kind,result,code,effect,path,before,after,plan_hash,phase_id,approver,duration_us,prev_hash,hash
    1,2026-01-02T03:04:01.000Z,,WINDSURF,write_file,,ok,,,src/main.rs,b,a,,,,1234,<zeros>,<hash 1>
    2,2026-01-02T03:04:02.000Z,,WINDSURF,write_file,,error,HASH_MISMATCH,,,,,,,,,<hash 1>,<hash 2>
    3,2026-01-02T03:04:03.000Z,,,merge_pull_request,attempt,,,,,,,,,,,<hash 2>,<hash 3>
    4,2026-01-02T03:04:04.000Z,,,merge_pull_request,outcome,,-32005,,,,,,,,,<hash 3>,<hash 4>
    ");
    fixture.write("log.jsonl", "what\n");
    let ended = fixture.run(&["export", "log.jsonl", "--format", "csv", "--from", "1"]);
    assert_snapshot!(ended.stderr, @"error: the line after line 2 of log.jsonl is not a log line");
}
