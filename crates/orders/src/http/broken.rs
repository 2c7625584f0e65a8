//! Exchanges that came to no whole answer, told apart by the types of their errors.

use candor_fault::Cause;
use hyper_util::client::legacy;
use std::error::Error;
use std::io;

/// How many errors below an error are looked at.
const CHAIN_MAX: usize = 16;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Broken {
    /// No connection stood: nothing was sent.
    Unsent(Cause),
    /// The connection was lost after something was sent.
    Lost(Cause),
    /// The other side gave up waiting, or let us wait too long.
    Late(Cause),
    /// What came is no HTTP.
    Garbled(Cause),
    /// The answer has more bytes than are read.
    TooLarge,
}

impl Broken {
    /// A request that could not be sent, or an answer whose head did not come.
    pub(super) fn sending(error: &legacy::Error) -> Broken {
        let cause = Cause::error("HttpError", error);
        match error.is_connect() {
            true => Broken::Unsent(cause),
            false => Broken::by_type(error, cause),
        }
    }

    /// An answer whose body did not come.
    pub(super) fn reading(error: &hyper::Error) -> Broken {
        Broken::by_type(error, Cause::error("HttpError", error))
    }

    fn by_type(error: &(dyn Error + 'static), cause: Cause) -> Broken {
        let says = |ask: fn(&hyper::Error) -> bool| {
            any(error, |below| below.downcast_ref().is_some_and(ask))
        };
        let late = |below: &(dyn Error + 'static)| {
            let error: Option<&io::Error> = below.downcast_ref();
            error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
        };
        if says(hyper::Error::is_timeout) || any(error, late) {
            Broken::Late(cause)
        } else if says(hyper::Error::is_parse) {
            Broken::Garbled(cause)
        } else {
            Broken::Lost(cause)
        }
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
    fn a_timeout_inside_of_a_system_error_is_found() {
        let late = io::Error::other(io::Error::from(io::ErrorKind::TimedOut));
        let cause = Cause::from("x");
        assert_eq!(Broken::by_type(&late, cause.clone()), Broken::Late(cause));
    }
}
