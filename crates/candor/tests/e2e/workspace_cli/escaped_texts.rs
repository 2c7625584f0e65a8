//! P11: file names and words of clients do nothing to a terminal, and add no line to what a person reads
//! before signing.

use crate::fixture::{self, LIMIT};
use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use candor_testkit::{Exit, Process};
use serde_json::json;

/// Runs `candor audit ARGUMENTS`. Returns its stdout.
fn audit(fixture: &OwnerFixture, arguments: &[&str]) -> String {
    let mut command = fixture::candor(&["audit"]);
    command.args(arguments).current_dir(fixture.workspace());
    let ended = Process::run(command, LIMIT);
    assert_eq!(ended.exit, Exit::Code(0), "{}", ended.stderr);
    String::from_utf8(ended.stdout).unwrap()
}

#[tokio::test]
async fn p11_control_characters_of_a_client_are_escaped_in_every_text() {
    let fixture = OwnerFixture::new();
    fixture.run_signed(&["allow", "src/**"]);
    let agent = Agent::executor(&fixture).await;
    for path in ["src/\u{1b}[2Jz", "src/\u{202e}sr.a", "src/a\u{2028}b"] {
        fixture.write(&format!("ws/{path}"), "");
        agent.call_ok("read_file", json!({ "path": path })).await;
    }
    agent.end().await;
    let shown = ["src/\\x1b[2Jz", "src/\\u{202e}sr.a", "src/a\\u{2028}b"];
    let csv = audit(&fixture, &["export", "audit-log.jsonl", "--format", "csv"]);
    let tail = audit(&fixture, &["tail", "audit-log.jsonl"]);
    let status = fixture.run_ok(&["status"]);
    for (text, line_ends) in [(csv, 1), (tail, 0), (status, 0)] {
        for path in shown {
            assert!(text.contains(path), "{path}: {text}");
        }
        let raw = |c: &char| c.is_control() && *c != '\n' || ['\u{202e}', '\u{2028}'].contains(c);
        let raw: Vec<_> = text.chars().filter(raw).collect();
        let lines = text.matches("\r\n").count() * line_ends;
        assert_eq!(raw, vec!['\r'; lines], "{text}");
    }
}

#[test]
fn p11_file_name_adds_no_line_to_the_list_before_the_question() {
    let fixture = OwnerFixture::new();
    fixture.write("ws/src/x\n  in         everything.rs", "");
    fixture.write("ws/src/\u{1b}[2Jy", "");
    let shown = fixture.run_signed(&["allow", "src/**"]);
    let lines: Vec<_> = shown.lines().collect();
    let starts = |line: &&&str| line.starts_with("  in ");
    assert_eq!(lines.iter().filter(starts).count(), 1, "{shown}");
    assert!(
        shown.contains("src/x\\n  in         everything.rs\n"),
        "{shown}"
    );
    assert!(shown.contains("src/\\x1b[2Jy\n"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}
