//! A server at its desk, with the stub behind it, a log that can fail, and a sink for its lines.

use crate::stub::{Seen, Stub};
use crate::world::World;
use candor_fault::{Answer, Timestamp};
use candor_forge::{AllowList, Config, ForgeServer, WriteLog};
use candor_street::{
    Call, CancellationToken, ClientInfo, Dispatcher, Era, FailureForm, MetricsHub, Peer, Progress,
};
use serde_json::{Map, Value};
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// The instant of the specification's examples.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millisecond(1_760_284_161_049).unwrap()
}

/// A log that notes its lines and fails where it is told to.
pub(crate) struct Log {
    seen: Arc<Seen>,
    lines: AtomicU64,
    failing_at: AtomicU64,
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

impl Log {
    /// The next line waits until something is sent.
    pub(crate) fn waits_for(&self, gate: mpsc::Receiver<()>) {
        *self.gate.lock().unwrap() = Some(gate);
    }

    /// Of the lines from now on, this one fails.
    pub(crate) fn fails_in(&self, lines: u64) {
        let line = self.lines.load(Ordering::SeqCst) + lines;
        self.failing_at.store(line, Ordering::SeqCst);
    }
}

impl WriteLog for Log {
    fn append(&self, members: Map<String, Value>) -> io::Result<u64> {
        let gate = self.gate.lock().unwrap().take();
        gate.map(|gate| gate.recv());
        let number = self.lines.fetch_add(1, Ordering::SeqCst) + 1;
        if self.failing_at.load(Ordering::SeqCst) == number {
            self.seen.push("log fails");
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.seen.push(format!("log {}", Value::Object(members)));
        Ok(number)
    }
}

/// What a test decides before the server is made.
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) world: World,
    pub(crate) without_log: bool,
}

impl Default for Plan {
    /// Everything is allowed and there: what a test takes away is what it is about.
    fn default() -> Self {
        Plan {
            config: Config {
                allow_writes: true,
                extended: true,
                ..Config::default()
            },
            world: World::default(),
            without_log: false,
        }
    }
}

impl Plan {
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Plan)) -> Plan {
        change(&mut self);
        self
    }

    pub(crate) fn house(self) -> House {
        let seen = Arc::new(Seen::default());
        let stub = Arc::new(Stub::new(Arc::clone(&seen), self.world));
        let lines = {
            let seen = Arc::clone(&seen);
            Arc::new(move |line: String| seen.push(format!("line {line}")))
        };
        let server = ForgeServer::new(Arc::<Stub>::clone(&stub), self.config, lines, Arc::new(now));
        let log = Arc::new(Log {
            seen: Arc::clone(&seen),
            lines: AtomicU64::new(0),
            failing_at: AtomicU64::new(0),
            gate: Mutex::default(),
        });
        let server = match self.without_log {
            true => server,
            false => server.recording(Arc::<Log>::clone(&log)),
        };
        let desk = Dispatcher::new(server, Arc::new(now), &MetricsHub::default()).unwrap();
        House {
            desk,
            stub,
            seen,
            log,
        }
    }
}

/// The default server, its world changed.
pub(crate) fn house_of(change: impl FnOnce(&mut World)) -> House {
    Plan::default().with(|plan| change(&mut plan.world)).house()
}

/// The default server.
pub(crate) fn house() -> House {
    Plan::default().house()
}

/// A list of repositories.
pub(crate) fn repos(patterns: &[&str]) -> AllowList {
    let add = |list: AllowList, pattern: &&str| list.admitting(pattern).unwrap();
    patterns.iter().fold(AllowList::default(), add)
}

/// A server that can be asked.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) desk: Arc<Dispatcher<ForgeServer>>,
    pub(crate) stub: Arc<Stub>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) log: Arc<Log>,
}

/// A call with these arguments, by somebody who may write.
pub(crate) fn call(tool: &str, arguments: &Value) -> Call {
    Call {
        name: tool.to_owned(),
        arguments: Some(arguments.to_string()),
        era: Era::Handshake,
        id: String::from("1"),
        peer: Peer {
            may_write: true,
            ..Peer::default()
        },
        client: ClientInfo::default(),
        progress: Progress::default(),
    }
}

impl House {
    pub(crate) async fn ask(&self, tool: &str, arguments: Value) -> Said {
        self.hand(call(tool, &arguments)).await
    }

    pub(crate) async fn hand(&self, call: Call) -> Said {
        self.hand_until(call, CancellationToken::new()).await
    }

    pub(crate) async fn hand_until(&self, call: Call, cancel: CancellationToken) -> Said {
        match self.desk.begin(call, cancel) {
            Ok(answer) => Said(answer),
            Err(waiting) => {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                waiting.deliver(|answer| async move { drop(sender.send(answer)) });
                Said(receiver.await.unwrap())
            }
        }
    }

    /// What the backend was asked.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.seen.of("ask")
    }

    /// The lines of the log of writes.
    pub(crate) fn logged(&self) -> Vec<String> {
        self.seen.of("log")
    }

    /// The lines of failures.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen.of("line")
    }

    /// The listed tools.
    pub(crate) fn listed(&self) -> Vec<Value> {
        serde_json::from_str(self.desk.list()).unwrap()
    }
}

/// An answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Said(pub(crate) Answer);

impl Said {
    /// The whole text: of the `error` member, or of the result.
    pub(crate) fn text(&self) -> String {
        match &self.0 {
            Answer::Error(body) => body.json(),
            Answer::Result(text) => text.to_string(),
        }
    }

    /// The text of the one block of a result.
    pub(crate) fn block(&self) -> String {
        let Answer::Result(text) = &self.0 else {
            panic!("{}", self.text());
        };
        let result: Value = serde_json::from_str(text).unwrap();
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{text}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// What a success answers.
    pub(crate) fn value(&self) -> Value {
        let whole: Value = serde_json::from_str(&self.text()).unwrap();
        assert!(whole.get("isError").is_none(), "{whole}");
        let block: Value = serde_json::from_str(&self.block()).unwrap();
        assert_eq!(block, whole["structuredContent"]);
        block
    }

    /// `{code, message, data}` of a failure, whatever its form.
    pub(crate) fn error(&self) -> Value {
        let text = match &self.0 {
            Answer::Error(body) => body.json(),
            Answer::Result(_) => self.block().split_once('\n').unwrap().1.to_owned(),
        };
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn code(&self) -> i64 {
        self.error()["code"].as_i64().unwrap()
    }

    pub(crate) fn message(&self) -> String {
        self.error()["message"].as_str().unwrap().to_owned()
    }

    /// Whether anything happened, as the failure says.
    pub(crate) fn effect(&self) -> String {
        let error = self.error();
        error["data"]["fault"]["effect"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Keyword and path of each entry of a -32602.
    pub(crate) fn broken(&self) -> Vec<(String, String)> {
        let error = self.error();
        assert_eq!(error["code"], -32602, "{error}");
        let entries = error["data"]["validation_errors"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        entries
            .iter()
            .map(|entry| (text(&entry["keyword"]), text(&entry["path"])))
            .collect()
    }
}

/// Runs a future on a clock that stands still, for tests that are no futures themselves.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

/// The configuration of the default plan, its failures in this form.
pub(crate) fn in_form(failures: FailureForm) -> Plan {
    Plan::default().with(|plan| plan.config.failures = failures)
}
