//! The log's `fdatasync` returns before a call is answered: shown on a disk whose syncs wait for a word.

#![allow(clippy::unwrap_used)] // A test may stop where something is not as it should be.

use candor_audit::{Log, LogOptions};
use candor_disk::{Disk, DiskFile, Open, RealDisk, RealFile};
use candor_fault::{Answer, Cause, Receipt, Timestamp};
use candor_street::{
    Call, CallRecord, CancellationToken, ClientInfo, Clock, Dispatcher, Era, MetricsHub, Peer,
    Progress, Server, Tool, Tools, reply,
};
use candor_workspace::dialect::Workspace;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Each sync reports its start and waits for permission to continue.
struct Gate {
    begun: SyncSender<()>,
    go_on: Mutex<Receiver<()>>,
}

#[derive(Clone)]
struct Gated(RealDisk, Arc<Gate>);

impl Disk for Gated {
    type File = GatedFile;

    fn open(&self, path: impl AsRef<Path>, how: Open) -> io::Result<GatedFile> {
        Ok(GatedFile(self.0.open(path, how)?, Arc::clone(&self.1)))
    }

    fn create_dir(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        self.0.create_dir(path, mode)
    }

    fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.0.rename_new(from, to)
    }

    fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()> {
        self.0.exchange(one, other)
    }

    fn unlink(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.0.unlink(path)
    }

    fn sync_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.0.sync_dir(path)
    }

    fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<OsString>> {
        self.0.list(path)
    }
}

struct GatedFile(RealFile, Arc<Gate>);

impl DiskFile for GatedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn reserve(&self, up_to: u64) -> io::Result<()> {
        self.0.reserve(up_to)
    }

    fn mode(&self) -> io::Result<u32> {
        self.0.mode()
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.0.set_mode(mode)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.1.begun.send(()).unwrap();
        self.1.go_on.lock().unwrap().recv().unwrap();
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn is_named(&self) -> io::Result<bool> {
        self.0.is_named()
    }

    fn unlock(&self) -> io::Result<()> {
        self.0.unlock()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.0.try_lock()
    }
}

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
    let (begun, syncs) = sync_channel(8);
    let (go_on, waits) = sync_channel(8);
    let gate = Arc::new(Gate {
        begun,
        go_on: Mutex::new(waits),
    });
    let disk = Gated(RealDisk::at(directory.path()).unwrap(), gate);
    // Opening syncs once.
    go_on.send(()).unwrap();
    let log = Log::open(disk, "log", LogOptions::default()).unwrap();
    syncs.recv().unwrap();

    let tool = Tool::read_only(
        "look",
        "Looks",
        json!({ "type": "object" }),
        |_: Arc<Recorded>, _: Value, _| async { reply(&json!({})) },
    );
    let tools = Tools::new("recorded", "1").with(tool);
    let clock: Arc<dyn Clock> = Arc::new(|| Timestamp::UNIX_EPOCH);
    let desk = Dispatcher::new(Recorded { tools, log }, clock, &MetricsHub::default()).unwrap();
    let call = Call {
        name: String::from("look"),
        arguments: None,
        era: Era::Handshake,
        id: String::from("1"),
        peer: Peer::default(),
        client: ClientInfo::default(),
        progress: Progress::default(),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (answered, answer) = sync_channel(1);
    {
        let _inside = runtime.enter();
        let waiting = desk.begin(call, CancellationToken::new()).unwrap_err();
        waiting.deliver(move |answer| async move { answered.send(answer).unwrap() });
    }
    // The line is in the file, the sync has begun, and nothing was answered.
    syncs.recv().unwrap();
    let text = std::fs::read_to_string(directory.path().join("log")).unwrap();
    assert!(text.contains("\"seq\":1"));
    assert!(answer.try_recv().is_err());
    go_on.send(()).unwrap();
    let Answer::Result(text) = answer.recv().unwrap() else {
        unreachable!("a success is a result")
    };
    assert!(text.contains("\"seq\":1"), "{text}");
}
