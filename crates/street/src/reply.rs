//! The success of a tool: its output, and a change that is still to be kept or undone.

use candor_fault::{Cause, Dialect, Fault, Refusal, ToolOutput};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::to_raw_value;
use std::fmt;

/// A change that is on disk but not final: kept once the call is on record, else undone.
pub trait Pending: Send + 'static {
    /// Makes the change final.
    fn keep(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>>;
    /// Takes the change back.
    fn undo(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>>;
}

/// A success.
pub struct Reply {
    pub output: ToolOutput,
    pub pending: Option<Box<dyn Pending>>,
}

impl fmt::Debug for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Reply")
            .field("output", &self.output)
            .field("pending", &self.pending.is_some())
            .finish()
    }
}

impl Reply {
    /// With a change to be kept or undone after the record.
    pub fn with_pending(mut self, pending: impl Pending) -> Self {
        self.pending = Some(Box::new(pending));
        self
    }
}

impl From<ToolOutput> for Reply {
    fn from(output: ToolOutput) -> Self {
        Reply {
            output,
            pending: None,
        }
    }
}

/// A success with one JSON value.
pub fn reply<D: Dialect>(value: &impl Serialize) -> Result<Reply, Fault<D>> {
    match to_raw_value(value) {
        Ok(json) => Ok(ToolOutput::Json(json).into()),
        Err(error) => Err(D::adopt(Refusal::Panicked {
            cause: Cause::error("SerializationError", &error),
            effect: candor_fault::Effect::Unknown,
        })),
    }
}

/// A success with exact text.
pub fn reply_text<D: Dialect>(text: impl Into<String>) -> Result<Reply, Fault<D>> {
    Ok(ToolOutput::Text(text.into()).into())
}
