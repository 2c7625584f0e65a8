//! One call as a transport hands it over.

use crate::{CallerToken, Progress, ResourceMethod};
use candor_json::{IndexedText, JsonRef};
use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The two ways in which clients speak the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Revisions up to 2025-11-25: `initialize` first.
    Handshake,
    /// Revision 2026-07-28: every request contains everything.
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
    /// The position in the caller's trace (W3C Trace Context), if it has sent a valid one over HTTP.
    pub trace_parent: Option<String>,
    /// The token that the server passes on for the caller; only over HTTP, and only if it was started so.
    pub token: Option<CallerToken>,
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
    /// The arguments, scanned by the transport; `None` means `{}`.
    pub arguments: Option<IndexedText>,
    /// The era of the request.
    pub era: Era,
    /// The request's id, the caller's own bytes.
    pub id: String,
    pub peer: Peer,
    /// The client's own description of itself.
    pub client: ClientInfo,
    pub progress: Progress,
    pub held: HeldUntilWritten,
}

impl Call {
    /// Returns the arguments; an empty object if they are absent.
    pub fn argument_values(&self) -> JsonRef<'_> {
        self.arguments
            .as_ref()
            .map_or(JsonRef::EMPTY_OBJECT, IndexedText::root)
    }

    /// Holds a value, such as a part of a limit, until the transport has written the answer.
    pub fn hold_until_written(&self, value: impl Any + Send) {
        self.held.lock().push(Box::new(value));
    }

    /// Moves the held values to the transport, which drops them once the answer is written. The arguments
    /// of the call need not be kept as long.
    pub fn take_held(&self) -> HeldUntilWritten {
        HeldUntilWritten(Mutex::new(std::mem::take(&mut *self.held.lock())))
    }
}

/// Values that a server holds for a call until its answer is written or can no longer be written.
#[derive(Default)]
pub struct HeldUntilWritten(Mutex<Vec<Box<dyn Any + Send>>>);

impl HeldUntilWritten {
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for HeldUntilWritten {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HeldUntilWritten({})", self.lock().len())
    }
}
