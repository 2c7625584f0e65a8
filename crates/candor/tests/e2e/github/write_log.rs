//! The log of writes: attempts and outcomes, durable before the answer is sent.

use crate::fixture::{CANDOR, LIMIT};
use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use crate::requests::{Transport, mask_times, parse};
use candor_testkit::{Exit, Process};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

fn log(fixture: &GithubFixture) -> String {
    fs::read_to_string(fixture.path("data/github-writes.jsonl")).unwrap()
}

fn commit(path: &str, content: &str) -> Value {
    json!({
        "repo": "sample/hello", "branch": "main", "message": "Change a file",
        "files": [{ "path": path, "content": content }],
    })
}

/// The commits that a test makes have the time in them, and so their names are never the same; nor are
/// the hashes of lines.
fn nameless(log: &str) -> String {
    let mut nameless = mask_times(log).replace(&"0".repeat(64), "<zeros>");
    for (number, line) in log.lines().enumerate() {
        if let Some(hash) = parse(line)["hash"].as_str() {
            nameless = nameless.replace(hash, &format!("<hash {}>", number + 1));
        }
        if let Some(at) = parse(line)["answer"]["updated_at"].as_str() {
            nameless = nameless.replace(at, "<when>");
        }
        for name in ["sha", "parent"] {
            if let Some(sha) = parse(line)["answer"][name].as_str() {
                nameless = nameless.replace(sha, &format!("<{name}>"));
            }
        }
    }
    nameless
}

#[test]
fn attempts_and_outcomes_are_recorded() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&["--allow-writes"]);
    server.send_message(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"0"}}}"#);
    server.call_ok("commit_files", commit("notes.txt", "CONTENT-CANARY"));
    server.call_err(
        "merge_pull_request",
        json!({ "repo": "sample/hello", "prNumber": 2 }),
    );
    let long = "BODY-CANARY ".repeat(100);
    server.call_ok(
        "update_pull_request",
        json!({ "repo": "sample/hello", "prNumber": 1, "body": long }),
    );
    // Refused calls and reads are not recorded.
    server.call_err("commit_files", json!({ "repo": "sample/hello" }));
    server.call_ok("fetch", json!({ "repo": "sample/hello" }));
    let log = log(&fixture);
    assert_snapshot!(nameless(&log), @r#"
    {"arguments":{"branch":"main","files":[{"bytes":14,"path":"notes.txt"}],"message":"Change a file","repo":"sample/hello"},"at":"<when>","client":"tester","credential":null,"hash":"<hash 1>","kind":"attempt","prev_hash":"<zeros>","seq":1,"tool":"commit_files","v":2}
    {"answer":{"branch":"main","files":["notes.txt"],"parent":"<parent>","sha":"<sha>","url":"candor:///sample/hello/commit/<sha>"},"at":"<when>","code":null,"effect":"done","hash":"<hash 2>","kind":"outcome","message":null,"of":1,"prev_hash":"<hash 1>","seq":2,"tool":"commit_files","v":2}
    {"arguments":{"prNumber":2,"repo":"sample/hello"},"at":"<when>","client":"tester","credential":null,"hash":"<hash 3>","kind":"attempt","prev_hash":"<hash 2>","seq":3,"tool":"merge_pull_request","v":2}
    {"answer":null,"at":"<when>","code":-32005,"effect":"none","hash":"<hash 4>","kind":"outcome","message":"Pull request #2 is not mergeable: it conflicts with its base branch","of":3,"prev_hash":"<hash 3>","seq":4,"tool":"merge_pull_request","v":2}
    {"arguments":{"body":{"bytes":1200,"omitted":"string"},"prNumber":1,"repo":"sample/hello"},"at":"<when>","client":"tester","credential":null,"hash":"<hash 5>","kind":"attempt","prev_hash":"<hash 4>","seq":5,"tool":"update_pull_request","v":2}
    {"answer":{"author":"Sample","base":"main","created_at":"2025-01-01T05:00:00Z","draft":false,"head":"feature/greeting","head_repo":"sample/hello","head_sha":"4d6303b4a2679d249c1fe07dc6d8b505c3250ebb","merged":false,"number":1,"state":"open","title":"Greet by name","updated_at":"<when>","url":"candor:///sample/hello/pull/1"},"at":"<when>","code":null,"effect":"done","hash":"<hash 6>","kind":"outcome","message":null,"of":5,"prev_hash":"<hash 5>","seq":6,"tool":"update_pull_request","v":2}
    "#);
    assert!(!log.contains("CANARY"), "{log}");
}

#[test]
fn acknowledged_writes_are_recorded_before_a_kill() {
    let fixture = GithubFixture::new();
    for round in 1..=5 {
        let mut server = fixture.http(&["--allow-writes"]);
        let answer = server.call_ok("commit_files", commit("notes.txt", &format!("{round}\n")));
        server.signal("KILL");
        assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Signal(9)));
        let log = log(&fixture);
        let last = parse(log.lines().next_back().unwrap());
        assert_eq!(last["answer"], answer, "{log}");
        assert_eq!(
            (&last["seq"], &last["of"]),
            (&json!(2 * round), &json!(2 * round - 1))
        );
    }
}

/// A torn line was not acknowledged: it is moved to its own file, and the log records that.
#[test]
fn torn_line_is_moved_aside() {
    let fixture = GithubFixture::new();
    let path = fixture.path("data/github-writes.jsonl");
    fixture.call_once(&["--allow-writes"], "commit_files", commit("a", "1"));
    let whole = log(&fixture);
    fs::write(&path, format!("{whole}{{\"v\":2,\"ki")).unwrap();
    fixture.call_once(&["--allow-writes"], "commit_files", commit("a", "2"));
    let log = log(&fixture);
    let more = log.strip_prefix(&whole).unwrap();
    let kinds = more.lines().map(|line| {
        let line = parse(line);
        format!("{} {}", line["seq"], line["kind"])
    });
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, ["3 \"torn\"", "4 \"attempt\"", "5 \"outcome\""]);
    let torn = fs::read_to_string(fixture.path("data/github-writes.jsonl.torn.1")).unwrap();
    assert_eq!(torn, "{\"v\":2,\"ki");
}

#[test]
fn several_servers_write_one_log() {
    let fixture = GithubFixture::new();
    let mut first = fixture.http(&["--allow-writes"]);
    let mut second = fixture.stdio(&["--allow-writes"]);
    for round in 0..5 {
        first.call_ok("commit_files", commit("a", &format!("{round} first\n")));
        second.call_ok("commit_files", commit("a", &format!("{round} second\n")));
    }
    let log = log(&fixture);
    for (seq, line) in (1..).zip(log.lines()) {
        let line = parse(line);
        assert_eq!(line["seq"], seq);
        if line["kind"] == "outcome" {
            assert_eq!(line["of"], seq - 1);
        }
    }
    assert_eq!(log.lines().count(), 20);
    let data = fixture.text("data/github-writes.jsonl");
    let verified = Process::run(Process::command(CANDOR, &["audit", "verify", &data]), LIMIT);
    // The chain holds; a log without a checkpoint may have lost its end.
    assert_eq!(verified.exit, Exit::Code(4));
}

/// The log of an older version is kept as it is, under another name.
#[test]
fn older_log_is_kept() {
    let fixture = GithubFixture::new();
    let old = "{\"v\":1,\"n\":0,\"kind\":\"log\",\"of\":\"github-writes\"}\n{\"v\":1,\"n\":1,\"at\":\"2025-01-01T00:00:00.000Z\",\"kind\":\"attempt\"}\n";
    fs::write(fixture.path("data/github-writes.jsonl"), old).unwrap();
    fixture.call_once(&["--allow-writes"], "commit_files", commit("a", "1"));
    let old_log = fs::read_to_string(fixture.path("data/github-writes.v1.jsonl")).unwrap();
    assert_eq!(old_log, old);
    assert_eq!(parse(log(&fixture).lines().next().unwrap())["seq"], 1);
}

/// A changed log is not continued.
#[test]
fn broken_log_stops_the_start() {
    let fixture = GithubFixture::new();
    fixture.call_once(&["--allow-writes"], "commit_files", commit("a", "1"));
    let log = log(&fixture);
    let second = log.split_inclusive('\n').nth(1).unwrap();
    fs::write(fixture.path("data/github-writes.jsonl"), second).unwrap();
    assert_snapshot!(fixture.run_err(&["serve", "--allow-writes"]), @r"
    error: cannot open the log of writes FOLDER/data/github-writes.jsonl: the log is broken behind its line 0
    hint: to see what is wrong, and then to move the log aside, run:
      candor audit verify FOLDER/data/github-writes.jsonl
      candor audit quarantine FOLDER/data/github-writes.jsonl
    ");
}

#[test]
fn foreign_file_stops_the_start() {
    let fixture = GithubFixture::new();
    fs::write(fixture.path("data/github-writes.jsonl"), "precious\n").unwrap();
    assert_snapshot!(fixture.run_err(&["serve", "--allow-writes"]), @r"
    error: cannot open the log of writes FOLDER/data/github-writes.jsonl: the file is not a log of writes
    hint: name another directory with --data-dir, or omit --allow-writes
    ");
    assert_eq!(log(&fixture), "precious\n");
    fixture.call_once(&[], "fetch", json!({ "repo": "sample/hello" }));
}
