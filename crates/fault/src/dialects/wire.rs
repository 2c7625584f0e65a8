//! Plain JSON-RPC errors: what is refused before any tool is asked.

use super::result;
use crate::codes::wire::{self as codes, Code};
use crate::{
    Answer, CallFacts, ClientText, Dialect, ErrorBody, Fault, Refusal, Retry, Timestamp, ToolOutput,
};

/// The dialect of what is no call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Wire;

/// What the wire knows beside the code.
#[derive(Debug, Clone, Default)]
pub struct WireFacts {
    /// The HTTP status where it is not the code's own.
    pub status: Option<u16>,
    /// The text of the JSON value in `data`.
    pub data: Option<String>,
    /// The tool that does not exist.
    pub unknown_tool: Option<UnknownTool>,
}

/// A tool that does not exist.
#[derive(Debug, Clone)]
pub struct UnknownTool {
    /// The name as it may be shown: escaped and cut.
    pub name: String,
    /// A tool of nearly that name.
    pub near: Option<String>,
}

impl Wire {
    /// A request that is none, or that is refused, and why.
    pub fn invalid_request(why: &'static str) -> Fault<Wire> {
        codes::InvalidRequest
            .fault()
            .with_message(ClientText::from("Invalid Request: ").then(why))
    }

    /// Parameters of a method that are not acceptable, and why.
    pub fn invalid_params(why: &'static str) -> Fault<Wire> {
        codes::InvalidParams
            .fault()
            .with_message(ClientText::from("Invalid params: ").then(why))
    }

    /// A tool that does not exist, with a near name where there is one.
    pub fn unknown_tool(name: &str, near: Option<&str>) -> Fault<Wire> {
        let shown = ClientText::from("").quoting(name).as_str().to_owned();
        codes::InvalidParams
            .fault()
            .with_message(ClientText::from("Unknown tool: ").quoting(name))
            .with_facts(|facts| {
                facts.unknown_tool = Some(UnknownTool {
                    name: shown,
                    near: near.map(String::from),
                });
            })
    }
}

/// The HTTP status of a code.
fn status(code: Option<Code>) -> u16 {
    match code {
        Some(Code::MethodNotFound | Code::InvalidParams) | None => 200,
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

    fn failure(fault: &Fault<Self>, _call: &CallFacts<'_>, _at: Timestamp) -> Answer {
        Answer::Error(Box::new(ErrorBody {
            code: fault.row().code.number(),
            message: fault.message().to_owned(),
            data: fault.facts().data.clone(),
            status: fault.facts().status.unwrap_or_else(|| status(fault.code())),
        }))
    }

    fn success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        result::success(output, call.receipt)
    }
}
