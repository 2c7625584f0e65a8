//! Exchanges that came to no answer, told apart by the types of their errors.

use crate::{Failure, Unreachable};
use candor_fault::Cause;
use hyper_util::client::legacy;
use serde_json::error::Category;
use std::error::Error;
use std::io;

/// How many errors below an error are looked at.
const CHAIN_MAX: usize = 16;

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

    /// A request that could not be sent, or an answer whose head did not come.
    pub(super) fn sending(error: &legacy::Error) -> Broken {
        let why = match error.is_connect() {
            true if any(error, |below| below.is::<rustls::Error>()) => Unreachable::Tls,
            true => Unreachable::Connect,
            false => by_type(error),
        };
        Broken::new(why, Cause::error("HttpError", error))
    }

    /// An answer whose body did not come.
    pub(super) fn reading(error: &hyper::Error) -> Broken {
        Broken::new(by_type(error), Cause::error("HttpError", error))
    }

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

    /// Whether it is certain that nothing was sent.
    pub(super) fn unsent(&self) -> bool {
        matches!(self.why, Unreachable::Connect | Unreachable::Tls)
    }
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Failure {
        Failure::Unreachable(broken.why, broken.cause)
    }
}

/// After the connection stood.
fn by_type(error: &(dyn Error + 'static)) -> Unreachable {
    let says =
        |ask: fn(&hyper::Error) -> bool| any(error, |below| below.downcast_ref().is_some_and(ask));
    let late = |below: &(dyn Error + 'static)| {
        let error: Option<&io::Error> = below.downcast_ref();
        error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
    };
    if says(hyper::Error::is_timeout) || any(error, late) {
        Unreachable::Timeout
    } else if says(hyper::Error::is_parse) {
        Unreachable::Garbled
    } else {
        Unreachable::Reset
    }
}

/// Whether anything in a chain of errors is so. An error inside an `io::Error` is not its source.
fn any(error: &(dyn Error + 'static), is: impl Fn(&(dyn Error + 'static)) -> bool) -> bool {
    let mut below = Some(error);
    for _ in 0..CHAIN_MAX {
        let Some(error) = below else { break };
        if is(error) {
            return true;
        }
        let inside = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        below = match inside {
            Some(inside) => Some(inside),
            None => error.source(),
        };
    }
    false
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

    #[test]
    fn what_stands_inside_of_a_system_error_is_found() {
        let inside = io::Error::other(io::Error::other(rustls::Error::DecryptError));
        assert!(any(&inside, |below| below.is::<rustls::Error>()));
        assert!(!any(&io::Error::other("x"), |below| below.is::<rustls::Error>()));
        let late = io::Error::other(io::Error::from(io::ErrorKind::TimedOut));
        assert_eq!(by_type(&late), Unreachable::Timeout);
    }
}
