//! A full disk under a local forge: every write names it and changes nothing, and every call succeeds
//! again when there is room.

use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use crate::requests::{Transport as _, call, parse};
use candor_testkit::{Exit, Stdio, on_small_disk};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The size of the file system in bytes.
const SIZE: usize = 16 * 1024 * 1024;

/// The unit in which the file system hands out room.
const PAGE: u64 = 4096;

const ROUNDS: u64 = 20;
const REPO: &str = "sample/hello";
const FLAGS: [&str; 6] = [
    "serve",
    "--allow-writes",
    "--writes-per-minute",
    "100000",
    "--toolsets",
    "all",
];

/// A server whose data directory is a small file system.
struct SmallForge {
    server: Stdio,
    filler: PathBuf,
}

impl SmallForge {
    /// Fills the file system except for some pages.
    fn fill(&self, free: u64) {
        assert!(fs::write(&self.filler, vec![0; SIZE]).is_err());
        let size = fs::metadata(&self.filler).unwrap().len();
        let file = File::options().write(true).open(&self.filler).unwrap();
        file.set_len(size - free * PAGE).unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(&self.filler).unwrap();
    }

    /// Makes a write on the full disk. Returns its answer, or `None` if it failed without effect.
    fn try_write(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let mut answer = parse(&self.server.send_message(&call(1, tool, arguments)));
        let Some(error) = answer.get("error") else {
            return Some(answer["result"]["structuredContent"].take());
        };
        let message = error["message"].as_str().unwrap();
        let fault = &error["data"]["fault"];
        assert_eq!(error["code"], -32603, "{error}");
        match fault["effect"].as_str() {
            Some("none") => {
                let full = "Internal error: the disk is full";
                assert!(
                    message == full || message == format!("{full}; the outcome is not on record"),
                    "{error}"
                );
                assert_eq!(fault["retry"], "after_change");
                assert!(
                    fault["remedy"].as_str().unwrap().contains("space"),
                    "{error}"
                );
                None
            }
            Some("done") => {
                assert!(message.contains("the disk is full"), "{error}");
                Some(Value::Null)
            }
            _ => panic!("{tool}: {error}"),
        }
    }

    fn pull(&mut self, number: u64) -> Value {
        let arguments = json!({ "repo": REPO, "prNumber": number });
        self.server.call_ok("get_pull_request", arguments)
    }
}

fn files(path: &str, content: &str) -> Value {
    json!([{ "path": path, "content": content }])
}

/// Returns a text that does not compress.
fn noise(random: &mut fastrand::Rng, bytes: usize) -> String {
    (0..bytes).map(|_| random.alphanumeric()).collect()
}

#[test]
fn full_disk_changes_nothing_and_is_over_when_there_is_room() {
    let fixture = GithubFixture::new();
    let data = fixture.path("data");
    let command = fixture.command(&FLAGS);
    let Some(command) = on_small_disk(&command, Path::new(&data), SIZE) else {
        return;
    };
    let mut random = fastrand::Rng::with_seed(17);
    let server = Stdio::start(command);
    let mut forge = SmallForge {
        filler: PathBuf::new(),
        server,
    };
    let before = forge.pull(2);
    let pid = forge.server.process().pid();
    forge.filler = PathBuf::from(format!("/proc/{pid}/root{}/filler", data.display()));

    // As reported: a page is left, and a body needs more.
    forge.fill(1);
    let update = json!({ "repo": REPO, "prNumber": 2, "body": "y".repeat(9000) });
    assert_eq!(forge.try_write("update_pull_request", &update), None);
    let after = forge.pull(2);
    assert_eq!(
        (&after["title"], &after["body"]),
        (&before["title"], &before["body"])
    );
    forge.make_room();
    forge.server.call_ok("update_pull_request", update);

    let mut merged = None;
    for round in 0..ROUNDS {
        let name = format!("topic-{round}");
        let open = format!("open-{round}");
        for branch in [&name, &open] {
            let branch = json!({ "repo": REPO, "name": branch });
            forge.server.call_ok("create_branch", branch);
        }
        let start =
            json!({ "repo": REPO, "branch": name, "message": "m", "files": files(&name, "1") });
        forge.server.call_ok("commit_files", start);
        let start =
            json!({ "repo": REPO, "branch": open, "message": "m", "files": files(&open, "1") });
        forge.server.call_ok("commit_files", start);
        let pull = json!({ "repo": REPO, "title": name, "head": name, "base": "main" });
        let number = forge.server.call_ok("create_pull_request", pull)["number"]
            .as_u64()
            .unwrap();

        let body = noise(&mut random, 9000);
        let update = json!({ "repo": REPO, "prNumber": number, "body": body });
        let content = noise(&mut random, 40_000);
        let commit = json!({
            "repo": REPO, "branch": open, "message": "large", "files": files("large", &content),
        });
        let create = json!({
            "repo": REPO, "title": open, "head": open, "base": "main", "body": body,
        });
        let branch = json!({ "repo": REPO, "name": format!("new-{round}") });
        let merge = json!({ "repo": REPO, "prNumber": number });
        let changes = json!([
            { "op": "write", "path": "changed", "content": noise(&mut random, 20_000) },
            { "op": "delete", "path": open },
        ]);
        let changes =
            json!({ "repo": REPO, "branch": open, "message": "changes", "changes": changes });
        // The merge of an earlier round is undone, and a branch gets what was merged since.
        let revert = merged.replace(number).map(|earlier| {
            let earlier = json!({ "repo": REPO, "prNumber": earlier });
            ("revert_pull_request", earlier)
        });
        let behind = json!({ "repo": REPO, "prNumber": 1 });
        let comment = json!({ "repo": REPO, "number": 2, "body": body });
        let line = json!([{ "path": "src/main.rs", "line": 2, "body": body }]);
        let review = json!({ "repo": REPO, "prNumber": 1, "event": "COMMENT", "comments": line });
        let reviewers = json!({ "repo": REPO, "prNumber": 2, "reviewers": [name] });
        let issue = json!({ "repo": REPO, "title": name, "body": body, "labels": [name] });
        let writes = [
            ("add_issue_comment", comment),
            ("create_pull_request_review", review),
            ("request_pull_request_reviewers", reviewers),
            ("create_issue", issue),
            ("merge_pull_request", merge),
            ("update_pull_request", update),
            ("commit_files", commit),
            ("create_pull_request", create),
            ("create_branch", branch),
            ("commit_changes", changes),
            ("update_pull_request_branch", behind),
        ];
        let writes: Vec<_> = writes.into_iter().chain(revert).collect();
        // Each round leaves another amount of room, so that another step of a write fails.
        forge.fill(round % 10);
        let mut failed = Vec::new();
        for (tool, arguments) in &writes {
            if forge.try_write(tool, arguments).is_none() {
                failed.push((*tool, arguments));
            }
        }
        assert!(
            failed.iter().any(|(tool, _)| *tool == "commit_files"),
            "{round}"
        );
        let pull = forge.pull(number);
        let has_failed = |tool: &str| failed.iter().any(|(failed, _)| *failed == tool);
        assert_eq!(pull["merged"], !has_failed("merge_pull_request"), "{round}");
        assert_eq!(
            pull["body"] == body.as_str(),
            !has_failed("update_pull_request"),
            "{round}"
        );
        forge.make_room();
        for (tool, arguments) in failed {
            forge.server.call_ok(tool, arguments.clone());
        }
    }
    assert_eq!(forge.server.end(), (vec![], Exit::Code(0)));
}
