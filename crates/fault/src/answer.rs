//! What a dialect makes of an outcome, before the wire wraps it, and what it may look at.

use crate::to_json;
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The form in which a failure is sent, where a dialect has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A JSON-RPC error.
    Protocol,
    /// A result with `isError`.
    Result,
}

/// Where the record of a call stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The line's number.
    pub seq: u64,
    /// The line's hash.
    pub hash: String,
}

/// What a dialect may know about the call it answers.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// The tool's name as listed; for an unknown tool, nothing.
    pub tool: Option<&'a str>,
    /// The form of failures for this call.
    pub form: Form,
    /// The record of this call, where one was made.
    pub receipt: Option<&'a Receipt>,
}

/// What a tool brings when it succeeds.
#[derive(Debug, Clone)]
pub enum ToolOutput {
    /// One JSON value; each dialect knows where to put it.
    Json(Box<RawValue>),
    /// Exact text, for dialects whose answer is text.
    Text(String),
    /// A whole MCP result, for content that is neither: images, audio, embedded resources.
    Whole(Box<RawValue>),
}

/// An answer: a whole MCP result, or a JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The text of one JSON object; shared, because constant answers are made once.
    Result(Arc<str>),
    /// A JSON-RPC error.
    Error(Box<ErrorBody>),
}

/// The members of a JSON-RPC error, in their order, and the HTTP status that goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// The code.
    pub code: i32,
    /// The message.
    pub message: String,
    /// The text of one JSON value.
    pub data: Option<String>,
    /// The status over HTTP; stdio has none.
    pub status: u16,
}

impl ErrorBody {
    /// The JSON text of the `error` member.
    pub fn json(&self) -> String {
        #[derive(Serialize)]
        struct Members<'a> {
            code: i32,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'a RawValue>,
        }
        // A text that is no JSON is left out: an answer is always whole.
        let data = self.data.as_deref().map(serde_json::from_str::<&RawValue>);
        to_json(&Members {
            code: self.code,
            message: &self.message,
            data: data.and_then(Result::ok),
        })
    }
}
