//! What an error of the database means for a call.

use super::dialect::{DatabaseErrorKind, SqlDialect};
use crate::failure::Failure;
use candor_fault::Cause;

/// How a step of a transaction ended badly.
#[derive(Debug)]
pub(super) enum TransactionError {
    /// Two transactions were in each other's way: everything was taken back, and the same transaction
    /// may pass now.
    Again(Failure),
    /// It failed.
    Failed(Failure),
}

impl TransactionError {
    /// Whether the database, or the connection to it, is not there.
    pub(super) fn is_unavailable(&self) -> bool {
        matches!(self, TransactionError::Failed(Failure::Unavailable(..)))
    }
}

impl From<Failure> for TransactionError {
    fn from(failure: Failure) -> Self {
        TransactionError::Failed(failure)
    }
}

impl From<TransactionError> for Failure {
    fn from(ended: TransactionError) -> Self {
        match ended {
            TransactionError::Again(failure) | TransactionError::Failed(failure) => failure,
        }
    }
}

/// What this error means.
pub(super) fn to_transaction_error(error: sqlx::Error, dialect: SqlDialect) -> TransactionError {
    let cause = Some(Box::new(Cause::error("DatabaseError", &error)));
    let classify = match &error {
        sqlx::Error::Database(error) => dialect.classify(error.as_ref()),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => DatabaseErrorKind::Unavailable,
        _ => DatabaseErrorKind::Bug,
    };
    match classify {
        DatabaseErrorKind::Again => TransactionError::Again(Failure::Unavailable(None, cause)),
        DatabaseErrorKind::TooLong => TransactionError::Failed(Failure::TimedOut(cause)),
        DatabaseErrorKind::Unavailable => {
            TransactionError::Failed(Failure::Unavailable(None, cause))
        }
        DatabaseErrorKind::Bug => {
            let cause = Box::new(Cause::error("DatabaseError", &error));
            TransactionError::Failed(Failure::Internal("the database refused a statement", cause))
        }
    }
}
