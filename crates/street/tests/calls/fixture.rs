//! A server that records each stage that a call passes.

use candor_call_fixtures::answer;
pub(crate) use candor_call_fixtures::answer_until;
use candor_fault::codes::candor as core;
use candor_fault::dialects::Candor;
use candor_fault::{Answer, Cause, Dialect, Fault, Receipt, Timestamp, ToolOutput};
use candor_street::{
    Call, CallContext, CallOutcome, CallRecord, Dispatcher, JsonRef, MetricsHub, Pending, Permit,
    Reply, Server, Tool, Tools, reply,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

pub(crate) type Neutral = Candor<core::Code>;
pub(crate) type ToolResult = Result<Reply, Fault<Neutral>>;

#[derive(Default)]
pub(crate) struct EventLog(Mutex<Vec<String>>);

impl EventLog {
    pub(crate) fn push(&self, event: impl Into<String>) {
        self.0.lock().unwrap().push(event.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) struct RecordingServer {
    tools: Tools<Self>,
    pub(crate) events: Arc<EventLog>,
    pub(crate) resume: Arc<Notify>,
    pub(crate) refuse_gate: bool,
    pub(crate) refuse_guard: bool,
    pub(crate) failing_recorder: bool,
    pub(crate) panics_at: Option<&'static str>,
    pub(crate) deadline: Option<Duration>,
}

impl RecordingServer {
    pub(crate) fn new() -> Self {
        let tools = Tools::new("station", "1")
            .with(read_tool())
            .with(write_tool())
            .with(mismatched_tool())
            .with(dotted_tool());
        RecordingServer {
            tools,
            events: Arc::default(),
            resume: Arc::default(),
            refuse_gate: false,
            refuse_guard: false,
            failing_recorder: false,
            panics_at: None,
            deadline: None,
        }
    }

    /// Panics if the test has chosen this step.
    fn maybe_panic(&self, step: &str) {
        assert_ne!(self.panics_at, Some(step), "on demand");
    }

    pub(crate) fn dispatcher(
        self,
    ) -> (
        Arc<Dispatcher<Self>>,
        Arc<EventLog>,
        Arc<Notify>,
        MetricsHub,
    ) {
        let (events, resume, hub) = (
            Arc::clone(&self.events),
            Arc::clone(&self.resume),
            MetricsHub::default(),
        );
        let dispatcher = Dispatcher::new(self, Arc::new(|| Timestamp::UNIX_EPOCH), &hub).unwrap();
        (dispatcher, events, resume, hub)
    }
}

fn describe_outcome<D: Dialect>(outcome: &CallOutcome<'_, D>) -> String {
    match outcome {
        CallOutcome::Done(ToolOutput::Json(json)) => json.get().to_owned(),
        CallOutcome::Done(other) => format!("{other:?}"),
        CallOutcome::Failed(fault) => format!("{} {}", fault.row().code, fault.effect().word()),
        CallOutcome::Refused(fault) => format!("wire {}", fault.row().code),
    }
}

impl Server for RecordingServer {
    type Dialect = Neutral;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn gate(&self, _: &CallContext, _: &Tool<Self>) -> Result<(), Fault<Neutral>> {
        self.events.push("gate");
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
        arguments: JsonRef<'_>,
    ) -> Result<Permit, Fault<Neutral>> {
        self.events.push(format!("guard {arguments:?}"));
        if self.refuse_guard {
            Err(core::Limited.fault())
        } else {
            Ok(Permit::holding(HeldPermit(Arc::clone(&self.events))))
        }
    }

    async fn record(&self, entry: &CallRecord<'_, Neutral>) -> Result<Option<Receipt>, Cause> {
        self.maybe_panic("record");
        let follows = entry
            .follows
            .map(|first| format!(" follows {}", first.seq))
            .unwrap_or_default();
        self.events.push(format!(
            "record {}{follows}",
            describe_outcome(&entry.outcome)
        ));
        if self.failing_recorder {
            return Err(Cause::from("the disk is full"));
        }
        Ok(Some(Receipt {
            seq: 7,
            hash: "h".into(),
        }))
    }

    fn complete(&self, fault: Fault<Neutral>, _: &CallContext) -> Fault<Neutral> {
        self.maybe_panic("complete");
        fault
    }

    fn note(&self, entry: &CallRecord<'_, Neutral>) {
        self.maybe_panic("note");
        self.events
            .push(format!("note {}", describe_outcome(&entry.outcome)));
    }
}

struct HeldPermit(Arc<EventLog>);

impl Drop for HeldPermit {
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
    events: Arc<EventLog>,
    undoable: bool,
}

impl Pending for Change {
    fn keep(self: Box<Self>) -> futures_util::future::BoxFuture<'static, Result<(), Cause>> {
        Box::pin(async move {
            self.events.push("keep");
            Ok(())
        })
    }

    fn undo(self: Box<Self>) -> futures_util::future::BoxFuture<'static, Result<(), Cause>> {
        Box::pin(async move {
            self.events.push("undo");
            if self.undoable {
                Ok(())
            } else {
                Err(Cause::from("gone"))
            }
        })
    }
}

async fn run_script(server: Arc<RecordingServer>, script: Script, cx: CallContext) -> ToolResult {
    let mut answer = reply(&json!({ "ok": true }));
    for step in &script.steps {
        match step.as_str() {
            "begin" => cx.mark.begins()?,
            "done" => cx.mark.done(),
            "undone" => cx.mark.undone(),
            "wait" => server.resume.notified().await,
            "panic" => panic!("on demand"),
            "fail" => return Err(core::Limited.fault()),
            pend => {
                let change = Change {
                    events: Arc::clone(&server.events),
                    undoable: pend == "pend",
                };
                answer = answer.map(|reply| reply.with_pending(change));
            }
        }
        server.events.push(step);
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

fn read_tool() -> Tool<RecordingServer> {
    Tool::read_only("read", "Reads.", schema(), run_script)
}

fn write_tool() -> Tool<RecordingServer> {
    Tool::mutating("write", "Writes.", schema(), run_script)
}

/// A tool whose type requires more than its schema.
fn mismatched_tool() -> Tool<RecordingServer> {
    let schema = json!({ "type": "object" });
    Tool::read_only("sly", "Disagrees with its schema.", schema, run_script)
}

fn dotted_tool() -> Tool<RecordingServer> {
    Tool::read_only("station.read", "Has a dot.", schema(), run_script)
}

pub(crate) fn call(name: &str, steps: &[&str]) -> Call {
    raw_call(name, Some(json!({ "steps": steps }).to_string()))
}

pub(crate) fn raw_call(name: &str, arguments: Option<String>) -> Call {
    Call {
        arguments: arguments.map(Into::into),
        ..candor_call_fixtures::call(name, "")
    }
}

/// Returns the code and the effect of an answer; `ok` for a success.
pub(crate) fn describe_answer(answer: &Answer) -> String {
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

pub(crate) async fn run_call(
    server: RecordingServer,
    name: &str,
    steps: &[&str],
) -> (String, Vec<String>) {
    let (dispatcher, events, _, _) = server.dispatcher();
    let answer = answer(&dispatcher, call(name, steps)).await;
    (describe_answer(&answer), events.all())
}
