//! The server's description of itself.

use crate::read::{ClientRequest, OfferedMethods};
use crate::revision::{META_SERVER, supported_revisions};
use candor_fault::{Answer, to_json};
use candor_street::{Dispatcher, Era, Peer, Server};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The time that a client may keep the lists of the stateless era.
const TTL_MS: u64 = 60_000;

/// The answers to `initialize`, `ping`, `server/discover`, `tools/list` and `resources/templates/list`.
/// All but the instructions and the lists that depend on the caller are created once.
pub struct ServerListing {
    server_info: String,
    capabilities: &'static str,
    tools: ListAnswer,
    templates: ListAnswer,
    empty: Arc<str>,
    offered: OfferedMethods,
    instructions: Box<dyn Fn() -> Option<String> + Send + Sync>,
    own_tools: Box<ListOwnTools>,
}

/// Lists the tools that one caller sees, if callers see different ones.
type ListOwnTools = dyn Fn(&Peer) -> Option<String> + Send + Sync;

/// One list in both eras.
struct ListAnswer {
    handshake: Arc<str>,
    stateless: Arc<str>,
}

impl ListAnswer {
    fn new(name: &str, list: &str, scope: CacheScope) -> Self {
        ListAnswer {
            handshake: format!(r#"{{"{name}":{list}}}"#).into(),
            stateless: format!(r#"{{"{name}":{list},{}}}"#, caching(scope)).into(),
        }
    }

    fn answer(&self, era: Era) -> Answer {
        let text = match era {
            Era::Handshake => &self.handshake,
            Era::Stateless => &self.stateless,
        };
        Answer::Result(Arc::clone(text).into())
    }
}

/// The clients that may share a cached list.
enum CacheScope {
    Public,
    Private,
}

fn caching(scope: CacheScope) -> String {
    let scope = match scope {
        CacheScope::Public => "public",
        CacheScope::Private => "private",
    };
    format!(r#""ttlMs":{TTL_MS},"cacheScope":"{scope}""#)
}

impl ServerListing {
    /// The listing of a server.
    pub fn new<S: Server>(dispatcher: &Arc<Dispatcher<S>>) -> Self {
        let tools = dispatcher.server().tools();
        let resources = dispatcher.server().resources();
        let templates = resources.map(|resources| to_json(&resources.templates()));
        let templates = templates.as_deref().unwrap_or("[]");
        let (instructing, listing) = (Arc::clone(dispatcher), Arc::clone(dispatcher));
        ServerListing {
            server_info: format!(
                r#"{{"name":{},"version":{}}}"#,
                to_json(tools.server_name()),
                to_json(tools.server_version())
            ),
            capabilities: match resources {
                Some(_) => r#"{"tools":{},"resources":{}}"#,
                None => r#"{"tools":{}}"#,
            },
            tools: ListAnswer::new("tools", dispatcher.list(), CacheScope::Public),
            templates: ListAnswer::new("resourceTemplates", templates, CacheScope::Public),
            empty: "{}".into(),
            offered: OfferedMethods {
                resources: resources.is_some(),
            },
            instructions: Box::new(move || instructing.server().instructions()),
            own_tools: Box::new(move |peer| {
                let server = listing.server();
                let names = server.listed_tools(peer)?;
                Some(server.tools().list_only(&names))
            }),
        }
    }

    pub(crate) fn offered(&self) -> OfferedMethods {
        self.offered
    }

    /// Answers every request but a call, which the server answers.
    pub fn answer(&self, request: &ClientRequest<'_>, peer: &Peer, era: Era) -> Answer {
        match request {
            ClientRequest::Initialize { revision, .. } => self.initialize(revision),
            ClientRequest::Ping | ClientRequest::Call(_) => {
                Answer::Result(Arc::clone(&self.empty).into())
            }
            ClientRequest::Discover => self.discover(),
            ClientRequest::List => self.list_tools(peer, era),
            ClientRequest::ListTemplates => self.templates.answer(era),
        }
    }

    fn list_tools(&self, peer: &Peer, era: Era) -> Answer {
        // This runs outside any call; a panic must not end the connection.
        let own = catch_unwind(AssertUnwindSafe(|| (self.own_tools)(peer)));
        match own.unwrap_or_else(|_| Some(String::from("[]"))) {
            None => self.tools.answer(era),
            Some(list) => ListAnswer::new("tools", &list, CacheScope::Private).answer(era),
        }
    }

    fn initialize(&self, revision: &str) -> Answer {
        let text = format!(
            r#"{{"protocolVersion":"{revision}","capabilities":{},"serverInfo":{}{}}}"#,
            self.capabilities,
            self.server_info,
            self.instructions()
        );
        Answer::Result(text.into())
    }

    fn discover(&self) -> Answer {
        let text = format!(
            r#"{{"supportedVersions":{},"capabilities":{}{},{},"_meta":{{"{META_SERVER}":{}}}}}"#,
            to_json(&supported_revisions()),
            self.capabilities,
            self.instructions(),
            caching(CacheScope::Public),
            self.server_info
        );
        Answer::Result(text.into())
    }

    /// The member `instructions` after a comma, or nothing.
    fn instructions(&self) -> String {
        // This runs outside any call; a panic must not end the connection.
        let instructions = catch_unwind(AssertUnwindSafe(|| (self.instructions)()));
        match instructions.ok().flatten() {
            Some(text) => format!(r#","instructions":{}"#, to_json(&text)),
            None => String::new(),
        }
    }
}

impl fmt::Debug for ServerListing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServerListing")
            .field("server_info", &self.server_info)
            .finish_non_exhaustive()
    }
}
