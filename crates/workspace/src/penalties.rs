//! The penalties of failures for the session.

use crate::failure::{Failure, PlanFailure};
use crate::notes::Penalty;
use crate::path::PathError;
use crate::plan::ScopeError;
use crate::reading::ReadError;

impl Failure {
    /// Returns the penalty of the failure for the session.
    pub(crate) fn penalty(&self) -> Penalty {
        match self {
            Failure::Protected(_) => Penalty::Lock,
            Failure::BrokenInvariant(_) => Penalty::LockForPerson,
            Failure::OtherRole { locked: false, .. }
            | Failure::Plan(PlanFailure::Scope(
                ScopeError::UnknownPhase { .. }
                | ScopeError::Target { .. }
                | ScopeError::Operation { .. }
                | ScopeError::Glob { .. },
            ))
            | Failure::Read(ReadError::Denied { .. }) => Penalty::Strike,
            Failure::Path(error) | Failure::Read(ReadError::Path(error)) => match error {
                PathError::Traversal | PathError::Outside { typed: true } => Penalty::Strike,
                _ => Penalty::None,
            },
            _ => Penalty::None,
        }
    }
}
