//! A server that is killed at any moment: acknowledged writes are recorded, and every file is old or new.

use crate::requests::call;
use crate::workspace::fixture::{WorkspaceFixture, sha256};
use crate::workspace::requests::AgentClient;
use candor_testkit::Exit;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// The number of workspaces. The log of each, which was never closed, is verified as a whole.
const WORKSPACES: u64 = 5;
const KILLS: u64 = 20;
const CALLS: u64 = 8;
const FILES: u64 = 3;

/// Spins for some time without sleeping, so that the kill happens at any moment.
fn spin_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The calls of a round; every content is different.
fn call_of(round: u64, id: u64) -> (&'static str, Value) {
    let name = |number: u64| format!("src/f{}", number % FILES);
    let content = format!("{round} {id} ").repeat(50);
    match id % 4 {
        0 => ("read_file", json!({ "path": name(id) })),
        1 => (
            "apply_changes",
            json!({ "changes": [
                { "path": name(id), "content": content },
                { "path": name(id + 1), "content": format!("{content}!") },
            ] }),
        ),
        _ => (
            "write_file",
            json!({ "path": name(id), "content": content }),
        ),
    }
}

/// Returns the content of each file according to the log.
fn recorded(lines: &[Value]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for line in lines {
        let changes = ["write_file", "apply_changes"].iter();
        let mut changes = changes.filter(|tool| line["tool_name"] == **tool);
        if line["result"] != "ok" || changes.next().is_none() {
            continue;
        }
        let one = std::slice::from_ref(&line["subject"]);
        for subject in line["subject"].as_array().map_or(one, Vec::as_slice) {
            let text = |name: &str| subject[name].as_str().unwrap().to_owned();
            files.insert(text("path"), text("after"));
        }
    }
    files
}

/// Checks that there are no leftovers, and that each file has the content of the log.
fn check(fixture: &WorkspaceFixture) {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(fixture.path("src")).unwrap() {
        let entry = entry.unwrap();
        let name = format!("src/{}", entry.file_name().to_str().unwrap());
        files.insert(name, sha256(&fs::read(entry.path()).unwrap()));
    }
    files.remove("src/a.txt");
    assert_eq!(files, recorded(&fixture.log_lines()));
}

fn kill(client: &mut AgentClient) {
    let pid = Pid::from_raw(client.server.process().pid().try_into().unwrap());
    kill_process(pid.unwrap(), Signal::KILL).unwrap();
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let mut random = fastrand::Rng::with_seed(20_260_801);
    let undone: usize = (0..WORKSPACES).map(|_| kills(&mut random)).sum();
    assert!(undone > 0, "no kill fell into a write");
}

/// Kills one server after the other in a workspace. Returns the number of undone writes.
fn kills(random: &mut fastrand::Rng) -> usize {
    let fixture = WorkspaceFixture::with_plan();
    let mut receipts = Vec::new();
    for round in 0..KILLS {
        let mut client = fixture.executor(&[]);
        // The new session has recovered the writes of the one before.
        if round % 5 == 4 {
            check(&fixture);
        }
        for id in 0..CALLS {
            let (tool, arguments) = call_of(round, id);
            client.server.send_line(call(id, tool, &arguments));
        }
        let mut answers = Vec::new();
        for _ in 0..random.u64(0..CALLS) {
            answers.push(client.server.line().unwrap());
        }
        spin_for(Duration::from_micros(random.u64(0..8000)));
        kill(&mut client);
        // Answers that were sent before the kill count too.
        answers.extend(client.server.rest());
        assert_eq!(client.server.exit(), Exit::Signal(9));
        for answer in answers {
            let answer: Value = serde_json::from_str(&answer).unwrap();
            receipts.push(answer["result"]["_meta"]["dev.candor/receipt"].clone());
        }
    }
    let mut client = fixture.executor(&[]);
    client.call_ok("verify_audit_log", json!({}));
    client.end();
    check(&fixture);
    fixture.verify();
    let lines = fixture.log_lines();
    assert!(receipts.len() > 20, "{}", receipts.len());
    for receipt in receipts {
        let line = &lines[receipt["seq"].as_u64().unwrap() as usize - 1];
        assert_eq!(line["hash"], receipt["hash"]);
    }
    let recoveries = lines.iter().filter(|line| line["tool_name"] == "recovery");
    let messages = recoveries.map(|line| line["cause"]["message"].as_str().unwrap());
    messages
        .filter(|messages| messages.ends_with("was undone"))
        .count()
}
