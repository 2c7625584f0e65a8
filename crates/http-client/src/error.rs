//! Errors of the client, told apart by the types of the errors below them.

use crate::public_address::PrivateAddress;
use hyper_util::client::legacy;
use std::error::Error;
use std::{fmt, io};

/// The number of errors in a chain that are examined.
const MAX_CHAIN: usize = 16;

/// The error of the HTTP library that caused an [`ExchangeError`].
pub type ErrorSource = Box<dyn Error + Send + Sync>;

/// The reason why a client cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpSetupError {
    /// The text is not a URL that routes can be appended to.
    InvalidUrl,
    /// The URL is not encrypted and not on this machine.
    Unencrypted,
    /// The system has no certificates to trust.
    NoCertificates,
    /// The TLS library rejects its configuration.
    Tls,
}

/// The reason why a request has no complete response.
#[derive(Debug)]
pub enum ExchangeError {
    /// The request could not be built. Nothing was sent.
    InvalidRequest(ErrorSource),
    /// No connection was established. Nothing was sent.
    Connect(ErrorSource),
    /// The server's certificate or its TLS was rejected. Nothing was sent.
    Tls(ErrorSource),
    /// The connection was lost after something was sent.
    ConnectionLost(ErrorSource),
    /// The server or the system gave up waiting.
    TimedOut(ErrorSource),
    /// The response is not HTTP.
    Malformed(ErrorSource),
    /// The body is larger than the limit.
    BodyTooLarge { limit: u64 },
}

impl ExchangeError {
    /// Returns true if it is certain that nothing was sent.
    pub fn is_unsent(&self) -> bool {
        matches!(
            self,
            ExchangeError::InvalidRequest(_) | ExchangeError::Connect(_) | ExchangeError::Tls(_)
        )
    }

    /// Returns true if a host was refused because it has no public address.
    pub fn is_private_address(&self) -> bool {
        let is_private = |error: &(dyn Error + 'static)| error.is::<PrivateAddress>();
        matches!(self, ExchangeError::Connect(source) if chain_contains(&**source, is_private))
    }

    /// Classifies an error that came instead of a response's head.
    pub(crate) fn from_request(error: legacy::Error) -> ExchangeError {
        match error.is_connect() {
            true if chain_contains(&error, |error| error.is::<rustls::Error>()) => {
                ExchangeError::Tls(error.into())
            }
            true => ExchangeError::Connect(error.into()),
            false => ExchangeError::after_connect(error.into()),
        }
    }

    /// Classifies an error on an established connection.
    pub(crate) fn after_connect(error: ErrorSource) -> ExchangeError {
        let chain: &(dyn Error + 'static) = &*error;
        let is_hyper = |predicate: fn(&hyper::Error) -> bool| {
            chain_contains(chain, |error| error.downcast_ref().is_some_and(predicate))
        };
        let is_io_timeout = |error: &(dyn Error + 'static)| {
            let error: Option<&io::Error> = error.downcast_ref();
            error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
        };
        if is_hyper(hyper::Error::is_timeout) || chain_contains(chain, is_io_timeout) {
            ExchangeError::TimedOut(error)
        } else if is_hyper(hyper::Error::is_parse) {
            ExchangeError::Malformed(error)
        } else {
            ExchangeError::ConnectionLost(error)
        }
    }
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExchangeError::InvalidRequest(source)
            | ExchangeError::Connect(source)
            | ExchangeError::Tls(source)
            | ExchangeError::ConnectionLost(source)
            | ExchangeError::TimedOut(source)
            | ExchangeError::Malformed(source) => source.fmt(out),
            ExchangeError::BodyTooLarge { limit } => {
                write!(out, "the body is larger than {limit} bytes")
            }
        }
    }
}

impl Error for ExchangeError {
    // `Display` prints the source itself, so the chain goes on below it.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ExchangeError::InvalidRequest(source)
            | ExchangeError::Connect(source)
            | ExchangeError::Tls(source)
            | ExchangeError::ConnectionLost(source)
            | ExchangeError::TimedOut(source)
            | ExchangeError::Malformed(source) => source.source(),
            ExchangeError::BodyTooLarge { .. } => None,
        }
    }
}

/// Returns true if an error of a chain matches. An error inside an `io::Error` is not its source.
fn chain_contains(
    error: &(dyn Error + 'static),
    predicate: impl Fn(&(dyn Error + 'static)) -> bool,
) -> bool {
    let mut next = Some(error);
    for _ in 0..MAX_CHAIN {
        let Some(error) = next else { break };
        if predicate(error) {
            return true;
        }
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_inside_io_error_is_found() {
        let nested = io::Error::other(io::Error::other(rustls::Error::DecryptError));
        assert!(chain_contains(&nested, |error| error.is::<rustls::Error>()));
        let plain = io::Error::other("x");
        assert!(!chain_contains(&plain, |error| error.is::<rustls::Error>()));
    }

    #[test]
    fn timeout_inside_io_error_is_a_timeout() {
        let error = io::Error::other(io::Error::from(io::ErrorKind::TimedOut));
        let error = ExchangeError::after_connect(error.into());
        assert!(matches!(error, ExchangeError::TimedOut(_)), "{error:?}");
    }
}
