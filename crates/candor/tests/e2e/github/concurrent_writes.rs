//! Concurrent clients on one repository: every success is in the history, and no commit is lost.

use crate::github::fixture::{GithubFixture, git};
use crate::github::requests::GithubCalls;
use crate::requests::{call, parse};
use candor_testkit::Http;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::thread;

const CLIENTS: u32 = 32;
const ROUNDS: u32 = 3;

const UNLIMITED: [&str; 3] = ["--allow-writes", "--writes-per-minute", "10000"];

/// Sends one call on each of many connections before any answer is read. Returns the answers.
fn send_concurrently(server: &Http, calls: &[(&str, Value)]) -> Vec<Value> {
    let send = |(id, (tool, arguments)): (u32, &(&str, Value))| {
        let mut connection = server.connect();
        connection.send(server.request("POST", call(id, tool, arguments).as_bytes(), &[]));
        connection
    };
    let mut connections: Vec<_> = (1..).zip(calls).map(send).collect();
    connections
        .iter_mut()
        .map(|connection| parse(&connection.response().text()))
        .collect()
}

fn commit(name: &str) -> (&'static str, Value) {
    let arguments = json!({
        "repo": "sample/hello", "branch": "main", "message": name,
        "files": [{ "path": format!("files/{name}"), "content": name }],
    });
    ("commit_files", arguments)
}

/// The hashes and the subjects of main's history.
fn history(fixture: &GithubFixture) -> Vec<(String, String)> {
    let log = fixture.git(
        fixture.bare("sample/hello"),
        &["log", "--format=%H %s", "main"],
    );
    let pair = |line: &str| {
        line.split_once(' ')
            .map(|(sha, text)| (sha.to_owned(), text.to_owned()))
    };
    log.lines().filter_map(pair).collect()
}

/// Every success of commits is in the history exactly once, every failure has this code and is not.
fn check(fixture: &GithubFixture, named: &[(String, Value)]) -> usize {
    let history = history(fixture);
    let mut won = 0;
    for (name, answer) in named {
        let commits: Vec<_> = history
            .iter()
            .filter(|(_, subject)| subject == name)
            .collect();
        match answer.get("result") {
            Some(result) => {
                let sha = result["structuredContent"]["sha"].as_str().unwrap();
                assert_eq!(commits, [&(sha.to_owned(), name.clone())]);
                won += 1;
            }
            None => {
                assert_eq!(answer["error"]["code"], -32003, "{answer}");
                assert_eq!(answer["error"]["data"]["fault"]["effect"], "none");
                assert!(commits.is_empty(), "{name} was refused and is there");
            }
        }
    }
    let files = fixture.git(
        fixture.bare("sample/hello"),
        &["ls-tree", "--name-only", "main:files"],
    );
    let files: BTreeSet<_> = files.lines().collect();
    let committed = named
        .iter()
        .filter(|(_, answer)| answer.get("result").is_some());
    for (name, _) in committed {
        assert!(files.contains(name.as_str()), "{name} is lost");
    }
    won
}

#[test]
fn concurrent_commits_are_each_in_the_history_once() {
    let fixture = GithubFixture::new();
    let server = fixture.http(&UNLIMITED);
    let mut named = Vec::new();
    for round in 0..ROUNDS {
        let names: Vec<_> = (0..CLIENTS)
            .map(|client| format!("{round}-{client}"))
            .collect();
        let calls: Vec<_> = names.iter().map(|name| commit(name)).collect();
        named.extend(names.into_iter().zip(send_concurrently(&server, &calls)));
    }
    let won = check(&fixture, &named);
    assert_eq!(history(&fixture).len(), 2 + won);
    assert!(won > 0);
    fixture.git(
        fixture.bare("sample/hello"),
        &["fsck", "--full", "--strict"],
    );
}

/// A `git push` runs at the same time; neither side loses a commit.
#[test]
fn commits_during_pushes_lose_nothing() {
    const PUSHES: u32 = 2;
    let fixture = GithubFixture::new();
    let server = fixture.http(&UNLIMITED);
    let bare = fixture.bare("sample/hello");
    fixture.git("", &["clone", "-q", bare.to_str().unwrap(), "clone"]);
    let clone = fixture.path("clone");
    let pushing = thread::spawn(move || {
        let mut pushed = 0;
        for number in 0..PUSHES {
            std::fs::write(clone.join(format!("pushed-{number}")), "").unwrap();
            assert!(git(&clone, &["add", "--all"]).status.success());
            let commit = ["commit", "-q", "-m", &format!("pushed-{number}")];
            assert!(git(&clone, &commit).status.success());
            for _ in 0..20 {
                if git(&clone, &["push", "-q", "origin", "main"])
                    .status
                    .success()
                {
                    pushed += 1;
                    break;
                }
                assert!(
                    git(&clone, &["pull", "-q", "--rebase", "origin", "main"])
                        .status
                        .success()
                );
            }
        }
        pushed
    });
    let mut named = Vec::new();
    let mut round = 0;
    while round < ROUNDS || !pushing.is_finished() {
        assert!(round < 500, "pushing does not end");
        let names: Vec<_> = (0..4).map(|client| format!("{round}-{client}")).collect();
        let calls: Vec<_> = names.iter().map(|name| commit(name)).collect();
        named.extend(names.into_iter().zip(send_concurrently(&server, &calls)));
        round += 1;
    }
    let pushed = pushing.join().unwrap();
    let won = check(&fixture, &named);
    let history = history(&fixture);
    for number in 0..pushed {
        let subject = format!("pushed-{number}");
        assert!(
            history.iter().any(|(_, one)| *one == subject),
            "{subject} is lost"
        );
    }
    assert_eq!(history.len(), 2 + won + pushed as usize);
    fixture.git(&bare, &["fsck", "--full", "--strict"]);
}

#[test]
fn only_one_of_two_merges_succeeds() {
    let fixture = GithubFixture::new();
    let server = fixture.http(&UNLIMITED);
    let merge = || {
        (
            "merge_pull_request",
            json!({ "repo": "sample/hello", "prNumber": 1, "delete_branch": true }),
        )
    };
    let answers = send_concurrently(&server, &[merge(), merge(), merge()]);
    let (won, lost): (Vec<_>, Vec<_>) = answers
        .iter()
        .partition(|answer| answer.get("result").is_some());
    assert_eq!(won.len(), 1, "{answers:?}");
    for answer in lost {
        assert_eq!(answer["error"]["code"], -32005, "{answer}");
        assert_eq!(answer["error"]["data"]["fault"]["effect"], "none");
    }
    let merges: Vec<_> = history(&fixture)
        .into_iter()
        .filter(|(_, subject)| subject.starts_with("Merge pull request #1"))
        .collect();
    assert_eq!(merges.len(), 1);
    assert_eq!(
        won[0]["result"]["structuredContent"]["sha"],
        merges[0].0.as_str()
    );
    let pulls = (&server).call_ok(
        "list_pull_requests",
        json!({ "repo": "sample/hello", "state": "closed" }),
    );
    assert_eq!(pulls["pull_requests"][0]["merged"], true);
}

/// The same pull request is opened only once.
#[test]
fn only_one_of_many_pull_requests_is_opened() {
    let fixture = GithubFixture::new();
    let server = fixture.http(&UNLIMITED);
    (&server).call_ok(
        "update_pull_request",
        json!({ "repo": "sample/hello", "prNumber": 1, "state": "closed" }),
    );
    let open = || {
        (
            "create_pull_request",
            json!({ "repo": "sample/hello", "title": "x", "head": "feature/greeting", "base": "main" }),
        )
    };
    let answers = send_concurrently(&server, &[open(), open(), open(), open()]);
    let (won, lost): (Vec<_>, Vec<_>) = answers
        .iter()
        .partition(|answer| answer.get("result").is_some());
    assert_eq!(won.len(), 1, "{answers:?}");
    for answer in lost {
        assert_eq!(answer["error"]["code"], -32003, "{answer}");
        assert_eq!(
            answer["error"]["data"]["number"],
            won[0]["result"]["structuredContent"]["number"]
        );
    }
}
