//! Failures of an order system: which failure each status is, and what a client may know of it.

use super::answer::says_json;
use super::json;
use super::link::{FAILURE_MAX, Heard};
use super::wait::{WAIT_USUAL, wait};
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
pub(super) enum Tells {
    /// Nothing was done under this key, by this request or an earlier one.
    NothingDone,
    /// This request did nothing.
    NotByThis,
    /// Nothing.
    Nothing,
}

/// A failure, and what it tells.
pub(super) type Told = (Failure, Tells);

/// An answer that is no success.
pub(super) fn answered(heard: &Heard) -> Told {
    let said = Said::read(heard);
    let cause = || Some(Box::new(cause(heard)));
    let after = wait(&heard.headers);
    match heard.status.as_u16() {
        408 | 504 => (Failure::TimedOut(cause()), Tells::Nothing),
        429 => {
            let after = after.unwrap_or(WAIT_USUAL);
            (Failure::Limited(after, cause()), Tells::NotByThis)
        }
        501 => (Failure::Unsupported, Tells::NotByThis),
        500..=599 => (Failure::Unavailable(after, cause()), Tells::Nothing),
        status @ (401 | 403) => {
            tracing::error!(
                status,
                "the order system refuses this server's credentials: check its token"
            );
            let refused = OrderRefusal::from(RefusalReason::AdapterUnauthorized);
            (stands(refused, cause()), Tells::NotByThis)
        }
        status @ 400..=499 => {
            let refused = said.refused(status);
            match said.retryable {
                true => {
                    let busy = Failure::Busy(Box::new(refused), after, cause());
                    (busy, Tells::NotByThis)
                }
                false => (stands(refused, cause()), Tells::NothingDone),
            }
        }
        _ => (unusable(cause()), Tells::Nothing),
    }
}

/// Maps an exchange without a response.
pub(super) fn broken(error: ExchangeError) -> Told {
    let cause = match &error {
        ExchangeError::BodyTooLarge { .. } => {
            Cause::from("the answer has more bytes than are read")
        }
        error => Cause::error("HttpError", error),
    };
    let cause = Some(Box::new(cause));
    match error {
        error if error.is_unsent() => (Failure::Unavailable(None, cause), Tells::NotByThis),
        ExchangeError::TimedOut(_) => (Failure::TimedOut(cause), Tells::Nothing),
        ExchangeError::Malformed(_) | ExchangeError::BodyTooLarge { .. } => {
            (unusable(cause), Tells::Nothing)
        }
        _ => (Failure::Unavailable(None, cause), Tells::Nothing),
    }
}

/// A success that cannot be used.
pub(super) fn flawed(flaw: &impl Display) -> Failure {
    unusable(Some(Box::new(Cause::Text(flaw.to_string()))))
}

fn unusable(cause: Option<Box<Cause>>) -> Failure {
    stands(RefusalReason::InvalidAdapterResponse.into(), cause)
}

fn stands(refused: OrderRefusal, cause: Option<Box<Cause>>) -> Failure {
    Failure::Final(Box::new(FinalFailure::Refusal(refused)), cause)
}

/// What goes to the log: the status and the beginning of the order system's own words.
fn cause(heard: &Heard) -> Cause {
    let words = String::from_utf8_lossy(&heard.body);
    let words = &words[..words.floor_char_boundary(WORDS_MAX)];
    let words = words.replace(char::is_control, " ");
    Cause::Data(json!({ "status": heard.status.as_u16(), "body": words }))
}

/// What a failure says in the words of the protocol; whatever is of another form is left out.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) code: Option<String>,
    pub(crate) retryable: bool,
    context: Context,
}

/// The body of a failure.
#[derive(Deserialize)]
struct Body {
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

impl Said {
    pub(crate) fn read(heard: &Heard) -> Said {
        let whole = says_json(&heard.headers) && heard.body.len() < FAILURE_MAX;
        let text = whole.then(|| json::text(&heard.body).ok()).flatten();
        let body: Option<Body> = text.and_then(|text| serde_json::from_str(text).ok());
        let Some(Body { error }) = body else {
            return Said::default();
        };
        let fact = |name| error.context.get(name);
        let field = fact("field").and_then(Value::as_str);
        Said {
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
