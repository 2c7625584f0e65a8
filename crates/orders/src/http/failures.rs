//! Maps the answers and errors of an order system to failures.

use super::client::{AdapterResponse, MAX_FAILURE_BODY};
use super::json;
use super::responses::is_json;
use super::retry_after::{WAIT_USUAL, wait};
use crate::model::{OrderStatus, ReturnStatus};
use crate::{Failure, FinalFailure, OrderRefusal, RefusalReason};
use candor_fault::Cause;
use candor_http_client::ExchangeError;
use candor_street::JsonTree;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Display;

/// The longest path of an argument that is passed on, in bytes.
const MAX_FIELD: usize = 200;

/// The bytes of a failing answer that are logged. As JSON they may be twice as many.
const MAX_WORDS: usize = 900;

/// The evidence of a failed request about the effect of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffectEvidence {
    /// Neither this request nor an earlier one with this key had an effect.
    NoEffect,
    /// This request had no effect.
    NoEffectOfThisRequest,
    /// The effect is unknown.
    Nothing,
}

/// A failure and its evidence.
pub(super) type FailedExchange = (Failure, EffectEvidence);

/// Maps an answer that is not a success.
pub(super) fn map_response(response: &AdapterResponse) -> FailedExchange {
    let error_body = AdapterErrorBody::read(response);
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
        401 | 403 => {
            let refused = OrderRefusal::from(RefusalReason::AdapterUnauthorized);
            (
                final_refusal(refused, cause()),
                EffectEvidence::NoEffectOfThisRequest,
            )
        }
        status @ 400..=499 => {
            let refused = error_body.refused(status);
            match error_body.retryable {
                true => {
                    let busy = Failure::Busy(Box::new(refused), after, cause());
                    (busy, EffectEvidence::NoEffectOfThisRequest)
                }
                false => (final_refusal(refused, cause()), EffectEvidence::NoEffect),
            }
        }
        _ => (unusable(cause()), EffectEvidence::Nothing),
    }
}

/// Maps an exchange without a response.
pub(super) fn map_error(error: ExchangeError) -> FailedExchange {
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

/// Returns the failure of a success that cannot be used.
pub(super) fn invalid_response(error: &impl Display) -> Failure {
    unusable(Some(Box::new(Cause::Text(error.to_string()))))
}

fn unusable(cause: Option<Box<Cause>>) -> Failure {
    final_refusal(RefusalReason::InvalidAdapterResponse.into(), cause)
}

fn final_refusal(refused: OrderRefusal, cause: Option<Box<Cause>>) -> Failure {
    Failure::Final(Box::new(FinalFailure::Refusal(refused)), cause)
}

/// Returns the logged cause: the status and the start of the order system's text.
fn cause(response: &AdapterResponse) -> Cause {
    let words = String::from_utf8_lossy(&response.body);
    let words = &words[..words.floor_char_boundary(MAX_WORDS)];
    let words = words.replace(char::is_control, " ");
    Cause::Data(json!({ "status": response.status.as_u16(), "body": words }))
}

/// The body of a failing answer. Members of another form are ignored.
#[derive(Debug, Default)]
pub(crate) struct AdapterErrorBody {
    pub(crate) code: Option<String>,
    pub(crate) retryable: bool,
    context: Context,
}

#[derive(Deserialize)]
struct FailureBody {
    error: Error,
}

#[derive(Deserialize)]
struct Error {
    #[serde(default)]
    code: JsonTree,
    #[serde(default)]
    retryable: JsonTree,
    #[serde(default)]
    context: JsonTree,
}

/// The facts of a refusal that a client may see.
#[derive(Debug, Default)]
struct Context {
    status: Option<OrderStatus>,
    field: Option<String>,
    available: Option<i64>,
    available_amount: Option<String>,
    return_status: Option<ReturnStatus>,
}

impl AdapterErrorBody {
    pub(crate) fn read(response: &AdapterResponse) -> AdapterErrorBody {
        let whole = is_json(&response.headers) && response.body.len() < MAX_FAILURE_BODY;
        let text = whole.then(|| json::text(&response.body).ok()).flatten();
        let body: Option<FailureBody> = text.and_then(|text| serde_json::from_str(text).ok());
        let Some(FailureBody { error }) = body else {
            return AdapterErrorBody::default();
        };
        let fact = |name| error.context.0.get(name);
        let field = fact("field").and_then(Value::as_str);
        AdapterErrorBody {
            code: error.code.0.as_str().map(String::from),
            retryable: error.retryable.0 == Value::Bool(true),
            context: Context {
                status: fact("status")
                    .and_then(Value::as_str)
                    .and_then(OrderStatus::read),
                field: field.filter(|field| is_path(field)).map(String::from),
                available: fact("available")
                    .and_then(Value::as_i64)
                    .filter(|count| *count >= 0),
                available_amount: fact("availableAmount")
                    .and_then(Value::as_str)
                    .filter(|text| is_amount(text))
                    .map(String::from),
                return_status: fact("returnStatus")
                    .and_then(Value::as_str)
                    .and_then(ReturnStatus::read),
            },
        }
    }

    fn refused(&self, status: u16) -> OrderRefusal {
        let reason = self.code.as_deref().and_then(parse_reason);
        let reason = reason.unwrap_or(match status {
            404 => RefusalReason::NotFound,
            _ => RefusalReason::BackendRefused,
        });
        OrderRefusal {
            field: self.context.field.clone(),
            status: self.context.status,
            available: self.context.available,
            available_amount: self.context.available_amount.clone(),
            return_status: self.context.return_status,
            ..reason.into()
        }
    }
}

/// Returns the reason of an identifier. Identifiers that only this server may use are not accepted.
fn parse_reason(code: &str) -> Option<RefusalReason> {
    match RefusalReason::read(code) {
        Some(
            RefusalReason::AdapterUnauthorized
            | RefusalReason::InvalidAdapterResponse
            | RefusalReason::OutcomeUnknown
            | RefusalReason::BackendRefused
            | RefusalReason::WriteTokenRequired
            | RefusalReason::CustomerErased
            | RefusalReason::ScopeRequired,
        ) => None,
        other => other,
    }
}

/// Returns true if a text has the form of the protocol's amounts.
fn is_amount(text: &str) -> bool {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let has_digits = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    has_digits(whole, 15) && has_digits(part, 4)
}

/// Returns true if a text has the form of an argument's path.
fn is_path(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let step = |step: &str| !step.is_empty() && step.bytes().all(plain);
    text.len() <= MAX_FIELD && text.split('.').all(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_names_and_numbers_with_dots() {
        for path in ["order", "order.lineItems.0.sku", "a_b.1"] {
            assert!(is_path(path), "{path}");
        }
        let long = "a".repeat(201);
        for other in ["", ".", "a.", "a b", "a-b", "ä", "a[0]", "/a", &long] {
            assert!(!is_path(other), "{other}");
        }
    }

    #[test]
    fn amount_is_digits_with_at_most_one_point() {
        for amount in ["0", "12.50", "999999999999999.9999"] {
            assert!(is_amount(amount), "{amount}");
        }
        for other in ["", ".", "1.", ".5", "-1", "1.23456", "1,5", "1.2.3", "1e3"] {
            assert!(!is_amount(other), "{other}");
        }
    }

    #[test]
    fn reserved_identifiers_are_not_accepted() {
        assert_eq!(
            parse_reason("ORDER_NOT_FOUND"),
            Some(RefusalReason::OrderNotFound)
        );
        assert_eq!(
            parse_reason("HAZMAT"),
            Some(RefusalReason::Custom(String::from("HAZMAT")))
        );
        for ours in ["WRITE_TOKEN_REQUIRED", "OUTCOME_UNKNOWN", "no", "", "A B"] {
            assert_eq!(parse_reason(ours), None, "{ours}");
        }
    }
}
