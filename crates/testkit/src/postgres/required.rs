//! Servers for tests that cannot run without PostgreSQL.

use super::{Error, Postgres};
use crate::skip;

/// Starts a server on a socket. Returns `None` if PostgreSQL is not installed; the test is then
/// recorded as skipped, and fails under `CI=true`.
pub fn required() -> Option<Postgres> {
    checked(Postgres::start())
}

/// As [`required`], on a port.
pub fn required_tcp() -> Option<Postgres> {
    checked(Postgres::start_tcp())
}

fn checked(started: Result<Postgres, Error>) -> Option<Postgres> {
    match started {
        Ok(server) => Some(server),
        Err(missing @ Error::Missing) => {
            skip(missing);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the server did not start; its log ends: FATAL")]
    fn installed_server_that_does_not_start_is_a_failure() {
        checked(Err(Error::NotStarted("FATAL".into())));
    }
}
