//! Marks of calls: they are made where calls are answered, and nowhere else.

use candor_fault::{Fault, Timestamp};
use candor_orders::dialect::Orders;
use candor_street::{
    Call, CallContext, CancellationToken, ClientInfo, Dispatcher, EffectMark, Era, MetricsHub,
    Peer, Progress, Reply, Server, Tool, Tools, reply,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

struct Lender {
    tools: Tools<Self>,
    lent: Mutex<Option<EffectMark>>,
}

impl Server for Lender {
    type Dialect = Orders;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }
}

async fn lend(lender: Arc<Lender>, _: Value, cx: CallContext) -> Result<Reply, Fault<Orders>> {
    *lender.lent.lock().unwrap() = Some(cx.mark);
    reply(&json!({}))
}

/// The mark of a call that may change something.
pub(crate) fn writing() -> EffectMark {
    let schema = json!({ "type": "object" });
    let lender = Lender {
        tools: Tools::new("lender", "1").with(Tool::mutating("w", "Writes.", schema, lend)),
        lent: Mutex::default(),
    };
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let desk = Dispatcher::new(lender, clock, &MetricsHub::default()).unwrap();
    let call = Call {
        name: String::from("w"),
        arguments: None,
        era: Era::Stateless,
        id: String::from("1"),
        peer: Peer::default(),
        client: ClientInfo::default(),
        progress: Progress::default(),
    };
    assert!(desk.begin(call, CancellationToken::new()).is_ok());
    let mark = desk.server().lent.lock().unwrap().take();
    mark.unwrap()
}
