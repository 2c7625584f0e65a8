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

/// So many workspaces, and so many kills in each: a log that was never closed is verified as a whole.
const PLACES: u64 = 5;
const KILLS: u64 = 20;
const CALLS: u64 = 8;
const FILES: u64 = 3;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Spends some time without sleeping, so that the kill falls anywhere.
fn spend(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The calls of a round; every content is different.
fn load(round: u64, id: u64) -> (&'static str, Value) {
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

/// The content of each file by the log.
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
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(fixture.path("src")).unwrap() {
        let entry = entry.unwrap();
        let name = format!("src/{}", entry.file_name().to_str().unwrap());
        found.insert(name, sha256(&fs::read(entry.path()).unwrap()));
    }
    found.remove("src/a.txt");
    assert_eq!(found, recorded(&fixture.log_lines()));
}

fn kill(client: &mut AgentClient) {
    let pid = Pid::from_raw(client.server.process().pid().try_into().unwrap());
    kill_process(pid.unwrap(), Signal::KILL).unwrap();
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let mut dice = Dice(20_260_801);
    let undone: usize = (0..PLACES).map(|_| kills(&mut dice)).sum();
    assert!(undone > 0, "no kill fell into a write");
}

/// Kills one server after the other in a workspace; how many writes were undone.
fn kills(dice: &mut Dice) -> usize {
    let fixture = WorkspaceFixture::with_plan();
    let mut receipts = Vec::new();
    for round in 0..KILLS {
        let mut client = fixture.executor(&[]);
        // The new session has recovered the writes of the one before.
        if round % 5 == 4 {
            check(&fixture);
        }
        for id in 0..CALLS {
            let (tool, arguments) = load(round, id);
            client.server.send_line(call(id, tool, &arguments));
        }
        let mut answers = Vec::new();
        for _ in 0..dice.below(CALLS) {
            answers.push(client.server.line().unwrap());
        }
        spend(Duration::from_micros(dice.below(8000)));
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
    let said = recoveries.map(|line| line["cause"]["message"].as_str().unwrap());
    said.filter(|said| said.ends_with("was undone")).count()
}
