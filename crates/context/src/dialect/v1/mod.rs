//! The dialect of the reading tools: the form of `candor/1` with the codes of `context-v1`.

pub mod codes;
mod registry;

pub use registry::REGISTRY;

use candor_fault::dialects::encode_candor_failure;
use candor_fault::{Answer, CallFacts, Dialect, Fault, Refusal, Timestamp, ToolOutput, ToolResult};
use codes::Code;

/// The dialect of the reading tools.
#[derive(Debug, Clone, Copy)]
pub struct ContextV1;

/// The members of a failure that only the reading of resources uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadingFacts {
    pub resource: Option<ResourceFlaw>,
}

/// A reason why a resource cannot be listed or read, beside a broken cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceFlaw {
    /// The URI names nothing.
    NotFound,
    /// No list has issued this cursor.
    UnknownCursor,
    /// The document has this many bytes, which is too many to be read whole.
    TooLarge(u64),
}

impl Dialect for ContextV1 {
    type Code = Code;
    type Facts = ReadingFacts;

    fn adopt(refusal: Refusal) -> Fault<Self> {
        match refusal {
            Refusal::Arguments(violations) => {
                codes::InvalidArguments.fault().with_violations(violations)
            }
            Refusal::Panicked { cause, .. } | Refusal::Unrecorded { cause, .. } => {
                codes::InternalError.fault().with_cause(cause)
            }
            // The server has no limiter and no deadline, and the answer of a cancelled call is not sent.
            Refusal::Limited { .. } | Refusal::Deadline { .. } | Refusal::Cancelled { .. } => {
                codes::InternalError.fault()
            }
        }
    }

    fn encode_failure(fault: &Fault<Self>, call: &CallFacts<'_>, _at: Timestamp) -> Answer {
        encode_candor_failure(fault, call)
    }

    fn encode_success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        ToolResult::encode_success(output, call.receipt)
    }
}
