//! Exchanges that came to no answer, told apart by the types of their errors.

use crate::{Failure, Unreachable};
use candor_fault::Cause;
use candor_http_client::ExchangeError;
use serde_json::error::Category;
use std::error::Error;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Broken {
    pub(super) why: Unreachable,
    cause: Cause,
}

impl Broken {
    fn new(why: Unreachable, cause: Cause) -> Broken {
        Broken { why, cause }
    }

    /// A body that is larger than its limit.
    pub(super) fn large() -> Broken {
        Broken::new(Unreachable::TooLarge, Cause::from("more bytes than wanted"))
    }

    pub(super) fn late() -> Broken {
        Broken::new(Unreachable::Timeout, Cause::from("no answer in time"))
    }

    /// An answer that is not what GitHub documents.
    pub(super) fn garbled(what: &'static str, error: &(dyn Error + 'static)) -> Broken {
        Broken::new(Unreachable::Garbled, Cause::error(what, error))
    }

    /// JSON that is none, or of another shape: only where and how, because the library's own words
    /// quote what stands there, which may be somebody's private file.
    pub(super) fn unreadable(error: &serde_json::Error) -> Broken {
        let how = match error.classify() {
            Category::Eof => "ends early",
            Category::Data => "has another shape",
            Category::Syntax | Category::Io => "is no JSON",
        };
        let (line, column) = (error.line(), error.column());
        let cause = format!("the answer {how}, at line {line} column {column}");
        Broken::new(Unreachable::Garbled, Cause::Text(cause))
    }

    pub(super) fn nonsense(what: &'static str) -> Broken {
        Broken::new(Unreachable::Garbled, Cause::from(what))
    }

    pub(super) fn redirect(why: &'static str) -> Broken {
        Broken::new(Unreachable::Redirect, Cause::from(why))
    }
}

impl From<ExchangeError> for Broken {
    fn from(error: ExchangeError) -> Broken {
        let why = match &error {
            ExchangeError::Connect(_) => Unreachable::Connect,
            ExchangeError::Tls(_) => Unreachable::Tls,
            ExchangeError::ConnectionLost(_) => Unreachable::Reset,
            ExchangeError::TimedOut(_) => Unreachable::Timeout,
            ExchangeError::InvalidRequest(_) | ExchangeError::Malformed(_) => Unreachable::Garbled,
            ExchangeError::BodyTooLarge { .. } => return Broken::large(),
        };
        Broken::new(why, Cause::error("HttpError", &error))
    }
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Failure {
        Failure::Unreachable(broken.why, broken.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_answer_is_not_quoted() {
        let cause = |text: &str| {
            let error = serde_json::from_str::<Vec<u8>>(text).unwrap_err();
            Broken::unreadable(&error).cause
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
