//! The trait of dialects: a closed set of codes, and a pure encoding of outcomes as answers.

use crate::dialects::Wire;
use crate::{
    Answer, CallFacts, Cause, Code, CodeRow, Effect, Fault, Timestamp, ToolOutput, Violations,
};
use std::fmt::Debug;
use std::time::Duration;

/// A call that the street refuses or ends itself; each dialect has a separate code for it.
#[derive(Debug, Clone)]
pub enum Refusal {
    /// The arguments do not fit the tool's schema.
    Arguments(Violations),
    /// Too many calls.
    Limited {
        /// The wait before the call may succeed.
        after: Duration,
    },
    /// The time for the call is over.
    Deadline { effect: Effect },
    /// The caller or the end of the process cancelled the call.
    Cancelled { effect: Effect },
    /// The tool panicked.
    Panicked {
        /// The panic's message, for the log.
        cause: Cause,
        effect: Effect,
    },
    /// The call could not be put on record.
    Unrecorded { cause: Cause, effect: Effect },
}

/// The encoding of success and failure for one family of servers.
pub trait Dialect: Copy + Debug + Send + Sync + 'static {
    /// The closed set of codes of the dialect's own registry.
    type Code: Code;
    /// The members that only this dialect's answers contain.
    type Facts: Default + Clone + Debug + Send + Sync + 'static;

    /// Returns every row that a failure of this dialect can have.
    fn rows() -> Vec<&'static CodeRow> {
        Self::Code::rows().iter().collect()
    }

    /// Puts a registered word below the code (an entry of [`CodeRow::reasons`]) into the facts.
    /// Dialects whose answers have no member for it ignore it.
    fn set_reason(_facts: &mut Self::Facts, _reason: &'static str) {}

    /// Makes a failure of this dialect from a refusal of the street.
    fn adopt(refusal: Refusal) -> Fault<Self>;

    /// Encodes a failure. Pure: the same input gives the same bytes.
    fn encode_failure(fault: &Fault<Self>, call: &CallFacts<'_>, at: Timestamp) -> Answer;

    /// Encodes a success.
    fn encode_success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer;

    /// Encodes a refusal before any tool runs: broken input, an unknown method or tool.
    fn encode_protocol_fault(fault: &Fault<Wire>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        Wire::encode_failure(fault, call, at)
    }
}

/// A dialect whose failures may have codes of `Other` too. Its [`Dialect::rows`] lists the ones that
/// they can have.
pub trait IncludesCodesOf<Other>: Dialect {}
