//! Marks as tools get them: each is taken from a call that a server answers.

use candor_fault::Timestamp;
use candor_fault::codes::candor as core;
use candor_fault::dialects::Candor;
use candor_street::{
    Call, CancellationToken, ClientInfo, Dispatcher, EffectMark, Era, MetricsHub, Peer, Progress,
    Server, Tool, Tools, reply,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

struct Giver {
    tools: Tools<Giver>,
    given: Mutex<Option<EffectMark>>,
}

impl Server for Giver {
    type Dialect = Candor<core::Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }
}

/// The mark of a call of a tool that may write, or may not.
pub(crate) fn mark(writes: bool) -> EffectMark {
    let give = |server: Arc<Giver>, _: Value, cx: candor_street::CallContext| async move {
        *server.given.lock().unwrap() = Some(cx.mark);
        reply(&json!({}))
    };
    let schema = json!({ "type": "object" });
    let tool = match writes {
        true => Tool::mutating("give", "Gives its mark.", schema, give),
        false => Tool::read_only("give", "Gives its mark.", schema, give),
    };
    let server = Giver {
        tools: Tools::new("giver", "1").with(tool),
        given: Mutex::default(),
    };
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let desk = Dispatcher::new(server, clock, &MetricsHub::default()).unwrap();
    let call = Call {
        name: "give".into(),
        arguments: None,
        era: Era::Handshake,
        id: "1".into(),
        peer: Peer::default(),
        client: ClientInfo::default(),
        progress: Progress::default(),
    };
    assert!(desk.begin(call, CancellationToken::new()).is_ok());
    desk.server().given.lock().unwrap().take().unwrap()
}
