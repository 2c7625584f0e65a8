//! What an error of the database means for a call.

use super::dialect::{Speaks, Verdict};
use crate::Failure;
use candor_fault::Cause;

/// How a step of a transaction ended badly.
#[derive(Debug)]
pub(super) enum Ended {
    /// Two transactions were in each other's way: everything was taken back, and the same transaction
    /// may pass now.
    Again(Failure),
    /// It failed.
    Failed(Failure),
}

impl Ended {
    /// Whether the database, or the connection to it, is not there.
    pub(super) fn is_unavailable(&self) -> bool {
        matches!(self, Ended::Failed(Failure::Unavailable(..)))
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Ended::Failed(failure)
    }
}

impl From<Ended> for Failure {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Again(failure) | Ended::Failed(failure) => failure,
        }
    }
}

/// What this error means.
pub(super) fn ended(error: sqlx::Error, speaks: Speaks) -> Ended {
    let cause = Some(Box::new(Cause::error("DatabaseError", &error)));
    let verdict = match &error {
        sqlx::Error::Database(error) => speaks.verdict(error.as_ref()),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Verdict::Unavailable,
        _ => Verdict::Bug,
    };
    match verdict {
        Verdict::Again => Ended::Again(Failure::Unavailable(None, cause)),
        Verdict::TooLong => Ended::Failed(Failure::TimedOut(cause)),
        Verdict::Unavailable => Ended::Failed(Failure::Unavailable(None, cause)),
        Verdict::Bug => {
            let cause = Box::new(Cause::error("DatabaseError", &error));
            Ended::Failed(Failure::Broken("the database refused a statement", cause))
        }
    }
}
