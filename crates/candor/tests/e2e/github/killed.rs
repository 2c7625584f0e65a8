//! A server that is killed while it works: acknowledged writes exist, refused ones do not, and
//! the next server continues.

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

fn commit(branch: &str, name: &str) -> Value {
    json!({
        "repo": REPO, "branch": branch, "message": name,
        "files": [{ "path": format!("files/{name}"), "content": name }],
    })
}

/// Creates a branch with a commit and a pull request for it. Returns its number.
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
struct ClientRecord {
    /// The subject and the hash of each commit that was acknowledged.
    committed: Vec<(String, String)>,
    /// The subjects of commits that were refused.
    refused: Vec<String>,
    /// The merges that were acknowledged.
    merged: Vec<(u64, String)>,
    /// Every pull request.
    pulls: Vec<u64>,
}

impl ClientRecord {
    /// Records the answer to a commit or a merge.
    fn add_answer(&mut self, sent: &BTreeMap<u64, (String, Option<u64>)>, answer: &str) {
        let answer = parse(answer);
        let (name, number) = &sent[&answer["id"].as_u64().unwrap()];
        let sha = answer["result"]["structuredContent"]["sha"].as_str();
        match (sha, number) {
            (Some(sha), Some(number)) => self.merged.push((*number, sha.to_owned())),
            (Some(sha), None) => self.committed.push((name.clone(), sha.to_owned())),
            (None, None) => {
                let fault = &answer["error"]["data"]["fault"];
                if fault["effect"] == "none" {
                    self.refused.push(name.clone());
                }
            }
            (None, Some(_)) => {
                // Only the other of two merges can be the reason.
                assert_eq!(answer["error"]["code"], -32005, "{answer}");
            }
        }
    }

    /// Compares the record with the repository.
    fn check(&self, fixture: &GithubFixture) {
        let bare = fixture.bare(REPO);
        let log = fixture.git(&bare, &["log", "--format=%H %s", "main"]);
        let is_in_log = |sha: &str| log.lines().any(|line| line.starts_with(sha));
        for (name, sha) in &self.committed {
            assert!(is_in_log(sha), "{name} was answered and is not there");
        }
        for (number, sha) in &self.merged {
            assert!(is_in_log(sha), "#{number} was answered and is not there");
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

/// Spins for some time without sleeping, so that the kill happens at any moment.
fn spin_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let fixture = GithubFixture::new();
    let mut random = fastrand::Rng::with_seed(20_260_728);
    let mut record = ClientRecord::default();
    for round in 0..KILLS {
        let mut server = fixture.stdio(&FLAGS);
        let pulls: Vec<_> = (0..2)
            .map(|pull_of| pull(&mut server, &format!("topic-{round}-{pull_of}")))
            .collect();
        record.pulls.extend(&pulls);
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
        for _ in 0..random.u64(0..12) {
            record.add_answer(&sent, &server.line().unwrap());
        }
        spin_for(Duration::from_micros(random.u64(0..15_000)));
        server.process().signal("KILL");
        // Answers that were sent before the kill count too.
        for answer in server.rest() {
            record.add_answer(&sent, &answer);
        }
        assert_eq!(server.exit(), Exit::Signal(9));
        record.check(&fixture);
    }
    // Every pull request is merged, or can be.
    let mut server = fixture.stdio(&FLAGS);
    for number in record.pulls.clone() {
        let pull_request = server.call_ok(
            "get_pull_request",
            json!({ "repo": REPO, "prNumber": number }),
        );
        if pull_request["merged"] != true {
            assert_eq!(pull_request["state"], "open", "{pull_request}");
            assert!(
                !record.merged.iter().any(|(merged, _)| *merged == number),
                "{pull_request}"
            );
            let merged = server.call_ok(
                "merge_pull_request",
                json!({ "repo": REPO, "prNumber": number }),
            );
            record
                .merged
                .push((number, merged["sha"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(server.end(), (vec![], Exit::Code(0)));
    assert_eq!(server.process().whole_stderr(LIMIT), "");
    record.check(&fixture);
}

/// A killed git leaves a lock file beside a ref. The next server removes it, because its own lock shows
/// that the previous server died. Otherwise the file belongs to a git that is still running.
#[test]
fn lock_of_a_killed_server_is_removed() {
    let fixture = GithubFixture::new();
    let bare = fixture.bare(REPO);
    let lock_files = [
        "refs/heads/main.lock",
        "refs/heads/feature/greeting.lock",
        "refs/pull/1/head.lock",
        "packed-refs.lock",
    ];
    fs::write(bare.join("candor.lock"), "+").unwrap();
    for name in lock_files {
        fs::write(bare.join(name), "").unwrap();
    }
    let mut server = fixture.stdio(&FLAGS);
    server.call_ok("commit_files", commit("main", "a"));
    server.call_ok(
        "merge_pull_request",
        json!({ "repo": REPO, "prNumber": 1, "delete_branch": true }),
    );
    for name in lock_files {
        assert!(!bare.join(name).exists(), "{name}");
    }
    fs::write(bare.join("refs/heads/main.lock"), "").unwrap();
    let error = server.call_err("commit_files", commit("main", "b"));
    assert_eq!(error["code"], -32603, "{error}");
    assert!(bare.join("refs/heads/main.lock").exists());
}

/// The first start creates the forge. If it is killed, the next start completes it.
#[test]
fn killed_first_start_is_completed() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..10 {
        let fixture = GithubFixture::empty();
        let mut server = fixture.stdio(&["--allow-writes"]);
        spin_for(Duration::from_micros(random.u64(0..60_000)));
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
