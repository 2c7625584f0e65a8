//! The trait of a server: its tools, and its stages on the path of a call.

use crate::{CallContext, CallRecord, Era, Peer, Resources, Tool, Tools};
use candor_fault::{Cause, Dialect, Fault, Form, Receipt};
use candor_json::JsonRef;
use std::any::Any;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

/// A resource that a guard holds for the length of a call: a position in a queue, a share of a limit.
#[derive(Default)]
pub struct Permit(Option<Box<dyn Any + Send>>);

impl Permit {
    /// A permit that keeps `held` until the call ends.
    pub fn holding(held: impl Any + Send) -> Self {
        Permit(Some(Box::new(held)))
    }

    pub fn holds(&self) -> bool {
        self.0.is_some()
    }
}

/// One server. Only the tools are asked for; everything else has a default that does nothing.
pub trait Server: Send + Sync + Sized + 'static {
    /// The encoding of success and failure.
    type Dialect: Dialect;

    /// The server's notes about one call, shared by its stages; `()` if it has none.
    type Notes: Default + Send + Sync + 'static;

    fn tools(&self) -> &Tools<Self>;

    /// Returns the resources that the server offers beside its tools.
    fn resources(&self) -> Option<&Arc<Resources<Self>>> {
        None
    }

    /// Returns the text that tells a model how to use the server. Asked for at every handshake, so it
    /// must be quick.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// Returns the names of the tools that this caller sees in the list, if callers see different ones.
    fn listed_tools(&self, peer: &Peer) -> Option<Vec<&'static str>> {
        let _ = peer;
        None
    }

    /// Returns a sentence about a tool that does not exist, if the server knows more than a similar name.
    fn unknown_tool_advice(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// Returns the form of failures, if the dialect has two.
    fn form(&self, era: Era) -> Form {
        let _ = era;
        Form::Result
    }

    /// Refuses callers that may not call this tool; arguments are not considered.
    fn gate(
        &self,
        cx: &CallContext<Self::Notes>,
        tool: &Tool<Self>,
    ) -> Result<(), Fault<Self::Dialect>> {
        let _ = (cx, tool);
        Ok(())
    }

    /// Returns the time that a call of this tool may take.
    fn deadline(&self, tool: &Tool<Self>) -> Option<Duration> {
        let _ = tool;
        None
    }

    /// Applies limits, once the arguments are right.
    fn guard(
        &self,
        cx: &CallContext<Self::Notes>,
        tool: &Tool<Self>,
        arguments: JsonRef<'_>,
    ) -> impl Future<Output = Result<Permit, Fault<Self::Dialect>>> + Send {
        let _ = (cx, tool, arguments);
        ready(Ok(Permit::default()))
    }

    /// Fills in what a refusal of arguments takes from the arguments. [`Server::complete`] follows.
    fn complete_refusal(
        &self,
        fault: Fault<Self::Dialect>,
        cx: &CallContext<Self::Notes>,
        arguments: JsonRef<'_>,
    ) -> Fault<Self::Dialect> {
        let _ = (cx, arguments);
        fault
    }

    /// Fills in what the raiser of a failure could not know.
    fn complete(
        &self,
        fault: Fault<Self::Dialect>,
        cx: &CallContext<Self::Notes>,
    ) -> Fault<Self::Dialect> {
        let _ = cx;
        fault
    }

    /// Puts a call on record: durable when it returns, once a call, protocol errors too.
    fn record(
        &self,
        entry: &CallRecord<'_, Self::Dialect, Self::Notes>,
    ) -> impl Future<Output = Result<Option<Receipt>, Cause>> + Send {
        let _ = entry;
        ready(Ok(None))
    }

    /// True if [`Server::note`] writes a line for every failure. The cause of a failure is then logged at the
    /// level `info`, and not beside that line.
    const LOGS_FAILURES: bool = false;

    /// Writes the log line of a call; never fails, never blocks.
    fn note(&self, entry: &CallRecord<'_, Self::Dialect, Self::Notes>) {
        let _ = entry;
    }

    /// Writes what must be on disk when the process exits. Called once, after the last call; may block.
    /// A server cannot rely on being dropped: a thread that waits for input may share it to the end.
    fn close(&self) {}
}
