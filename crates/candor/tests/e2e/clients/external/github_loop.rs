//! The work on a repository from the first branch to the revert of the merged pull request, by the Node and
//! Python clients: over stdio and HTTP, on the local forge and on an emulator of GitHub. `rust_sdk` does the same
//! with the Rust client.

mod emulator;

use super::runner::Runner;
use super::{Client, INSPECTOR, PYTHON, TYPESCRIPT_CLIENT, TYPESCRIPT_SDK, is_skipped};
use crate::clients::report::Era;
use crate::clients::target::{HttpServer, Target};
use crate::fixture::CANDOR;
use crate::github::fixture::GithubFixture;
use emulator::Emulator;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The place that the repository of the loop is on.
pub(in crate::clients) enum Place {
    Local(GithubFixture),
    Emulated(Emulator),
}

impl Place {
    fn repo(&self) -> &'static str {
        match self {
            Place::Local(_) => "sample/hello",
            Place::Emulated(_) => emulator::REPO,
        }
    }

    pub(in crate::clients) fn args(&self) -> Vec<String> {
        let words = [
            "github",
            "serve",
            "--allow-writes",
            "--writes-per-minute",
            "10000",
        ]
        .map(String::from);
        let place = match self {
            Place::Local(fixture) => vec![String::from("--data-dir"), fixture.text("data")],
            Place::Emulated(emulator) => emulator.flags(),
        };
        words.into_iter().chain(place).collect()
    }

    pub(in crate::clients) fn stdio(&self) -> Target {
        Target::Stdio {
            program: PathBuf::from(CANDOR),
            args: self.args(),
        }
    }
}

/// A connected client.
pub(in crate::clients) trait ToolCaller {
    /// Makes a call and returns what the client shows.
    fn call(&mut self, tool: &'static str, arguments: Value) -> Value;
    /// Closes the session.
    fn finish(self: Box<Self>);
}

impl ToolCaller for Runner {
    fn call(&mut self, tool: &'static str, arguments: Value) -> Value {
        let request = json!({ "call": { "name": tool, "arguments": arguments } });
        serde_json::from_str(&self.ask(&request).unwrap()).unwrap()
    }

    fn finish(self: Box<Self>) {
        Runner::finish(*self);
    }
}

/// One session of a client.
pub(in crate::clients) struct Session<'p> {
    pub(in crate::clients) place: &'p Place,
    pub(in crate::clients) client: Box<dyn ToolCaller>,
    pub(in crate::clients) name: String,
}

impl Session<'_> {
    fn open<'p>(client: &Client, place: &'p Place, target: &Target, era: Era) -> Session<'p> {
        let mut runner = Runner::start(client.language, client.script, target, era);
        let mut step = || -> Value { serde_json::from_str(&runner.next_step().unwrap()).unwrap() };
        let connected = step();
        assert_eq!(connected["ok"], true, "{connected}");
        let listed = step();
        assert!(listed["tools"].is_array(), "{listed}");
        Session {
            place,
            client: Box::new(runner),
            name: format!("{} {:?}", client.script, era.requested),
        }
    }

    /// Makes a call and returns what the client shows.
    fn call(&mut self, tool: &'static str, mut arguments: Value) -> Value {
        arguments["repo"] = self.place.repo().into();
        self.client.call(tool, arguments)
    }

    /// Makes a call that succeeds and returns its structured content.
    fn done(&mut self, tool: &'static str, arguments: Value) -> Value {
        let shown = self.call(tool, arguments);
        let is_success = shown["outcome"] == "result" && shown["is_error"] == false;
        assert!(is_success, "{}: {tool}: {shown}", self.name);
        shown["structured"].clone()
    }

    /// Makes a call that fails and returns the error, whatever form the client got it in.
    fn refused(&mut self, tool: &'static str, arguments: Value) -> Value {
        let shown = self.call(tool, arguments);
        if shown["outcome"] == "error" {
            // The inspector shows the message alone.
            return match &shown["code"] {
                Value::Null => json!({ "message": shown["message"] }),
                _ => shown,
            };
        }
        assert_eq!(shown["is_error"], true, "{}: {tool}: {shown}", self.name);
        let text = shown["content"][0]["text"].as_str().unwrap();
        let (_, object) = text.split_once('\n').unwrap();
        serde_json::from_str(object).unwrap()
    }

    /// Writes one file and returns the new head of the branch.
    fn write(&mut self, branch: &str, path: &str, content: &str) -> Value {
        let changes = json!([{ "op": "write", "path": path, "content": content }]);
        let message = format!("Write {path}");
        let arguments = json!({ "branch": branch, "message": message, "changes": changes });
        self.done("commit_changes", arguments)["sha"].clone()
    }
}

/// The loop, as `docs/github.md` tells it. A session has branches of its own, so that several share a place.
pub(in crate::clients) fn work(mut session: Session<'_>, number: usize) {
    let (branch, file) = (format!("fix-{number}"), format!("greeting-{number}.txt"));
    session.done("create_branch", json!({ "name": branch }));
    let changes = json!([
        { "op": "write", "path": file, "content": "Hello\n" },
        { "op": "write", "path": format!("docs/{file}"), "content": "one\ntwo\n" },
    ]);
    let commit = json!({ "branch": branch, "message": "Add a greeting", "changes": changes });
    let red = session.done("commit_changes", commit)["sha"].clone();
    let open = json!({ "title": "Add a greeting", "head": branch, "base": "main" });
    let mut pull = Value::Null;
    // The emulator does not move the head of a pull request with its branch.
    if let Place::Local(_) = session.place {
        let opened = session.done("create_pull_request", open.clone());
        assert_eq!(opened["head_sha"], red);
        pull = opened["number"].clone();
        read_red_check(&mut session, &red, &pull);
    }

    let edit = json!([
        { "op": "edit", "path": file, "old_text": "Hello", "new_text": "Good morning" },
        { "op": "move", "path": format!("docs/{file}"), "to": format!("guide/{file}") },
    ]);
    let commit =
        json!({ "branch": branch, "message": "Mend it", "changes": edit, "expected_head": red });
    let mended = session.done("commit_changes", commit)["sha"].clone();
    let compared = session.done("compare_commits", json!({ "base": "main", "head": branch }));
    assert_eq!(
        (&compared["status"], &compared["ahead_by"]),
        (&json!("ahead"), &json!(2))
    );
    let read = session.done(
        "get_file_contents",
        json!({ "path": file, "branch": branch }),
    );
    assert_eq!(read["content"], "Good morning\n");

    if let Place::Emulated(_) = session.place {
        pull = session.done("create_pull_request", open)["number"].clone();
    }
    let shown = session.done("get_pull_request", json!({ "prNumber": pull }));
    assert_eq!(
        (&shown["head_sha"], &shown["state"]),
        (&mended, &json!("open"))
    );

    // The base moves on, and the head is brought up to date.
    let mut head = mended;
    if let Place::Local(_) = session.place {
        head = resolve_conflict(&mut session, &branch, &file, &pull);
    } else {
        session.write("main", &format!("base-{number}.txt"), "moved on\n");
    }
    let updated = session.done("update_pull_request_branch", json!({ "prNumber": pull }));
    assert_eq!(updated["updated"], true);
    assert_eq!(updated["previous_head_sha"], head);
    let stale = json!({ "prNumber": pull, "expected_head_sha": "0".repeat(40) });
    let stale = session.refused("update_pull_request_branch", stale);
    assert_code(&stale, -32006);

    let merged = session.done("merge_pull_request", json!({ "prNumber": pull }));
    assert_eq!(merged["head_sha"], updated["head_sha"]);
    let read = session.done("read_file", json!({ "path": file }));
    let content = read["content"].as_str().unwrap();
    assert!(content.starts_with("Good morning\n"), "{content}");
    // The emulator does not know the mutation that reverts.
    if let Place::Local(_) = session.place {
        let reverted = session.done("revert_pull_request", json!({ "prNumber": pull }));
        assert_eq!(reverted["reverts"], pull);
        assert_eq!(reverted["head"], format!("revert-{pull}-{branch}"));
    }
    session.client.finish();
}

/// Reports a failing check with its log, as a build server would, and reads it in the session.
fn read_red_check(session: &mut Session<'_>, sha: &Value, pull: &Value) {
    let Place::Local(fixture) = session.place else {
        return;
    };
    let log = fixture.write("build.log", "compiling\nerror: no greeting\n");
    let sha = sha.as_str().unwrap();
    let set = ["status", session.place.repo(), "--at", sha];
    fixture.run_ok(&[&set[..], &["--set", "build=failure", "--log", &log]].concat());
    let checks = session.done("get_checks_for_sha", json!({ "sha": sha }));
    assert_eq!(checks["failing"][0]["name"], "build", "{checks}");
    let logs = session.done("get_job_logs", json!({ "prNumber": pull, "tail_lines": 1 }));
    assert_eq!(logs["jobs"][0]["log"], "error: no greeting", "{logs}");
    let comment = json!({ "number": pull, "body": "The build is red." });
    let comment = session.done("add_issue_comment", comment);
    let comments = session.done("get_pull_request_comments", json!({ "prNumber": pull }));
    assert_eq!(comments["comments"][0]["id"], comment["id"], "{comments}");
}

/// Changes a file on both sides, meets the conflict, and ends it by taking over the text of the base. Returns
/// the new head. The emulator merges whatever it gets.
fn resolve_conflict(session: &mut Session<'_>, branch: &str, file: &str, pull: &Value) -> Value {
    session.write("main", file, "Good morning\nGood evening\n");
    for tool in ["merge_pull_request", "update_pull_request_branch"] {
        let refused = session.refused(tool, json!({ "prNumber": pull }));
        assert_code(&refused, -32005);
        if let Some(data) = refused.get("data") {
            let conflicts = json!([{ "path": file, "kind": "add_add" }]);
            assert_eq!(data["conflicts"], conflicts, "{refused}");
        }
    }
    session.write(branch, file, "Good morning\nGood evening\n")
}

fn assert_code(error: &Value, code: i64) {
    // Of a JSON-RPC error the inspector shows the message alone.
    if let Some(found) = error.get("code") {
        assert_eq!(*found, code, "{error}");
    }
}

impl Client {
    fn check_loop(&self, place: &Place) {
        let listening = HttpServer::start(place.args());
        let mut targets = vec![listening.target()];
        // The inspector starts a server for each call, which takes a second.
        if self.script != INSPECTOR.script {
            targets.push(place.stdio());
        }
        let sessions = self
            .eras
            .iter()
            .flat_map(|era| targets.iter().map(move |target| (era, target)));
        for (number, (era, target)) in sessions.enumerate() {
            work(Session::open(self, place, target, *era), number);
        }
    }

    fn check_local_loop(&self) {
        if !is_skipped() {
            self.check_loop(&Place::Local(GithubFixture::new()));
        }
    }

    fn check_emulated_loop(&self) {
        if !is_skipped() {
            self.check_loop(&Place::Emulated(Emulator::start()));
        }
    }
}

#[test]
fn python_client_does_the_loop_on_the_local_forge() {
    PYTHON.check_local_loop();
}

#[test]
fn typescript_sdk_does_the_loop_on_the_local_forge() {
    TYPESCRIPT_SDK.check_local_loop();
}

#[test]
fn typescript_client_does_the_loop_on_the_local_forge() {
    TYPESCRIPT_CLIENT.check_local_loop();
}

#[test]
fn inspector_does_the_loop_on_the_local_forge() {
    INSPECTOR.check_local_loop();
}

#[test]
fn python_client_does_the_loop_on_the_emulator() {
    PYTHON.check_emulated_loop();
}

#[test]
fn typescript_sdk_does_the_loop_on_the_emulator() {
    TYPESCRIPT_SDK.check_emulated_loop();
}

#[test]
fn typescript_client_does_the_loop_on_the_emulator() {
    TYPESCRIPT_CLIENT.check_emulated_loop();
}

#[test]
fn inspector_does_the_loop_on_the_emulator() {
    INSPECTOR.check_emulated_loop();
}
