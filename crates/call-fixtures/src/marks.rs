//! Effect marks of calls that a test does not make: only a dispatcher creates them.

use crate::calls::call;
use candor_fault::codes::candor::Code;
use candor_fault::dialects::Candor;
use candor_fault::{Fault, Timestamp};
use candor_street::{
    CallContext, CancellationToken, Dispatcher, EffectMark, MetricsHub, Reply, Server, Tool, Tools,
    reply,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// A server whose tools hand out the mark of their call.
pub(crate) struct MarkLender {
    tools: Tools<Self>,
    mark: Mutex<Option<EffectMark>>,
}

impl Server for MarkLender {
    type Dialect = Candor<Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }
}

async fn lend(
    lender: Arc<MarkLender>,
    _: Value,
    cx: CallContext,
) -> Result<Reply, Fault<Candor<Code>>> {
    *lender.mark.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.mark);
    reply(&json!({}))
}

/// Returns the mark of a call that may change something.
pub fn writing_mark() -> EffectMark {
    mark_of("write")
}

/// Returns the mark of a call that may not.
pub fn reading_mark() -> EffectMark {
    mark_of("read")
}

fn mark_of(tool: &str) -> EffectMark {
    let schema = || json!({ "type": "object" });
    let tools = Tools::new("marks", "1")
        .with(Tool::read_only("read", "Reads.", schema(), lend))
        .with(Tool::mutating("write", "Writes.", schema(), lend));
    let lender = MarkLender {
        tools,
        mark: Mutex::default(),
    };
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let dispatcher = Dispatcher::new(lender, clock, &MetricsHub::default());
    let dispatcher = dispatcher.expect("the schemas are right");
    let answered = dispatcher.begin(call(tool, "{}"), CancellationToken::new());
    assert!(answered.is_ok(), "the call does not wait");
    let mark = &dispatcher.server().mark;
    let mark = mark.lock().unwrap_or_else(PoisonError::into_inner).take();
    mark.expect("the tool has run")
}
