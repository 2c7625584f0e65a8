//! The four ways to make a SystemError: whatever was thrown, the result is a complete failure.

use crate::codes::workspace as codes;
use crate::dialects::{Workspace, WorkspaceFacts};
use crate::{Cause, ClientText, Effect, Fault, Fixed, PerFault, Raise, Reason, Retry};
use serde_json::Value;
use std::error::Error;

/// Whatever came out of a handler.
#[derive(Debug)]
pub enum Thrown {
    /// A failure that is complete already.
    Fault(Fault<Workspace>),
    /// An error.
    Error(Box<dyn Error + Send + Sync>),
    /// A text.
    Text(String),
    /// Any other data.
    Data(Value),
    /// Nothing at all.
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

/// What the place of the failure knows: fills what is empty, never overwrites.
pub type Context = WorkspaceFacts;

/// Whatever was thrown, as the failure `otherwise` says; a complete failure stays what it is.
pub fn from_unknown(
    thrown: Thrown,
    otherwise: impl FnOnce() -> Fault<Workspace>,
    context: Context,
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

/// What is thrown where no code names it.
pub fn unmapped(effect: Effect) -> Fault<Workspace> {
    codes::UnknownToolFailure.fault(Retry::AfterChange, effect)
}

/// An invariant that does not hold.
pub fn invariant_violation(
    invariant: &Reason,
    effect: Effect,
    said: Option<ClientText>,
    context: Context,
) -> Fault<Workspace> {
    let id = codes::INVARIANTS
        .iter()
        .find(|known| known.name == invariant.name);
    let fault = codes::InvariantViolation.fault(effect).with_facts(|facts| {
        facts.invariant_id = id.map(|known| known.name);
        facts.fill(context);
    });
    match said {
        Some(said) => fault.with_message(said),
        None => fault,
    }
}

/// A failure of a tool: a raised code with what the tool knows about it.
pub fn tool_failure(fault: Fault<Workspace>, thrown: Thrown, context: Context) -> Fault<Workspace> {
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
    /// The failure; nothing has happened yet.
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

/// A start that fails: no role, no session, the tool is `startup`.
pub fn startup_failure(
    code: impl StartupCode,
    said: Option<ClientText>,
    thrown: Thrown,
) -> Fault<Workspace> {
    let context = Context {
        tool_name: Some(STARTUP.to_owned()),
        ..Context::default()
    };
    let fault = match said {
        Some(said) => code.at_start().with_message(said),
        None => code.at_start(),
    };
    tool_failure(fault, thrown, context)
}
