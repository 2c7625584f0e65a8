//! The log of writes: what was tried and what came of it, there for good before anybody is answered.

use crate::asking::{Asked, parsed, timeless};
use crate::place::{LIMIT, Place};
use candor_testkit::Exit;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

fn log(place: &Place) -> String {
    fs::read_to_string(place.path("data/github-writes.jsonl")).unwrap()
}

fn commit(path: &str, content: &str) -> Value {
    json!({
        "repo": "sample/hello", "branch": "main", "message": "Change a file",
        "files": [{ "path": path, "content": content }],
    })
}

/// The commits that a test makes have the time in them, and so their names are never the same.
fn nameless(log: &str) -> String {
    let mut nameless = timeless(log);
    for line in log.lines() {
        if let Some(at) = parsed(line)["answer"]["updated_at"].as_str() {
            nameless = nameless.replace(at, "<when>");
        }
        for name in ["sha", "parent"] {
            if let Some(sha) = parsed(line)["answer"][name].as_str() {
                nameless = nameless.replace(sha, &format!("<{name}>"));
            }
        }
    }
    nameless
}

#[test]
fn attempts_and_outcomes_are_on_record() {
    let place = Place::new();
    let mut server = place.stdio(&["--allow-writes"]);
    server.answer(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"0"}}}"#);
    server.done("commit_files", commit("notes.txt", "CONTENT-CANARY"));
    server.failed(
        "merge_pull_request",
        json!({ "repo": "sample/hello", "prNumber": 2 }),
    );
    let long = "BODY-CANARY ".repeat(100);
    server.done(
        "update_pull_request",
        json!({ "repo": "sample/hello", "prNumber": 1, "body": long }),
    );
    // What never passed the policy, and what only reads, is not on record.
    server.failed("commit_files", json!({ "repo": "sample/hello" }));
    server.done("fetch", json!({ "repo": "sample/hello" }));
    let log = log(&place);
    assert_snapshot!(nameless(&log), @r#"
    {"v":1,"n":0,"kind":"log","of":"github-writes"}
    {"v":1,"n":1,"at":"<when>","kind":"attempt","tool":"commit_files","credential":null,"client":"tester","arguments":{"repo":"sample/hello","branch":"main","message":"Change a file","files":[{"path":"notes.txt","bytes":14}]}}
    {"v":1,"n":2,"kind":"outcome","of":1,"at":"<when>","tool":"commit_files","effect":"done","code":null,"message":null,"answer":{"sha":"<sha>","parent":"<parent>","branch":"main","files":["notes.txt"],"url":"candor:///sample/hello/commit/<sha>"}}
    {"v":1,"n":3,"at":"<when>","kind":"attempt","tool":"merge_pull_request","credential":null,"client":"tester","arguments":{"repo":"sample/hello","prNumber":2}}
    {"v":1,"n":4,"kind":"outcome","of":3,"at":"<when>","tool":"merge_pull_request","effect":"none","code":-32005,"message":"Pull request #2 is not mergeable: it conflicts with its base branch","answer":null}
    {"v":1,"n":5,"at":"<when>","kind":"attempt","tool":"update_pull_request","credential":null,"client":"tester","arguments":{"repo":"sample/hello","prNumber":1,"body":{"omitted":"string","bytes":1200}}}
    {"v":1,"n":6,"kind":"outcome","of":5,"at":"<when>","tool":"update_pull_request","effect":"done","code":null,"message":null,"answer":{"number":1,"title":"Greet by name","state":"open","draft":false,"merged":false,"head":"feature/greeting","head_repo":"sample/hello","head_sha":"4d6303b4a2679d249c1fe07dc6d8b505c3250ebb","base":"main","author":"Sample","created_at":"2025-01-01T05:00:00Z","updated_at":"<when>","url":"candor:///sample/hello/pull/1"}}
    "#);
    assert!(!log.contains("CANARY"), "{log}");
}

#[test]
fn what_was_answered_is_on_record_whatever_happens_next() {
    let place = Place::new();
    for round in 1..=5 {
        let mut server = place.http(&["--allow-writes"]);
        let made = server.done("commit_files", commit("notes.txt", &format!("{round}\n")));
        server.signal("KILL");
        assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Signal(9)));
        let log = log(&place);
        let last = parsed(log.lines().next_back().unwrap());
        assert_eq!(last["answer"], made, "{log}");
        assert_eq!(
            (&last["n"], &last["of"]),
            (&json!(2 * round), &json!(2 * round - 1))
        );
    }
}

/// An outcome that was cut in the middle was not answered, and is not there any more.
#[test]
fn a_line_that_was_cut_is_taken_away() {
    let place = Place::new();
    let path = place.path("data/github-writes.jsonl");
    place.once(&["--allow-writes"], "commit_files", commit("a", "1"));
    let whole = log(&place);
    fs::write(&path, format!("{whole}{{\"v\":1,\"n\":3,\"ki")).unwrap();
    place.once(&["--allow-writes"], "commit_files", commit("a", "2"));
    let log = log(&place);
    let more = log.strip_prefix(&whole).unwrap();
    let numbers: Vec<_> = more.lines().map(|line| parsed(line)["n"].take()).collect();
    assert_eq!(numbers, [3, 4]);
}

#[test]
fn one_server_at_a_time_writes() {
    let place = Place::new();
    let mut first = place.http(&["--allow-writes"]);
    let on_stdio = place.complaint(&["serve", "--allow-writes"]);
    assert_snapshot!(on_stdio, @r"
    error: cannot keep the log of writes in FOLDER/data/github-writes.jsonl: another process writes this log
    hint: end the other server, or give this one a --data-dir of its own
    ");
    let over_http = ["serve", "--http", "--port", "0", "--allow-writes"];
    assert_eq!(place.complaint(&over_http), on_stdio);
    // One that does not write is welcome.
    let mut reader = place.stdio(&[]);
    first.done("commit_files", commit("a", "from the first\n"));
    let read = reader.done("read_file", json!({ "repo": "sample/hello", "path": "a" }));
    assert_eq!(read["content"], "from the first\n");
    first.signal("TERM");
    assert_eq!(first.process().exit_within(LIMIT), Some(Exit::Code(0)));
    place.once(
        &["--allow-writes"],
        "commit_files",
        commit("a", "from the next\n"),
    );
}

#[test]
fn a_file_that_is_something_else_stops_the_start() {
    let place = Place::new();
    fs::write(place.path("data/github-writes.jsonl"), "precious\n").unwrap();
    assert_snapshot!(place.complaint(&["serve", "--allow-writes"]), @r"
    error: cannot keep the log of writes in FOLDER/data/github-writes.jsonl: the file is no log of writes
    hint: name another directory with --data-dir, or leave out --allow-writes
    ");
    assert_eq!(log(&place), "precious\n");
    place.once(&[], "fetch", json!({ "repo": "sample/hello" }));
}
