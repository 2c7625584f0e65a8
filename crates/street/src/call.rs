//! One call as a transport hands it over.

use crate::{Progress, ResourceMethod};
use std::net::IpAddr;

/// The two ways in which clients speak the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Revisions up to 2025-11-25: `initialize` first.
    Handshake,
    /// Revision 2026-07-28: every request says everything.
    Stateless,
}

/// The caller, as far as the transport can identify it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peer {
    /// A stable name for the credential that was shown, never the credential itself.
    pub credential: Option<String>,
    /// The address; only over HTTP.
    pub address: Option<IpAddr>,
    /// True if the caller has shown the credential for writing.
    pub may_write: bool,
}

/// The client's own description of itself.
#[derive(Debug, Clone, Default)]
pub struct ClientInfo {
    pub name: Option<String>,
    pub version: Option<String>,
    /// The text of its capabilities object, in the stateless era.
    pub capabilities: Option<String>,
}

/// The kind of request that takes the path of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallTarget {
    /// `tools/call`.
    #[default]
    Tool,
    Resources(ResourceMethod),
}

/// One call of one tool, or of a method about resources.
#[derive(Debug)]
pub struct Call {
    pub target: CallTarget,
    /// The tool's name as the client wrote it, or the name of the method.
    pub name: String,
    /// The text of the arguments, checked by the transport; `None` means `{}`.
    pub arguments: Option<String>,
    /// The era of the request.
    pub era: Era,
    /// The request's id, the caller's own bytes.
    pub id: String,
    pub peer: Peer,
    /// The client's own description of itself.
    pub client: ClientInfo,
    pub progress: Progress,
}
