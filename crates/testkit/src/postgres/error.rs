//! The reasons why a server does not start.

use std::path::Path;
use std::{fmt, io};

/// The reason why a server did not start.
#[derive(Debug)]
pub enum Error {
    /// PostgreSQL is not installed on this machine.
    Missing,
    /// The operating system returned an error.
    Io {
        /// The attempted action.
        doing: String,
        cause: io::Error,
    },
    /// The template could not be created; with the output of `initdb`.
    NotMade(String),
    /// The server ended, or was not ready in time; with the end of its log.
    NotStarted(String),
}

impl Error {
    pub(super) fn io(doing: String, cause: io::Error) -> Error {
        Error::Io { doing, cause }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Missing => out.write_str(
                "PostgreSQL was not found: install it (Debian: postgresql), \
                 or put `initdb` and `postgres` on the PATH",
            ),
            Error::Io { doing, cause } => write!(out, "{doing}: {cause}"),
            Error::NotMade(why) => write!(out, "the cluster could not be made: {why}"),
            Error::NotStarted(log) => write!(out, "the server did not start; its log ends: {log}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { cause, .. } => Some(cause),
            Error::Missing | Error::NotMade(_) | Error::NotStarted(_) => None,
        }
    }
}

/// Adds the attempted action and the path to an error.
pub(super) fn doing(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let doing = format!("{what} {}", path.display());
    move |cause| Error::io(doing, cause)
}
