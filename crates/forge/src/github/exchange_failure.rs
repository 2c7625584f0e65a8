//! Exchanges without a usable response.

use crate::{Failure, UnreachableReason};
use candor_fault::Cause;
use candor_http_client::ExchangeError;
use serde_json::error::Category;
use std::error::Error;

/// The reason why there is no usable response.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExchangeFailure {
    pub(super) why: UnreachableReason,
    cause: Cause,
}

impl ExchangeFailure {
    fn new(why: UnreachableReason, cause: Cause) -> ExchangeFailure {
        ExchangeFailure { why, cause }
    }

    /// Returns the failure for a body that is larger than its limit.
    pub(super) fn large() -> ExchangeFailure {
        ExchangeFailure::new(
            UnreachableReason::TooLarge,
            Cause::from("more bytes than wanted"),
        )
    }

    pub(super) fn late() -> ExchangeFailure {
        ExchangeFailure::new(UnreachableReason::Timeout, Cause::from("no answer in time"))
    }

    /// Returns the failure for a response that differs from GitHub's documentation.
    pub(super) fn garbled(what: &'static str, error: &(dyn Error + 'static)) -> ExchangeFailure {
        ExchangeFailure::new(UnreachableReason::Garbled, Cause::error(what, error))
    }

    /// Returns the failure for a body that is not the expected JSON. It contains only position and kind,
    /// because the library's message quotes the text, which may be a private file.
    pub(super) fn unreadable(error: &serde_json::Error) -> ExchangeFailure {
        let how = match error.classify() {
            Category::Eof => "ends early",
            Category::Data => "has another shape",
            Category::Syntax | Category::Io => "is no JSON",
        };
        let (line, column) = (error.line(), error.column());
        let cause = format!("the answer {how}, at line {line} column {column}");
        ExchangeFailure::new(UnreachableReason::Garbled, Cause::Text(cause))
    }

    pub(super) fn nonsense(what: &'static str) -> ExchangeFailure {
        ExchangeFailure::new(UnreachableReason::Garbled, Cause::from(what))
    }

    pub(super) fn redirect(why: &'static str) -> ExchangeFailure {
        ExchangeFailure::new(UnreachableReason::Redirect, Cause::from(why))
    }
}

impl From<ExchangeError> for ExchangeFailure {
    fn from(error: ExchangeError) -> ExchangeFailure {
        let why = match &error {
            ExchangeError::Connect(_) => UnreachableReason::Connect,
            ExchangeError::Tls(_) => UnreachableReason::Tls,
            ExchangeError::ConnectionLost(_) => UnreachableReason::Reset,
            ExchangeError::TimedOut(_) => UnreachableReason::Timeout,
            ExchangeError::InvalidRequest(_) | ExchangeError::Malformed(_) => {
                UnreachableReason::Garbled
            }
            ExchangeError::BodyTooLarge { .. } => return ExchangeFailure::large(),
        };
        ExchangeFailure::new(why, Cause::error("HttpError", &error))
    }
}

impl From<ExchangeFailure> for Failure {
    fn from(broken: ExchangeFailure) -> Failure {
        Failure::Unreachable(broken.why, broken.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_answer_is_not_quoted() {
        let cause = |text: &str| {
            let error = serde_json::from_str::<Vec<u8>>(text).unwrap_err();
            ExchangeFailure::unreadable(&error).cause
        };
        let said = |text: &str| Cause::from(text);
        assert_eq!(
            cause(r#"["secret"]"#),
            said("the answer has another shape, at line 1 column 9")
        );
        assert_eq!(
            cause("[1,"),
            said("the answer ends early, at line 1 column 3")
        );
        assert_eq!(
            cause("<"),
            said("the answer is no JSON, at line 1 column 1")
        );
    }
}
