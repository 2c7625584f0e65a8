//! The outcome of one call, as the recorder and the log receive it.

use crate::Call;
use candor_fault::dialects::Wire;
use candor_fault::{Dialect, Effect, Fault, Receipt, Timestamp, ToolOutput};
use std::time::Duration;

/// The outcome of a call.
#[derive(Debug)]
pub enum CallOutcome<'a, D: Dialect> {
    /// It succeeded.
    Done(&'a ToolOutput),
    /// The tool or the way to it failed.
    Failed(&'a Fault<D>),
    /// It was refused before any tool was found.
    Refused(&'a Fault<Wire>),
}

/// One call with its end. Record, log and answer share the one instant `at`.
#[derive(Debug)]
pub struct CallRecord<'a, D: Dialect, N = ()> {
    /// The call; absent if the message was not a call.
    pub call: Option<&'a Call>,
    /// The number of the call in this process.
    pub number: Option<u64>,
    /// The server's notes about the call; absent if the call names no tool.
    pub notes: Option<&'a N>,
    /// The tool's name as listed.
    pub tool: Option<&'a str>,
    pub outcome: CallOutcome<'a, D>,
    pub effect: Effect,
    pub at: Timestamp,
    pub took: Duration,
    /// For the second record of a call that outlived its answer: the first one.
    pub follows: Option<&'a Receipt>,
}
