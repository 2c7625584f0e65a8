//! The wire dialect: plain JSON-RPC errors for requests that reach no tool.

use crate::codes::wire::{self as codes, Code};
use crate::{
    Answer, CallFacts, ClientText, Dialect, ErrorBody, Fault, Refusal, Retry, Timestamp,
    ToolOutput, ToolResult, to_json,
};
use serde::Serialize;

/// The dialect of requests that are not a call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Wire;

/// The members of a wire error beside its code and message.
#[derive(Debug, Clone, Default)]
pub struct WireFacts {
    /// The HTTP status, if it is not the one of the code.
    pub status: Option<u16>,
    /// The text of the JSON value in `data`.
    pub data: Option<String>,
    pub unknown_tool: Option<UnknownTool>,
}

/// A tool that does not exist.
#[derive(Debug, Clone)]
pub struct UnknownTool {
    /// The name, escaped and cut.
    pub name: String,
    /// A tool with a similar name.
    pub near: Option<String>,
    /// The server's own sentence about this name, instead of the similar one.
    pub advice: Option<String>,
}

impl UnknownTool {
    /// Returns the server's sentence, else the one that names the similar tool.
    pub fn hint(&self) -> Option<String> {
        if self.advice.is_some() {
            return self.advice.clone();
        }
        let near = self.near.as_ref()?;
        Some(format!("did you mean '{near}'?"))
    }

    /// Returns the text of `data`; `None` if no name is similar.
    fn data(&self) -> Option<String> {
        #[derive(Serialize)]
        struct Data<'a> {
            tool: &'a str,
            hint: String,
        }
        let hint = self.hint()?;
        let tool = &self.name;
        Some(to_json(&Data { tool, hint }))
    }
}

impl Wire {
    /// Refuses a message that is not an acceptable request.
    pub fn invalid_request(reason: &'static str) -> Fault<Wire> {
        codes::InvalidRequest
            .fault()
            .with_message(ClientText::from("Invalid Request: ").then(reason))
    }

    /// Refuses the parameters of a method.
    pub fn invalid_params(reason: &'static str) -> Fault<Wire> {
        codes::InvalidParams
            .fault()
            .with_message(ClientText::from("Invalid params: ").then(reason))
    }

    /// Refuses a tool that does not exist; `near` is a similar name.
    pub fn unknown_tool(name: &str, near: Option<&str>) -> Fault<Wire> {
        let shown = ClientText::from("").quoting(name).as_str().to_owned();
        codes::InvalidParams
            .fault()
            .with_message(ClientText::from("Unknown tool: ").quoting(name))
            .with_facts(|facts| {
                facts.unknown_tool = Some(UnknownTool {
                    name: shown,
                    near: near.map(String::from),
                    advice: None,
                });
            })
    }
}

/// Returns the HTTP status of a code.
fn status(code: Option<Code>) -> u16 {
    match code {
        Some(Code::MethodNotFound | Code::InvalidParams | Code::ResourceNotFound) | None => 200,
        Some(Code::InternalError) => 503,
        Some(
            Code::ParseError
            | Code::InvalidRequest
            | Code::HeaderMismatch
            | Code::MissingCapability
            | Code::UnsupportedVersion,
        ) => 400,
    }
}

impl Dialect for Wire {
    type Code = Code;
    type Facts = WireFacts;

    fn adopt(refusal: Refusal) -> Fault<Self> {
        match refusal {
            Refusal::Arguments(violations) => {
                codes::InvalidParams.fault().with_violations(violations)
            }
            Refusal::Limited { after } => codes::InternalError
                .fault(Retry::AfterDelay, crate::Effect::None)
                .with_message("Internal error: the server is at capacity")
                .after(after),
            Refusal::Deadline { effect } | Refusal::Cancelled { effect } => {
                codes::InternalError.fault(Retry::after_cut(effect), effect)
            }
            Refusal::Panicked { cause, effect } => codes::InternalError
                .fault(Retry::Never, effect)
                .with_cause(cause),
            Refusal::Unrecorded { cause, effect } => codes::InternalError
                .fault(Retry::AfterChange, effect)
                .with_message("Internal error: the request could not be recorded")
                .with_cause(cause),
        }
    }

    fn encode_failure(fault: &Fault<Self>, _call: &CallFacts<'_>, _at: Timestamp) -> Answer {
        let facts = fault.facts();
        let unknown = facts.unknown_tool.as_ref();
        Answer::Error(Box::new(ErrorBody {
            code: fault.row().code.number(),
            message: fault.message().to_owned(),
            data: facts
                .data
                .clone()
                .or_else(|| unknown.and_then(UnknownTool::data)),
            status: facts.status.unwrap_or_else(|| status(fault.code())),
        }))
    }

    fn encode_success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        ToolResult::encode_success(output, call.receipt)
    }
}
