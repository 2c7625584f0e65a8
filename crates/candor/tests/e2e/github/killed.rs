//! A server that is killed while it works: acknowledged writes exist, refused ones do not, and
//! the next server goes on.

use crate::fixture::LIMIT;
use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use crate::requests::{call, parse};
use candor_testkit::{Exit, Stdio};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

const KILLS: u64 = 30;
const FLAGS: [&str; 5] = [
    "--allow-writes",
    "--writes-per-minute",
    "10000",
    "--tools",
    "extended",
];
const REPO: &str = "sample/hello";

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

fn commit(branch: &str, name: &str) -> Value {
    json!({
        "repo": REPO, "branch": branch, "message": name,
        "files": [{ "path": format!("files/{name}"), "content": name }],
    })
}

/// A branch with a commit and a pull request for it; its number.
fn pull(server: &mut Stdio, name: &str) -> u64 {
    server.call_ok("create_branch", json!({ "repo": REPO, "name": name }));
    server.call_ok("commit_files", commit(name, name));
    let opened = server.call_ok(
        "create_pull_request",
        json!({ "repo": REPO, "title": name, "head": name, "base": "main" }),
    );
    opened["number"].as_u64().unwrap()
}

/// The calls of a client and their outcomes.
#[derive(Default)]
struct Known {
    /// The subject of each commit that was answered as made, and its name.
    made: Vec<(String, String)>,
    /// The subjects of those that were answered as not made.
    refused: Vec<String>,
    /// The merges that were answered as made.
    merged: Vec<(u64, String)>,
    /// Every pull request, and whether it may be open.
    pulls: Vec<u64>,
}

impl Known {
    /// Takes note of the answer to a commit or a merge.
    fn note(&mut self, sent: &BTreeMap<u64, (String, Option<u64>)>, answer: &str) {
        let answer = parse(answer);
        let (name, number) = &sent[&answer["id"].as_u64().unwrap()];
        let sha = answer["result"]["structuredContent"]["sha"].as_str();
        match (sha, number) {
            (Some(sha), Some(number)) => self.merged.push((*number, sha.to_owned())),
            (Some(sha), None) => self.made.push((name.clone(), sha.to_owned())),
            (None, None) => {
                let fault = &answer["error"]["data"]["fault"];
                if fault["effect"] == "none" {
                    self.refused.push(name.clone());
                }
            }
            (None, Some(_)) => {
                // Only the other of two merges may have been in the way.
                assert_eq!(answer["error"]["code"], -32005, "{answer}");
            }
        }
    }

    /// Compares it with what git finds.
    fn check(&self, fixture: &GithubFixture) {
        let bare = fixture.bare(REPO);
        let log = fixture.git(&bare, &["log", "--format=%H %s", "main"]);
        let there = |sha: &str| log.lines().any(|line| line.starts_with(sha));
        for (name, sha) in &self.made {
            assert!(there(sha), "{name} was answered and is not there");
        }
        for (number, sha) in &self.merged {
            assert!(there(sha), "#{number} was answered and is not there");
        }
        for name in &self.refused {
            let suffix = format!(" {name}");
            assert!(
                !log.lines().any(|line| line.ends_with(&suffix)),
                "{name} was refused and is there"
            );
        }
        for number in &self.pulls {
            let words = format!(" Merge pull request #{number} ");
            assert!(
                log.matches(&words).count() <= 1,
                "#{number} was merged twice"
            );
        }
        fixture.git(&bare, &["fsck", "--full", "--strict", "--no-dangling"]);
    }
}

/// Spends some time without sleeping, so that the kill falls anywhere.
fn spend(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let fixture = GithubFixture::new();
    let mut dice = Dice(20_260_728);
    let mut known = Known::default();
    for round in 0..KILLS {
        let mut server = fixture.stdio(&FLAGS);
        let pulls: Vec<_> = (0..2)
            .map(|pull_of| pull(&mut server, &format!("topic-{round}-{pull_of}")))
            .collect();
        known.pulls.extend(&pulls);
        let mut sent = BTreeMap::new();
        for id in 0..8u32 {
            let name = format!("commit-{round}-{id}");
            server.send_line(call(id, "commit_files", commit("main", &name)));
            sent.insert(u64::from(id), (name, None));
        }
        for (id, number) in (100u32..).zip(pulls.iter().chain(&pulls)) {
            server.send_line(call(
                id,
                "merge_pull_request",
                json!({ "repo": REPO, "prNumber": number }),
            ));
            sent.insert(u64::from(id), (String::new(), Some(*number)));
        }
        for _ in 0..dice.below(12) {
            known.note(&sent, &server.line().unwrap());
        }
        spend(Duration::from_micros(dice.below(15_000)));
        server.process().signal("KILL");
        // Answers that were sent before the kill count too.
        for answer in server.rest() {
            known.note(&sent, &answer);
        }
        assert_eq!(server.exit(), Exit::Signal(9));
        known.check(&fixture);
    }
    // Every pull request is merged, or can be.
    let mut server = fixture.stdio(&FLAGS);
    for number in known.pulls.clone() {
        let shown = server.call_ok(
            "get_pull_request",
            json!({ "repo": REPO, "prNumber": number }),
        );
        if shown["merged"] != true {
            assert_eq!(shown["state"], "open", "{shown}");
            assert!(
                !known.merged.iter().any(|(merged, _)| *merged == number),
                "{shown}"
            );
            let merged = server.call_ok(
                "merge_pull_request",
                json!({ "repo": REPO, "prNumber": number }),
            );
            known
                .merged
                .push((number, merged["sha"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(server.end(), (vec![], Exit::Code(0)));
    assert_eq!(server.process().whole_stderr(LIMIT), "");
    known.check(&fixture);
}

/// A killed git leaves a lock file beside a ref. The next server removes it, because its own lock shows
/// that the previous server died. Otherwise the file belongs to a git that is still running.
#[test]
fn lock_of_a_killed_server_is_removed() {
    let fixture = GithubFixture::new();
    let bare = fixture.bare(REPO);
    let left = [
        "refs/heads/main.lock",
        "refs/heads/feature/greeting.lock",
        "refs/pull/1/head.lock",
        "packed-refs.lock",
    ];
    fs::write(bare.join("candor.lock"), "+").unwrap();
    for name in left {
        fs::write(bare.join(name), "").unwrap();
    }
    let mut server = fixture.stdio(&FLAGS);
    server.call_ok("commit_files", commit("main", "a"));
    server.call_ok(
        "merge_pull_request",
        json!({ "repo": REPO, "prNumber": 1, "delete_branch": true }),
    );
    for name in left {
        assert!(!bare.join(name).exists(), "{name}");
    }
    fs::write(bare.join("refs/heads/main.lock"), "").unwrap();
    let error = server.call_err("commit_files", commit("main", "b"));
    assert_eq!(error["code"], -32603, "{error}");
    assert!(bare.join("refs/heads/main.lock").exists());
}

/// The very first start makes the forge: being killed there must not be the end of it.
#[test]
fn killed_first_start_is_completed() {
    let mut dice = Dice(7);
    for _ in 0..10 {
        let fixture = GithubFixture::empty();
        let mut server = fixture.stdio(&["--allow-writes"]);
        spend(Duration::from_micros(dice.below(60_000)));
        server.process().signal("KILL");
        server.exit();
        let hello = fixture.call_once(
            &["--allow-writes"],
            "list_pull_requests",
            json!({ "repo": REPO }),
        );
        assert_eq!(
            hello["pull_requests"].as_array().unwrap().len(),
            3,
            "{hello}"
        );
    }
}
