//! `candor audit tail` and `stats`.

use crate::audit::fixture::{AuditFixture, entries};
use insta::assert_snapshot;

#[test]
fn last_entries_are_shown_one_per_line() {
    let fixture = AuditFixture::new();
    assert_snapshot!(fixture.run_ok(&["tail", "log.jsonl"]), @r#"
    1  2026-01-02T03:04:01.000Z  write_file            ok  src/main.rs
    2  2026-01-02T03:04:02.000Z  write_file            HASH_MISMATCH  The file \x1b[31mchanged, meanwhile
    3  2026-01-02T03:04:03.000Z  merge_pull_request    attempt  octo/cat
    4  2026-01-02T03:04:04.000Z  merge_pull_request    -32005  =not "mergeable"
    "#);
    assert_snapshot!(fixture.run_ok(&["tail", "log.jsonl", "-n", "1"]), @r#"     4  2026-01-02T03:04:04.000Z  merge_pull_request    -32005  =not "mergeable""#);
    let raw = fixture.read("log.jsonl.000001") + &fixture.read("log.jsonl");
    assert_eq!(fixture.run_ok(&["tail", "log.jsonl", "--json"]), raw);
}

/// A broken log can still be shown.
#[test]
fn invalid_lines_are_shown_as_invalid() {
    let fixture = AuditFixture::new();
    let text = fixture.read("log.jsonl");
    fixture.write("log.jsonl", &format!("{text}\u{1b}]0;title\u{7}\n{{\"half"));
    assert_snapshot!(fixture.run_ok(&["tail", "log.jsonl", "-n", "2"]), @r#"
    4  2026-01-02T03:04:04.000Z  merge_pull_request    -32005  =not "mergeable"
    ?  not a log line: 10 bytes
    "#);
    assert_snapshot!(fixture.run_ok(&["stats", "log.jsonl"]), @r"
    lines  4
    files  2
    bytes  1361
    not log lines  1
    first  2026-01-02T03:04:01.000Z
    last   2026-01-02T03:04:04.000Z

    tools
           2  merge_pull_request
           2  write_file

    codes
           1  -32005
           1  HASH_MISMATCH
    ");
}

#[test]
fn stats_count_lines_tools_and_codes() {
    let fixture = AuditFixture::new();
    fixture.append(entries()[..2].to_vec(), None);
    assert_snapshot!(fixture.run_ok(&["stats", "log.jsonl"]), @r"
    lines  6
    files  3
    bytes  2095
    first  2026-01-02T03:04:01.000Z
    last   2026-01-02T03:04:02.000Z

    tools
           4  write_file
           2  merge_pull_request

    codes
           2  HASH_MISMATCH
           1  -32005
    ");
    assert_snapshot!(fixture.run_ok(&["stats", "log.jsonl", "--json"]), @r#"
    {
      "log": "log.jsonl",
      "lines": 6,
      "not_lines": 0,
      "files": 3,
      "bytes": 2095,
      "first": "2026-01-02T03:04:01.000Z",
      "last": "2026-01-02T03:04:02.000Z",
      "tools": {
        "write_file": 4,
        "merge_pull_request": 2
      },
      "codes": {
        "HASH_MISMATCH": 2,
        "-32005": 1
      }
    }
    "#);
}
