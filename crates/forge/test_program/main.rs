//! The program that the tests of the local backend start: it makes one change in the sample repository of
//! a forge. Arguments: `merge-and-abort` or `commit`, and the directory of the forge.

// The program fails like a test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use candor_fault::{Answer, Timestamp};
use candor_forge::local::{ChangePoint, Identity};
use candor_forge::{Config, ForgeServer, LocalForge, WriteLog};
use candor_street::{
    Call, CancellationToken, ClientInfo, Clock, Dispatcher, Era, MetricsHub, Peer, Progress,
};
use serde_json::{Map, Value, json};
use std::io;
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

/// Calls a tool of a server on this forge, and aborts the process at a point of the change.
async fn change(dir: &str, abort: Option<ChangePoint>, tool: &str, arguments: &Value) {
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
        ..Config::default()
    };
    let server = ForgeServer::new(Arc::new(forge), config, Arc::new(drop), Arc::clone(&clock));
    let server = server.with_write_log(Arc::new(EmptyLog));
    let dispatcher = Dispatcher::new(server, clock, &MetricsHub::default()).unwrap();
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
    let Err(pending) = dispatcher.begin(call, CancellationToken::new()) else {
        panic!("a change waits for the disk");
    };
    pending.deliver(|answer| async move { drop(sender.send(answer)) });
    match receiver.await.unwrap() {
        Answer::Result(text) if !text.contains(r#""isError":true"#) => {}
        answer => panic!("{answer:?}"),
    }
}
