//! Converts database errors to failures of a call.

use super::dialect::{DatabaseErrorKind, SqlDialect};
use crate::failure::{Failure, WaitedFor};
use candor_fault::Cause;

/// The error of a step in a transaction.
#[derive(Debug)]
pub(super) enum TransactionError {
    /// Conflict with another transaction: everything was rolled back, and the same transaction may
    /// succeed now.
    Again(Failure),
    Failed(Failure),
}

impl TransactionError {
    /// Returns true if the database or the connection to it is gone.
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
        DatabaseErrorKind::LockWait => TransactionError::Failed(Failure::Waited(WaitedFor::Lock)),
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
