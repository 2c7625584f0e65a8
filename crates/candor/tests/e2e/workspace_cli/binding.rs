//! Approvals that are bound to a path, to a repository, or to both.

use crate::fixture::CANDOR;
use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

fn edit() -> Value {
    json!({ "path": "src/a.rs", "content": "pub fn b() {}\n" })
}

/// Contains a commit, and a key without a passphrase.
fn fixture() -> OwnerFixture {
    let fixture = OwnerFixture::empty();
    fixture.commit("ws", "one");
    fixture.run(&["init", "--name", "anna", "--no-passphrase"]);
    fixture
}

/// Starts a session of an executor in a directory beside the workspace.
async fn executor_in(fixture: &OwnerFixture, dir: &str) -> Agent {
    let root = fixture.path(dir);
    let root = root.to_str().unwrap();
    let args = ["workspace", "serve", "--role", "executor", "--root", root];
    let server = json!({ "command": CANDOR, "args": args });
    let config = json!({ "mcpServers": { "candor-workspace": server } });
    let agent = Agent::configured(fixture, &config).await;
    let root = json!({ "workspace_root": root });
    agent.call_ok("begin_session", root).await;
    agent
}

/// Makes an edit that must be refused because the plan is not approved. Returns the message.
async fn refused(agent: &Agent) -> String {
    let refused = agent.call_err("write_file", edit()).await;
    assert_eq!(refused["error_code"], "PLAN_NOT_APPROVED", "{refused}");
    refused["human_message"].as_str().unwrap().to_owned()
}

fn copy_plans(fixture: &OwnerFixture, to: &str) {
    let plans = fixture.path(to).join("docs/plans");
    fs::create_dir_all(&plans).unwrap();
    for entry in fs::read_dir(fixture.path("ws/docs/plans")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), plans.join(entry.file_name())).unwrap();
    }
}

#[tokio::test]
async fn repository_approval_holds_in_a_clone_and_not_elsewhere() {
    let fixture = fixture();
    let root = fixture.git("ws", &["rev-parse", "HEAD"]);
    fixture.run_ok(&["allow", "src/**", "--yes", "--bind", "repository"]);
    fixture.commit("ws", "plan");
    fixture.git("", &["clone", "-q", "ws", "clone"]);
    for dir in ["ws", "clone"] {
        let agent = executor_in(&fixture, dir).await;
        agent.call_ok("write_file", edit()).await;
        agent.end().await;
    }
    // Another repository, with the same plan and approval.
    fixture.write("other/src/a.rs", "");
    fixture.git("other", &["init", "-q"]);
    let other = fixture.commit("other", "first");
    copy_plans(&fixture, "other");
    let agent = executor_in(&fixture, "other").await;
    let message = refused(&agent).await;
    let expected = format!("for the repository {} only", &root[..12]);
    assert!(message.contains(&expected), "{message}");
    assert!(message.contains(&other[..12]), "{message}");
    agent.end().await;
    // No repository at all.
    fixture.write("plain/src/a.rs", "");
    copy_plans(&fixture, "plain");
    let agent = executor_in(&fixture, "plain").await;
    let message = refused(&agent).await;
    assert!(
        message.contains("it is not in a git repository"),
        "{message}"
    );
    agent.end().await;
    // A shallow clone.
    let from = format!("file://{}", fixture.workspace().display());
    let clone = ["clone", "-q", "--depth", "1", &from, "shallow"];
    fixture.git("", &clone);
    let agent = executor_in(&fixture, "shallow").await;
    let message = refused(&agent).await;
    assert!(message.contains("shallow clone"), "{message}");
    agent.end().await;
    // A history that contains that of the repository.
    fixture.git(
        "other",
        &["fetch", "-q", from.trim_start_matches("file://"), "HEAD"],
    );
    fs::remove_dir_all(fixture.path("other/docs")).unwrap();
    let merge = [
        "merge",
        "-q",
        "--allow-unrelated-histories",
        "-X",
        "theirs",
        "-m",
        "m",
        "FETCH_HEAD",
    ];
    fixture.git("other", &merge);
    let agent = executor_in(&fixture, "other").await;
    agent.call_ok("write_file", edit()).await;
    agent.end().await;
}

#[tokio::test]
async fn default_binding_is_the_path_and_the_repository() {
    let fixture = fixture();
    let root = fixture.git("ws", &["rev-parse", "HEAD"]);
    fixture.run_ok(&["allow", "src/**", "--yes"]);
    fixture.commit("ws", "plan");
    let status = fixture.run(&["status", "--json"]).stdout;
    let status: Value = serde_json::from_slice(&status).unwrap();
    let bound = json!({ "root": fixture.workspace(), "repository": [root] });
    assert_eq!(status["plans"][0]["bound"], bound);
    let agent = Agent::executor(&fixture).await;
    agent.call_ok("write_file", edit()).await;
    // The root commits of a commit are computed once.
    let branch = fixture.git("ws", &["symbolic-ref", "HEAD"]);
    fixture.git("ws", &["checkout", "-q", "--orphan", "other"]);
    let message = refused(&agent).await;
    assert!(message.contains("HEAD has no commit yet"), "{message}");
    let other = fixture.commit("ws", "other");
    let message = refused(&agent).await;
    assert!(
        message.contains(&format!("belongs to {}", &other[..12])),
        "{message}"
    );
    fixture.git("ws", &["symbolic-ref", "HEAD", &branch]);
    agent.call_ok("write_file", edit()).await;
    agent.end().await;
    // A clone is at another path.
    fixture.git("", &["clone", "-q", "ws", "clone"]);
    let agent = executor_in(&fixture, "clone").await;
    let message = refused(&agent).await;
    let expected = format!("approved the plan for {:?} only", fixture.workspace());
    assert!(message.contains(&expected), "{message}");
    agent.end().await;
    let cached = fs::read_dir(fixture.path("state")).unwrap();
    let cached = cached.map(|entry| entry.unwrap().path().join("repository"));
    let cached: usize = cached
        .filter_map(|dir| fs::read_dir(dir).ok())
        .map(|entries| {
            entries
                .filter(|entry| entry.as_ref().unwrap().path().is_file())
                .count()
        })
        .sum();
    assert!((1..=4).contains(&cached), "{cached}");
}

#[tokio::test]
async fn revocation_reaches_every_clone() {
    let fixture = fixture();
    fixture.run_ok(&["allow", "src/**", "--yes", "--bind", "repository"]);
    fixture.commit("ws", "plan");
    fixture.git("", &["clone", "-q", "ws", "clone"]);
    let here = executor_in(&fixture, "ws").await;
    let there = executor_in(&fixture, "clone").await;
    here.call_ok("write_file", edit()).await;
    there.call_ok("write_file", edit()).await;
    let status = fixture.status();
    assert!(
        status.contains("in every clone of the repository "),
        "{status}"
    );
    let line = fixture.last_line();
    let plan = line["plan_hash"].as_str().unwrap();
    fixture.run_ok(&["revoke", &plan[..12], "--yes"]);
    for agent in [&here, &there] {
        let message = refused(agent).await;
        assert!(message.contains("revoked by \"anna\""), "{message}");
    }
    let clone = fixture.run_ok(&["status", "--root", "../clone"]);
    assert!(clone.contains("revoked by \"anna\""), "{clone}");
    // Another approval is a new one, for this path only.
    fixture.run_ok(&["approve", &plan[..12], "--yes"]);
    here.call_ok("write_file", edit()).await;
    refused(&there).await;
    here.end().await;
    there.end().await;
}

#[test]
fn binding_to_a_repository_needs_an_identity() {
    let fixture = OwnerFixture::empty();
    fixture.run(&["init", "--name", "anna", "--no-passphrase"]);
    let allow = ["allow", "src/**", "--yes", "--bind", "repository"];
    assert_snapshot!(fixture.run_err(&allow), @r"
    error: the approval cannot be bound to the repository of this workspace: HEAD has no commit yet
    hint: make a commit first, or bind the approval to this path with --bind here
    ");
    fixture.commit("ws", "one");
    fixture.commit("ws", "two");
    let from = format!("file://{}", fixture.workspace().display());
    fixture.git("", &["clone", "-q", "--depth", "1", &from, "shallow"]);
    let shallow: Vec<_> = allow
        .iter()
        .copied()
        .chain(["--root", "../shallow"])
        .collect();
    assert_snapshot!(fixture.run_err(&shallow), @r"
    error: the approval cannot be bound to the repository of this workspace: the repository is a shallow clone, without its root commits
    hint: fetch the whole history, or bind the approval to this path with --bind here:
      git fetch --unshallow
    ");
    fixture.write("plain/src/a.rs", "");
    let plain: Vec<_> = allow
        .iter()
        .copied()
        .chain(["--root", "../plain"])
        .collect();
    assert_snapshot!(fixture.run_err(&plain), @r"
    error: the approval cannot be bound to the repository of this workspace: it is not in a git repository
    hint: bind the approval to this path with --bind here
    ");
    assert!(!fixture.path("plain/docs").exists());
    let output = fixture.run_ok(&["allow", "src/**", "--yes", "--root", "../plain"]);
    assert!(
        output.contains("(and to no repository: it is not in a git repository)"),
        "{output}"
    );
}
