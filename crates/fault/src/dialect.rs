//! What a dialect is: a closed set of codes, and a pure projection of outcomes into answers.

use crate::dialects::Wire;
use crate::{
    Answer, CallFacts, Cause, Code, CodeRow, Effect, Fault, Timestamp, ToolOutput, Violations,
};
use std::fmt::Debug;
use std::time::Duration;

/// What the way of a call itself can refuse; each dialect says it with its own code.
#[derive(Debug, Clone)]
pub enum Refusal {
    /// The arguments do not fit the tool's schema.
    Arguments(Violations),
    /// Too many calls; `after` is the wait.
    Limited {
        /// The wait before the call may succeed.
        after: Duration,
    },
    /// The time for the call is over.
    Deadline {
        /// Whether anything happened.
        effect: Effect,
    },
    /// The caller or the end of the process cancelled the call.
    Cancelled {
        /// Whether anything happened.
        effect: Effect,
    },
    /// The tool panicked.
    Panicked {
        /// The panic's message, for the log.
        cause: Cause,
        /// Whether anything happened.
        effect: Effect,
    },
    /// The call could not be put on record.
    Unrecorded {
        /// Why not.
        cause: Cause,
        /// Whether anything happened.
        effect: Effect,
    },
}

/// How one family of servers says success and failure.
pub trait Dialect: Copy + Debug + Send + Sync + 'static {
    /// The closed set of codes of the dialect's own registry.
    type Code: Code;
    /// What only this dialect's answers carry.
    type Facts: Default + Clone + Debug + Send + Sync + 'static;

    /// Every row that a failure of this dialect can have.
    fn rows() -> Vec<&'static CodeRow> {
        Self::Code::rows().iter().collect()
    }

    /// What the street itself refuses, said in this dialect.
    fn adopt(refusal: Refusal) -> Fault<Self>;

    /// A failure; pure: the same input gives the same bytes.
    fn failure(fault: &Fault<Self>, call: &CallFacts<'_>, at: Timestamp) -> Answer;

    /// A success; it has a form too.
    fn success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer;

    /// A refusal that comes before any tool: broken input, an unknown method or tool.
    fn protocol(fault: &Fault<Wire>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        Wire::failure(fault, call, at)
    }
}
