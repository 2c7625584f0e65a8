//! The context dialect: `{"error":{"code","message"}}` as the text of a failing result.

pub mod codes;
mod registry;
pub mod schemas;
#[cfg(test)]
mod tests;
pub mod v1;

pub use registry::REGISTRY;

use candor_fault::dialects::Wire;
use candor_fault::{
    Answer, CallFacts, Dialect, Fault, PathStep, Refusal, Timestamp, ToolOutput, ToolResult,
    Violation, Violations, to_json,
};
use codes::Code;
use serde::Serialize;

/// The dialect of the context tools.
#[derive(Debug, Clone, Copy)]
pub struct Context;

#[derive(Serialize)]
struct ErrorObject<'a> {
    error: CodeAndMessage<'a>,
}

#[derive(Serialize)]
struct CodeAndMessage<'a> {
    code: &'a str,
    message: &'a str,
}

impl Context {
    /// Returns the specification's error object and one newline, for the server and the command line.
    /// The message is always the canonical one, without diagnostics.
    pub fn error_object(fault: &Fault<Context>) -> String {
        let row = fault.row();
        let mut text = to_json(&ErrorObject {
            error: CodeAndMessage {
                code: row.code.text(),
                message: row.message,
            },
        });
        text.push('\n');
        text
    }
}

/// Returns the precedence of the violated argument, and its failure.
fn argument_fault(violation: &Violation) -> (u8, Fault<Context>) {
    let argument = match violation.path.0.first() {
        Some(PathStep::Member(name)) => Some(name.as_str()),
        _ => violation.missing(),
    };
    match argument {
        Some("cache") => (0, codes::CacheMissing.fault()),
        Some("query") => (1, codes::InvalidQuery.fault()),
        Some("budget") => (2, codes::InvalidBudget.fault()),
        _ => (3, codes::InvalidQuery.fault()),
    }
}

fn bad_arguments(violations: Violations) -> Fault<Context> {
    let first = violations
        .all_kinds()
        .map(argument_fault)
        .min_by_key(|(rank, _)| *rank);
    let fault = first.map_or_else(|| codes::InvalidQuery.fault(), |(_, fault)| fault);
    fault.with_violations(violations)
}

impl Dialect for Context {
    type Code = Code;
    type Facts = ();

    fn adopt(refusal: Refusal) -> Fault<Self> {
        match refusal {
            Refusal::Arguments(violations) => bad_arguments(violations),
            Refusal::Panicked { cause, .. } | Refusal::Unrecorded { cause, .. } => {
                codes::InternalError.fault().with_cause(cause)
            }
            // This dialect's servers have no limiter and no deadline, and a cancelled call's answer
            // is not sent.
            Refusal::Limited { .. } | Refusal::Deadline { .. } | Refusal::Cancelled { .. } => {
                codes::InternalError.fault()
            }
        }
    }

    fn encode_failure(fault: &Fault<Self>, _call: &CallFacts<'_>, _at: Timestamp) -> Answer {
        let text = Context::error_object(fault);
        let mut result = ToolResult::<(), ()>::text(&text);
        result.is_error = true;
        result.answer()
    }

    fn encode_success(output: &ToolOutput, _call: &CallFacts<'_>) -> Answer {
        let text = match output {
            ToolOutput::Json(json) => &format!("{}\n", json.get()),
            ToolOutput::Text(text) => text,
            ToolOutput::Whole(_) => return ToolResult::encode_success(output, None),
        };
        ToolResult::<(), ()>::text(text).answer()
    }

    /// Encodes an unknown tool without `data`, whether or not a name is similar: every answer of this
    /// dialect is frozen.
    fn encode_protocol_fault(fault: &Fault<Wire>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        let mut answer = Wire::encode_failure(fault, call, at);
        if let (Answer::Error(body), Some(_)) = (&mut answer, &fault.facts().unknown_tool) {
            body.data = None;
        }
        answer
    }
}
