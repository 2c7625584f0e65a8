//! The program that the tests of the local backend start: it makes changes in the sample repository of a
//! forge. Arguments: `merge-and-abort`, `commit` or `open`, and the directory of the forge; or `write-many`,
//! the directory, a name for the process, and the numbers of writers and of commits that each makes.

// The program fails like a test.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

use candor_fault::{Answer, Timestamp};
use candor_forge::local::{ChangePoint, Identity};
use candor_forge::{Config, ForgeServer, LocalForge, WriteLog};
use candor_street::{
    Call, CancellationToken, ClientInfo, Clock, Dispatcher, Era, MetricsHub, Peer, Progress,
};
use serde_json::{Map, Value, json};
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["merge-and-abort", dir] => {
            let arguments =
                json!({ "repo": "sample/hello", "prNumber": 1, "merge_method": "rebase" });
            let abort = Some(ChangePoint::MergeMoved);
            runtime.block_on(change(dir, abort, "merge_pull_request", &arguments));
            panic!("the merge did not reach the point at which it aborts");
        }
        ["commit", dir] => {
            let files = [json!({ "path": "one/two", "content": "x" })];
            let arguments =
                json!({ "repo": "sample/hello", "branch": "main", "message": "m", "files": files });
            runtime.block_on(change(dir, None, "commit_files", &arguments));
        }
        ["open", dir] => {
            runtime.block_on(open(dir, None));
            println!("opened");
        }
        ["write-many", dir, name, writers, commits] => {
            let (writers, commits) = (writers.parse().unwrap(), commits.parse().unwrap());
            runtime.block_on(write_many(dir, name, writers, commits));
        }
        _ => panic!("unknown arguments: {arguments:?}"),
    }
}

/// A log of writes that keeps nothing: only the syncs of the change itself are counted.
struct EmptyLog;

impl WriteLog for EmptyLog {
    fn append(&self, _: Map<String, Value>) -> io::Result<u64> {
        Ok(1)
    }
}

type TestDispatcher = Arc<Dispatcher<ForgeServer>>;

/// Opens the forge. Its process aborts at this point of a change.
async fn open(dir: &str, abort: Option<ChangePoint>) -> TestDispatcher {
    let clock: Arc<dyn Clock> = Arc::new(|| Timestamp::from_second(1_770_091_506).unwrap());
    let identity = Identity {
        name: "Ada".to_owned(),
        email: "ada@example.com".to_owned(),
    };
    let forge = LocalForge::open(dir, Arc::clone(&clock), identity).await;
    let forge = forge.unwrap().with_probe(Arc::new(move |point| {
        if Some(point) == abort {
            std::process::abort();
        }
        true
    }));
    let config = Config {
        allow_writes: true,
        writes_a_minute: NonZeroU32::MAX,
        ..Config::default()
    };
    let server = ForgeServer::new(Arc::new(forge), config, Arc::new(drop), Arc::clone(&clock));
    let server = server.with_write_log(Arc::new(EmptyLog));
    Dispatcher::new(server, clock, &MetricsHub::default()).unwrap()
}

/// Calls a tool.
async fn call(dispatcher: &TestDispatcher, tool: &str, arguments: &Value) -> Answer {
    let call = Call {
        target: Default::default(),
        name: tool.to_owned(),
        arguments: Some(arguments.into()),
        era: Era::Handshake,
        id: String::from("1"),
        peer: Peer {
            may_write: true,
            ..Peer::default()
        },
        client: ClientInfo::default(),
        progress: Progress::default(),
        held: Default::default(),
    };
    let (sender, receiver) = tokio::sync::oneshot::channel();
    match dispatcher.begin(call, CancellationToken::new()) {
        Ok(answer) => answer,
        Err(pending) => {
            pending.deliver(|answer| async move { drop(sender.send(answer)) });
            receiver.await.unwrap()
        }
    }
}

/// Makes one change and fails if it is not made.
async fn change(dir: &str, abort: Option<ChangePoint>, tool: &str, arguments: &Value) {
    let dispatcher = open(dir, abort).await;
    let answer = call(&dispatcher, tool, arguments).await;
    assert!(success(&answer).is_some(), "{answer:?}");
}

/// Returns the value that a call answers if it succeeds.
fn success(answer: &Answer) -> Option<Value> {
    match answer {
        Answer::Result(text) if !text.contains(r#""isError":true"#) => {
            let result: Value = serde_json::from_str(text).unwrap();
            let text = result["content"][0]["text"].as_str().unwrap();
            Some(serde_json::from_str(text).unwrap())
        }
        _ => None,
    }
}

/// Commits with many writers at once, all on one branch, and prints the commits that were acknowledged. After
/// each, the branch must have the writer's file with its last content.
async fn write_many(dir: &str, name: &str, writers: usize, commits: usize) {
    let dispatcher = open(dir, None).await;
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..writers {
        let (dispatcher, path) = (Arc::clone(&dispatcher), format!("{name}/{writer}"));
        tasks.spawn(async move {
            for number in 0..commits {
                let sha = commit_until_made(&dispatcher, &path, number).await;
                let read = json!({ "repo": "sample/hello", "path": path, "branch": "main" });
                let answer = call(&dispatcher, "read_file", &read).await;
                let content = success(&answer).map(|file| file["content"].clone());
                assert_eq!(
                    content,
                    Some(json!(format!("{number}"))),
                    "stale: {answer:?}"
                );
                println!("{sha}");
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
}

/// Repeats a commit that was refused because another writer moved the branch.
async fn commit_until_made(dispatcher: &TestDispatcher, path: &str, number: usize) -> String {
    let files = [json!({ "path": path, "content": format!("{number}") })];
    let commit =
        json!({ "repo": "sample/hello", "branch": "main", "message": "m", "files": files });
    loop {
        let answer = call(dispatcher, "commit_files", &commit).await;
        match (success(&answer), &answer) {
            (Some(commit), _) => {
                let sha = &commit["commit"]["sha"];
                let sha = sha.as_str().or_else(|| commit["sha"].as_str());
                return sha.unwrap_or_else(|| panic!("{commit}")).to_owned();
            }
            (None, Answer::Error(error)) if error.message.contains("moved") => {}
            (None, answer) => panic!("{answer:?}"),
        }
    }
}
