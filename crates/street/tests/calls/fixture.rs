//! A server whose every station notes the calls that pass it.

use candor_call_fixtures::answer;
pub(crate) use candor_call_fixtures::answer_until;
use candor_fault::codes::candor as core;
use candor_fault::dialects::Candor;
use candor_fault::{Answer, Cause, Dialect, Fault, Receipt, Timestamp, ToolOutput};
use candor_street::{
    Call, CallContext, CallOutcome, CallRecord, Dispatcher, MetricsHub, Pending, Permit, Reply,
    Server, Tool, Tools, reply,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

pub(crate) type Neutral = Candor<core::Code>;
pub(crate) type ToolResult = Result<Reply, Fault<Neutral>>;

#[derive(Default)]
pub(crate) struct Seen(Mutex<Vec<String>>);

impl Seen {
    pub(crate) fn push(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) struct Station {
    tools: Tools<Self>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) go_on: Arc<Notify>,
    pub(crate) refuse_gate: bool,
    pub(crate) refuse_guard: bool,
    pub(crate) unrecordable: bool,
    pub(crate) panics_at: Option<&'static str>,
    pub(crate) deadline: Option<Duration>,
}

impl Station {
    pub(crate) fn new() -> Self {
        let tools = Tools::new("station", "1")
            .with(read())
            .with(write())
            .with(sly())
            .with(dotted());
        Station {
            tools,
            seen: Arc::default(),
            go_on: Arc::default(),
            refuse_gate: false,
            refuse_guard: false,
            unrecordable: false,
            panics_at: None,
            deadline: None,
        }
    }

    /// Panics here, if a test wants that.
    fn step(&self, step: &str) {
        assert_ne!(self.panics_at, Some(step), "to order");
    }

    pub(crate) fn dispatcher(self) -> (Arc<Dispatcher<Self>>, Arc<Seen>, Arc<Notify>, MetricsHub) {
        let (seen, go_on, hub) = (
            Arc::clone(&self.seen),
            Arc::clone(&self.go_on),
            MetricsHub::default(),
        );
        let dispatcher = Dispatcher::new(self, Arc::new(|| Timestamp::UNIX_EPOCH), &hub).unwrap();
        (dispatcher, seen, go_on, hub)
    }
}

fn said<D: Dialect>(outcome: &CallOutcome<'_, D>) -> String {
    match outcome {
        CallOutcome::Done(ToolOutput::Json(json)) => json.get().to_owned(),
        CallOutcome::Done(other) => format!("{other:?}"),
        CallOutcome::Failed(fault) => format!("{} {}", fault.row().code, fault.effect().word()),
        CallOutcome::Refused(fault) => format!("wire {}", fault.row().code),
    }
}

impl Server for Station {
    type Dialect = Neutral;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn gate(&self, _: &CallContext, _: &Tool<Self>) -> Result<(), Fault<Neutral>> {
        self.seen.push("gate");
        if self.refuse_gate {
            Err(core::Cancelled.fault(candor_fault::Retry::Never, candor_fault::Effect::None))
        } else {
            Ok(())
        }
    }

    fn deadline(&self, _: &Tool<Self>) -> Option<Duration> {
        self.deadline
    }

    async fn guard(
        &self,
        _: &CallContext,
        _: &Tool<Self>,
        arguments: &Value,
    ) -> Result<Permit, Fault<Neutral>> {
        self.seen.push(format!("guard {arguments}"));
        if self.refuse_guard {
            Err(core::Limited.fault())
        } else {
            Ok(Permit::holding(Held(Arc::clone(&self.seen))))
        }
    }

    async fn record(&self, entry: &CallRecord<'_, Neutral>) -> Result<Option<Receipt>, Cause> {
        self.step("record");
        let follows = entry
            .follows
            .map(|first| format!(" follows {}", first.seq))
            .unwrap_or_default();
        self.seen
            .push(format!("record {}{follows}", said(&entry.outcome)));
        if self.unrecordable {
            return Err(Cause::from("the disk is full"));
        }
        Ok(Some(Receipt {
            seq: 7,
            hash: "h".into(),
        }))
    }

    fn complete(&self, fault: Fault<Neutral>, _: &CallContext) -> Fault<Neutral> {
        self.step("complete");
        fault
    }

    fn note(&self, entry: &CallRecord<'_, Neutral>) {
        self.step("note");
        self.seen.push(format!("note {}", said(&entry.outcome)));
    }
}

struct Held(Arc<Seen>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.push("permit back");
    }
}

/// The steps of a test tool, in order: `begin`, `done`, `undone`, `wait`, `panic`, `fail`,
/// `pend`, `pend-badly`.
#[derive(serde::Deserialize)]
pub(crate) struct Script {
    steps: Vec<String>,
}

struct Change {
    seen: Arc<Seen>,
    undoable: bool,
}

impl Pending for Change {
    fn keep(self: Box<Self>) -> futures_util::future::BoxFuture<'static, Result<(), Cause>> {
        Box::pin(async move {
            self.seen.push("keep");
            Ok(())
        })
    }

    fn undo(self: Box<Self>) -> futures_util::future::BoxFuture<'static, Result<(), Cause>> {
        Box::pin(async move {
            self.seen.push("undo");
            if self.undoable {
                Ok(())
            } else {
                Err(Cause::from("gone"))
            }
        })
    }
}

async fn follow(server: Arc<Station>, script: Script, cx: CallContext) -> ToolResult {
    let mut answer = reply(&json!({ "ok": true }));
    for step in &script.steps {
        match step.as_str() {
            "begin" => cx.mark.begins()?,
            "done" => cx.mark.done(),
            "undone" => cx.mark.undone(),
            "wait" => server.go_on.notified().await,
            "panic" => panic!("to order"),
            "fail" => return Err(core::Limited.fault()),
            pend => {
                let change = Change {
                    seen: Arc::clone(&server.seen),
                    undoable: pend == "pend",
                };
                answer = answer.map(|reply| reply.with_pending(change));
            }
        }
        server.seen.push(step);
    }
    answer
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "steps": { "type": "array", "items": { "type": "string" } } },
        "required": ["steps"],
        "additionalProperties": false
    })
}

fn read() -> Tool<Station> {
    Tool::read_only("read", "Reads.", schema(), follow)
}

fn write() -> Tool<Station> {
    Tool::mutating("write", "Writes.", schema(), follow)
}

/// Takes a type that its schema does not promise.
fn sly() -> Tool<Station> {
    let schema = json!({ "type": "object" });
    Tool::read_only("sly", "Disagrees with its schema.", schema, follow)
}

fn dotted() -> Tool<Station> {
    Tool::read_only("station.read", "Has a dot.", schema(), follow)
}

pub(crate) fn call(name: &str, steps: &[&str]) -> Call {
    raw_call(name, Some(json!({ "steps": steps }).to_string()))
}

pub(crate) fn raw_call(name: &str, arguments: Option<String>) -> Call {
    Call {
        arguments,
        ..candor_call_fixtures::call(name, "")
    }
}

/// The code and the effect of an answer; `ok` for a success.
pub(crate) fn told(answer: &Answer) -> String {
    let Answer::Result(text) = answer else {
        return format!("{answer:?}");
    };
    let value: Value = serde_json::from_str(text).unwrap();
    match value.pointer("/structuredContent/error") {
        None => "ok".into(),
        Some(error) => format!(
            "{} {}",
            error["code"].as_str().unwrap(),
            error["fault"]["effect"].as_str().unwrap()
        ),
    }
}

pub(crate) async fn one(station: Station, name: &str, steps: &[&str]) -> (String, Vec<String>) {
    let (dispatcher, seen, _, _) = station.dispatcher();
    let answer = answer(&dispatcher, call(name, steps)).await;
    (told(&answer), seen.all())
}
