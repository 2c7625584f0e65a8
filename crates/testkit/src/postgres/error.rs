//! Why there is no server.

use std::path::Path;
use std::{fmt, io};

/// Why a server did not start.
#[derive(Debug)]
pub enum Error {
    /// PostgreSQL is not installed on this machine.
    Missing,
    /// The system refused something.
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The cluster that servers start from could not be made; what was said about it.
    NotMade(String),
    /// The server ended, or said nothing for too long; the end of its log.
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

/// Says what was being done to a file or a folder when the system refused.
pub(super) fn doing(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let doing = format!("{what} {}", path.display());
    move |cause| Error::io(doing, cause)
}
