//! What a test does that needs PostgreSQL where there is none: it says so, and fails in CI.

use super::{Error, Postgres};

/// Starts a server on a socket; nothing where PostgreSQL is missing, which fails under `CI=true`.
pub fn required() -> Option<Postgres> {
    checked(Postgres::start())
}

/// As [`required`], on a port.
pub fn required_tcp() -> Option<Postgres> {
    checked(Postgres::start_tcp())
}

fn checked(started: Result<Postgres, Error>) -> Option<Postgres> {
    // The environment is what tells CI from a machine that lacks a part.
    #[allow(clippy::disallowed_methods)]
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    match started {
        Ok(server) => Some(server),
        Err(missing @ Error::Missing) if !in_ci => {
            // Somebody has to see it: the test passes without having tested.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("NOT RUN: {missing}");
            }
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
    fn what_is_there_and_fails_is_a_failure_anywhere() {
        checked(Err(Error::NotStarted("FATAL".into())));
    }
}
