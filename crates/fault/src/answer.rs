//! Answers of a dialect before the wire wraps them, and the facts of a call that it may use.

use crate::to_json;
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The form in which a failure is sent, for dialects that have two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A JSON-RPC error.
    Protocol,
    /// A result with `isError`.
    Result,
}

/// The position of a call in the log: the number and the hash of its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    pub seq: u64,
    pub hash: String,
}

/// The facts of a call that a dialect may use in its answer.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// The tool's name as listed; `None` for an unknown tool.
    pub tool: Option<&'a str>,
    pub form: Form,
    /// The record of this call, if there is one.
    pub receipt: Option<&'a Receipt>,
}

/// The output of a tool that succeeded.
#[derive(Debug, Clone)]
pub enum ToolOutput {
    /// One JSON value. The dialect decides which members of the result contain it.
    Json(Box<RawValue>),
    /// Exact text, for dialects whose answer is text.
    Text(String),
    /// A whole MCP result, for content that is neither: images, audio, embedded resources.
    Whole(Box<RawValue>),
}

/// An answer: a whole MCP result, or a JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The text of one JSON object.
    Result(ResultText),
    /// A JSON-RPC error.
    Error(Box<ErrorBody>),
}

/// The text of a result. Constant answers are made once and shared; all others are not copied.
#[derive(Debug, Clone)]
pub enum ResultText {
    Owned(String),
    Shared(Arc<str>),
}

impl Deref for ResultText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            ResultText::Owned(text) => text,
            ResultText::Shared(text) => text,
        }
    }
}

impl fmt::Display for ResultText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

impl PartialEq for ResultText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for ResultText {}

impl From<String> for ResultText {
    fn from(text: String) -> Self {
        ResultText::Owned(text)
    }
}

impl From<&str> for ResultText {
    fn from(text: &str) -> Self {
        ResultText::Owned(text.to_owned())
    }
}

impl From<Arc<str>> for ResultText {
    fn from(text: Arc<str>) -> Self {
        ResultText::Shared(text)
    }
}

/// The members of a JSON-RPC error, in their order, and its HTTP status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    pub code: i32,
    pub message: String,
    /// The text of one JSON value.
    pub data: Option<String>,
    /// The status over HTTP; stdio has none.
    pub status: u16,
}

impl ErrorBody {
    /// Returns the JSON text of the `error` member.
    pub fn json(&self) -> String {
        #[derive(Serialize)]
        struct Members<'a> {
            code: i32,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'a RawValue>,
        }
        // `data` that is not JSON is left out: an answer is always valid JSON.
        let data = self.data.as_deref().map(serde_json::from_str::<&RawValue>);
        to_json(&Members {
            code: self.code,
            message: &self.message,
            data: data.and_then(Result::ok),
        })
    }
}
