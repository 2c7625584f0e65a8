//! The one rule for idempotency keys: a failure about arguments never binds its key, and a final
//! refusal by the order system does.

use super::Orders;
use super::codes::Code;
use candor_fault::{Effect, Fault, Retry};
use serde::Serialize;

/// The state of an idempotency key after a failing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// Nothing is stored: the key may be sent with the same or with other arguments.
    Free,
    /// The outcome is open: the same call may be sent again with the same key.
    Keep,
    /// The outcome is final and stored: another attempt needs another key.
    Bound,
}

impl KeyState {
    pub const ALL: [KeyState; 3] = [KeyState::Free, KeyState::Keep, KeyState::Bound];
}

/// The end of the remedy of a failure that left its key free.
const NOT_BOUND: &str = " This call did not bind the idempotencyKey.";

/// The words of a remedy for an open outcome, and of one for a bound key.
const SAME_KEY: &str = "the same idempotencyKey";
const NEW_KEY: &str = "a new idempotencyKey";

/// Returns the state of the key after a failure of a change. Returns `None` for a bug, which says
/// nothing about keys.
fn key_state(fault: &Fault<Orders>, keeps_keys: bool) -> Option<KeyState> {
    let is_retryable = matches!(fault.retry(), Retry::SameCall | Retry::AfterDelay);
    Some(match fault.code()? {
        Code::Validation | Code::MissingField | Code::InvalidFormat | Code::NotImplemented => {
            KeyState::Free
        }
        Code::RateLimited | Code::Timeout | Code::BackendUnavailable => KeyState::Keep,
        Code::AdapterError if is_retryable => KeyState::Keep,
        // An order system without keys stores nothing; only a change that may have been made
        // must not be sent again.
        Code::AdapterError if !keeps_keys && fault.effect() == Effect::None => KeyState::Free,
        Code::AdapterError => fault.facts().key.unwrap_or(KeyState::Bound),
    })
}

/// Adds the state of the key to a failure of a change, and names the key in its remedy.
/// `keeps_keys` is true if the order system stores final outcomes.
pub(crate) fn with_key_state(fault: Fault<Orders>, keeps_keys: bool) -> Fault<Orders> {
    let Some(state) = key_state(&fault, keeps_keys) else {
        return fault;
    };
    let fault = fault.with_facts(|facts| facts.key = Some(state));
    let (has_same, has_new) = (
        fault.remedy().contains(SAME_KEY),
        fault.remedy().contains(NEW_KEY),
    );
    match state {
        KeyState::Free if has_new => fault,
        KeyState::Free => fault.with_further_remedy(NOT_BOUND),
        KeyState::Keep if has_same => fault,
        KeyState::Keep => fault.with_further_remedy(" Send it with the same idempotencyKey."),
        KeyState::Bound if has_new => fault,
        KeyState::Bound => {
            fault.with_further_remedy(" A call that differs needs a new idempotencyKey.")
        }
    }
}
