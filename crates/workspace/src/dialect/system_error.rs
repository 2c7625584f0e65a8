//! The specification's four factories of a SystemError. The result is always a complete failure.

use super::{Workspace, WorkspaceFacts, codes};
use candor_fault::{Cause, ClientText, Effect, Fault, Fixed, PerFault, Raise, Reason, Retry};
use serde_json::Value;
use std::error::Error;

/// An error value of any kind that a handler returned.
#[derive(Debug)]
pub enum Thrown {
    /// A complete failure.
    Fault(Fault<Workspace>),
    Error(Box<dyn Error + Send + Sync>),
    Text(String),
    /// Any other data.
    Data(Value),
    Nothing,
}

impl Thrown {
    fn cause(self) -> Option<Cause> {
        match self {
            Thrown::Fault(fault) => fault.cause().cloned(),
            Thrown::Error(error) => Some(Cause::error("Error", error.as_ref())),
            Thrown::Text(text) => Some(Cause::Text(text)),
            Thrown::Data(data) => Some(Cause::from(data)),
            Thrown::Nothing => None,
        }
    }
}

/// Makes a failure of any error value: `otherwise`, with the value as its cause. A complete failure
/// keeps its code.
pub fn from_unknown(
    thrown: Thrown,
    otherwise: impl FnOnce() -> Fault<Workspace>,
    context: WorkspaceFacts,
) -> Fault<Workspace> {
    let fault = match thrown {
        Thrown::Fault(fault) => fault,
        thrown => match thrown.cause() {
            Some(cause) => otherwise().with_cause(cause),
            None => otherwise(),
        },
    };
    fault.with_facts(|facts| facts.fill(context))
}

/// Makes the failure of an error that no other code describes.
pub fn unmapped(effect: Effect) -> Fault<Workspace> {
    codes::UnknownToolFailure.fault(Retry::AfterChange, effect)
}

/// Makes the failure of a violated invariant.
pub fn invariant_violation(
    invariant: &Reason,
    effect: Effect,
    message: Option<ClientText>,
    context: WorkspaceFacts,
) -> Fault<Workspace> {
    let id = codes::INVARIANTS
        .iter()
        .find(|known| known.name == invariant.name);
    let fault = codes::InvariantViolation.fault(effect).with_facts(|facts| {
        facts.invariant_id = id.map(|known| known.name);
        facts.fill(context);
    });
    match message {
        Some(message) => fault.with_message(message),
        None => fault,
    }
}

/// Adds the cause and the facts of a tool to a raised code.
pub fn tool_failure(
    fault: Fault<Workspace>,
    thrown: Thrown,
    context: WorkspaceFacts,
) -> Fault<Workspace> {
    let fault = match thrown.cause() {
        Some(cause) => fault.with_cause(cause),
        None => fault,
    };
    fault.with_facts(|facts| facts.fill(context))
}

/// The name of the tool in failures before the first call.
pub const STARTUP: &str = "startup";

/// A code that a start can fail with.
pub trait StartupCode {
    /// Makes the failure; its effect is none.
    fn at_start(self) -> Fault<Workspace>;
}

impl StartupCode for Raise<Workspace, Fixed, Fixed> {
    fn at_start(self) -> Fault<Workspace> {
        self.fault()
    }
}

impl StartupCode for Raise<Workspace, Fixed, PerFault> {
    fn at_start(self) -> Fault<Workspace> {
        self.fault(Effect::None)
    }
}

/// Makes the failure of a start: no role, no session, the tool is `startup`.
pub fn startup_failure(
    code: impl StartupCode,
    message: Option<ClientText>,
    thrown: Thrown,
) -> Fault<Workspace> {
    let context = WorkspaceFacts {
        tool_name: Some(STARTUP.to_owned()),
        ..WorkspaceFacts::default()
    };
    let fault = match message {
        Some(message) => code.at_start().with_message(message),
        None => code.at_start(),
    };
    tool_failure(fault, thrown, context)
}
