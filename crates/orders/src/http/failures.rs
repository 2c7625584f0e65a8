//! Failures of an order system: which failure each status is, and what a client may know of it.

use super::client::{AdapterResponse, FAILURE_MAX};
use super::json;
use super::responses::says_json;
use super::retry_after::{WAIT_USUAL, wait};
use crate::model::OrderStatus;
use crate::{Failure, FinalFailure, OrderRefusal, RefusalReason};
use candor_fault::Cause;
use candor_http_client::ExchangeError;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Display;

/// The longest path of an argument that is passed on.
const FIELD_MAX: usize = 200;

/// How many bytes of a failure's text go to the log. Written as JSON they may be twice as many.
const WORDS_MAX: usize = 900;

/// What a failed request tells about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffectEvidence {
    /// Nothing was done under this key, by this request or an earlier one.
    NoEffect,
    /// This request did nothing.
    NoEffectOfThisRequest,
    /// Nothing.
    Nothing,
}

/// A failure, and what it tells.
pub(super) type FailedExchange = (Failure, EffectEvidence);

/// An answer that is no success.
pub(super) fn failed_response(response: &AdapterResponse) -> FailedExchange {
    let said = ErrorBody::read(response);
    let cause = || Some(Box::new(cause(response)));
    let after = wait(&response.headers);
    match response.status.as_u16() {
        408 | 504 => (Failure::TimedOut(cause()), EffectEvidence::Nothing),
        429 => {
            let after = after.unwrap_or(WAIT_USUAL);
            (
                Failure::Limited(after, cause()),
                EffectEvidence::NoEffectOfThisRequest,
            )
        }
        501 => (Failure::Unsupported, EffectEvidence::NoEffectOfThisRequest),
        500..=599 => (
            Failure::Unavailable(after, cause()),
            EffectEvidence::Nothing,
        ),
        status @ (401 | 403) => {
            tracing::error!(
                status,
                "the order system refuses this server's credentials: check its token"
            );
            let refused = OrderRefusal::from(RefusalReason::AdapterUnauthorized);
            (
                stands(refused, cause()),
                EffectEvidence::NoEffectOfThisRequest,
            )
        }
        status @ 400..=499 => {
            let refused = said.refused(status);
            match said.retryable {
                true => {
                    let busy = Failure::Busy(Box::new(refused), after, cause());
                    (busy, EffectEvidence::NoEffectOfThisRequest)
                }
                false => (stands(refused, cause()), EffectEvidence::NoEffect),
            }
        }
        _ => (unusable(cause()), EffectEvidence::Nothing),
    }
}

/// Maps an exchange without a response.
pub(super) fn failed_exchange(error: ExchangeError) -> FailedExchange {
    let cause = match &error {
        ExchangeError::BodyTooLarge { .. } => {
            Cause::from("the answer has more bytes than are read")
        }
        error => Cause::error("HttpError", error),
    };
    let cause = Some(Box::new(cause));
    match error {
        error if error.is_unsent() => (
            Failure::Unavailable(None, cause),
            EffectEvidence::NoEffectOfThisRequest,
        ),
        ExchangeError::TimedOut(_) => (Failure::TimedOut(cause), EffectEvidence::Nothing),
        ExchangeError::Malformed(_) | ExchangeError::BodyTooLarge { .. } => {
            (unusable(cause), EffectEvidence::Nothing)
        }
        _ => (Failure::Unavailable(None, cause), EffectEvidence::Nothing),
    }
}

/// A success that cannot be used.
pub(super) fn invalid_response(error: &impl Display) -> Failure {
    unusable(Some(Box::new(Cause::Text(error.to_string()))))
}

fn unusable(cause: Option<Box<Cause>>) -> Failure {
    stands(RefusalReason::InvalidAdapterResponse.into(), cause)
}

fn stands(refused: OrderRefusal, cause: Option<Box<Cause>>) -> Failure {
    Failure::Final(Box::new(FinalFailure::Refusal(refused)), cause)
}

/// What goes to the log: the status and the beginning of the order system's own words.
fn cause(response: &AdapterResponse) -> Cause {
    let words = String::from_utf8_lossy(&response.body);
    let words = &words[..words.floor_char_boundary(WORDS_MAX)];
    let words = words.replace(char::is_control, " ");
    Cause::Data(json!({ "status": response.status.as_u16(), "body": words }))
}

/// What a failure says in the words of the protocol; whatever is of another form is left out.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    pub(crate) code: Option<String>,
    pub(crate) retryable: bool,
    context: Context,
}

/// The body of a failure.
#[derive(Deserialize)]
struct FailureBody {
    error: Error,
}

#[derive(Deserialize)]
struct Error {
    #[serde(default)]
    code: Value,
    #[serde(default)]
    retryable: Value,
    #[serde(default)]
    context: Value,
}

/// What a client may know of a no.
#[derive(Debug, Default)]
struct Context {
    status: Option<OrderStatus>,
    field: Option<String>,
    available: Option<i64>,
}

impl ErrorBody {
    pub(crate) fn read(response: &AdapterResponse) -> ErrorBody {
        let whole = says_json(&response.headers) && response.body.len() < FAILURE_MAX;
        let text = whole.then(|| json::text(&response.body).ok()).flatten();
        let body: Option<FailureBody> = text.and_then(|text| serde_json::from_str(text).ok());
        let Some(FailureBody { error }) = body else {
            return ErrorBody::default();
        };
        let fact = |name| error.context.get(name);
        let field = fact("field").and_then(Value::as_str);
        ErrorBody {
            code: error.code.as_str().map(String::from),
            retryable: error.retryable == Value::Bool(true),
            context: Context {
                status: fact("status")
                    .and_then(Value::as_str)
                    .and_then(OrderStatus::read),
                field: field.filter(|field| is_path(field)).map(String::from),
                available: fact("available")
                    .and_then(Value::as_i64)
                    .filter(|count| *count >= 0),
            },
        }
    }

    fn refused(&self, status: u16) -> OrderRefusal {
        let reason = self.code.as_deref().and_then(named);
        let reason = reason.unwrap_or(match status {
            404 => RefusalReason::NotFound,
            _ => RefusalReason::BackendRefused,
        });
        OrderRefusal {
            reason,
            field: self.context.field.clone(),
            status: self.context.status,
            available: self.context.available,
        }
    }
}

/// What an order system's identifier means; those that only this server can mean are not taken from
/// anybody else.
fn named(code: &str) -> Option<RefusalReason> {
    match RefusalReason::read(code) {
        Some(
            RefusalReason::AdapterUnauthorized
            | RefusalReason::InvalidAdapterResponse
            | RefusalReason::OutcomeUnknown
            | RefusalReason::BackendRefused
            | RefusalReason::WriteTokenRequired,
        ) => None,
        other => other,
    }
}

/// Whether a text has the form of an argument's path.
fn is_path(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let step = |step: &str| !step.is_empty() && step.bytes().all(plain);
    text.len() <= FIELD_MAX && text.split('.').all(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_names_and_numbers_with_dots() {
        for path in ["order", "order.lineItems.0.sku", "a_b.1"] {
            assert!(is_path(path), "{path}");
        }
        let long = "a".repeat(201);
        for other in ["", ".", "a.", "a b", "a-b", "ä", "a[0]", "/a", &long] {
            assert!(!is_path(other), "{other}");
        }
    }

    #[test]
    fn this_servers_own_words_are_nobody_elses() {
        assert_eq!(named("ORDER_NOT_FOUND"), Some(RefusalReason::OrderNotFound));
        assert_eq!(
            named("HAZMAT"),
            Some(RefusalReason::Custom(String::from("HAZMAT")))
        );
        for ours in ["WRITE_TOKEN_REQUIRED", "OUTCOME_UNKNOWN", "no", "", "A B"] {
            assert_eq!(named(ours), None, "{ours}");
        }
    }
}
