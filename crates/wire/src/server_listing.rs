//! The server's description of itself: created once, the same bytes for every client.

use crate::read::ClientRequest;
use crate::revision::{META_SERVER, supported_revisions};
use candor_fault::{Answer, to_json};
use candor_street::{Dispatcher, Era, Server};
use std::sync::Arc;

/// The time that a client may keep the lists of the stateless era.
const TTL_MS: u64 = 60_000;

/// The answers to `initialize`, `ping`, `server/discover` and `tools/list`.
#[derive(Debug)]
pub struct ServerListing {
    server_info: String,
    discover: Arc<str>,
    handshake_list: Arc<str>,
    stateless_list: Arc<str>,
    empty: Arc<str>,
}

impl ServerListing {
    /// The listing of a server.
    pub fn new<S: Server>(dispatcher: &Dispatcher<S>) -> Self {
        let tools = dispatcher.server().tools();
        let server_info = format!(
            r#"{{"name":{},"version":{}}}"#,
            to_json(tools.server_name()),
            to_json(tools.server_version())
        );
        let caching = format!(r#""ttlMs":{TTL_MS},"cacheScope":"public""#);
        let discover = format!(
            r#"{{"supportedVersions":{},"capabilities":{{"tools":{{}}}},{caching},"_meta":{{"{META_SERVER}":{server_info}}}}}"#,
            to_json(&supported_revisions())
        );
        ServerListing {
            discover: discover.into(),
            handshake_list: format!(r#"{{"tools":{}}}"#, dispatcher.list()).into(),
            stateless_list: format!(r#"{{"tools":{},{caching}}}"#, dispatcher.list()).into(),
            empty: "{}".into(),
            server_info,
        }
    }

    /// Answers every request but a call, which the server answers.
    pub fn answer(&self, request: &ClientRequest<'_>, era: Era) -> Answer {
        match request {
            ClientRequest::Initialize { revision, .. } => self.initialize(revision),
            ClientRequest::Ping | ClientRequest::Call(_) => Answer::Result(Arc::clone(&self.empty)),
            ClientRequest::Discover => Answer::Result(Arc::clone(&self.discover)),
            ClientRequest::List => Answer::Result(Arc::clone(match era {
                Era::Handshake => &self.handshake_list,
                Era::Stateless => &self.stateless_list,
            })),
        }
    }

    fn initialize(&self, revision: &str) -> Answer {
        let text = format!(
            r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{}}}"#,
            self.server_info
        );
        Answer::Result(text.into())
    }
}
