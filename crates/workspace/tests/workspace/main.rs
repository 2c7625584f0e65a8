//! The log's `fdatasync` returns before a call is answered: shown on a disk whose syncs are held.

#![allow(clippy::unwrap_used)] // A test may stop where something is not as it should be.

use candor_audit::{Log, LogOptions};
use candor_fault::{Answer, Cause, Receipt, Timestamp};
use candor_sim_disk::CountingDisk;
use candor_street::{
    CallRecord, CancellationToken, Clock, Dispatcher, MetricsHub, Server, Tool, Tools, reply,
};
use candor_workspace::dialect::Workspace;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// A server of one tool, on the way that every call of the workspace goes.
struct Recorded {
    tools: Tools<Self>,
    log: Log,
}

impl Server for Recorded {
    type Dialect = Workspace;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    async fn record(&self, entry: &CallRecord<'_, Workspace>) -> Result<Option<Receipt>, Cause> {
        let mut line = Map::new();
        line.insert(String::from("tool_name"), json!(entry.tool));
        let appended = self.log.append(line).await;
        let receipt = appended.map_err(|error| Cause::error("AuditLog", &error))?;
        Ok(Some(Receipt {
            seq: receipt.seq,
            hash: receipt.hash.to_string(),
        }))
    }
}

#[test]
fn no_answer_leaves_before_its_line_is_on_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let disk = CountingDisk::at(directory.path()).unwrap();
    let counts = Arc::clone(disk.counts());
    let log = Log::open(disk, "log", LogOptions::default()).unwrap();
    counts.hold_data_syncs(true);

    let tool = Tool::read_only(
        "look",
        "Looks",
        json!({ "type": "object" }),
        |_: Arc<Recorded>, _: Value, _| async { reply(&json!({})) },
    );
    let tools = Tools::new("recorded", "1").with(tool);
    let clock: Arc<dyn Clock> = Arc::new(|| Timestamp::UNIX_EPOCH);
    let desk = Dispatcher::new(Recorded { tools, log }, clock, &MetricsHub::default()).unwrap();
    let call = candor_call_fixtures::call("look", "{}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (answered, answer) = sync_channel(1);
    {
        let _inside = runtime.enter();
        let waiting = desk.begin(call, CancellationToken::new()).unwrap_err();
        waiting.deliver(move |answer| async move { answered.send(answer).unwrap() });
    }
    // The line is in the file, the sync has begun, and nothing was answered.
    while !counts.is_data_sync_waiting() {
        std::thread::yield_now();
    }
    let text = std::fs::read_to_string(directory.path().join("log")).unwrap();
    assert!(text.contains("\"seq\":1"));
    assert!(answer.try_recv().is_err());
    counts.hold_data_syncs(false);
    let Answer::Result(text) = answer.recv().unwrap() else {
        unreachable!("a success is a result")
    };
    assert!(text.contains("\"seq\":1"), "{text}");
}
