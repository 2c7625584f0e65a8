//! Marks of calls: they are made where calls are answered, and nowhere else.

use candor_fault::{Fault, Timestamp};
use candor_forge::dialect::Github;
use candor_street::{
    Call, CallContext, CancellationToken, ClientInfo, Dispatcher, EffectMark, Era, MetricsHub,
    Peer, Progress, Server, Tool, Tools, reply,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

struct Lender {
    tools: Tools<Self>,
    lent: Mutex<Option<EffectMark>>,
}

impl Server for Lender {
    type Dialect = Github;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }
}

async fn lend(
    lender: Arc<Lender>,
    _: Value,
    cx: CallContext,
) -> Result<candor_street::Reply, Fault<Github>> {
    *lender.lent.lock().unwrap() = Some(cx.mark);
    reply(&json!({}))
}

fn lent(name: &str) -> EffectMark {
    let tools = Tools::new("lender", "1")
        .with(Tool::read_only(
            "reading",
            "Reads.",
            json!({ "type": "object" }),
            lend,
        ))
        .with(Tool::mutating(
            "writing",
            "Writes.",
            json!({ "type": "object" }),
            lend,
        ));
    let lender = Lender {
        tools,
        lent: Mutex::default(),
    };
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let desk = Dispatcher::new(lender, clock, &MetricsHub::default()).unwrap();
    let call = Call {
        name: name.to_owned(),
        arguments: None,
        era: Era::Stateless,
        id: "1".to_owned(),
        peer: Peer::default(),
        client: ClientInfo::default(),
        progress: Progress::default(),
    };
    assert!(desk.begin(call, CancellationToken::new()).is_ok());
    let mark = desk.server().lent.lock().unwrap().take();
    mark.unwrap()
}

/// The mark of a call that may change something.
pub(crate) fn writing() -> EffectMark {
    lent("writing")
}

/// The mark of a call that may not.
pub(crate) fn reading() -> EffectMark {
    lent("reading")
}
