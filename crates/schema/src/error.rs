//! The reasons why a schema cannot be enforced.

use jsonschema::ValidationError;
use std::fmt;

/// The most characters of a reason.
const MAX_REASON_CHARS: usize = 512;

/// The reason why a schema was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// The text is not JSON.
    NotJson {
        /// The message of the parser.
        reason: String,
    },
    /// The schema is not a JSON object.
    NotAnObject,
    /// The schema is nested too deeply.
    TooDeep {
        /// The most levels.
        limit: usize,
    },
    /// The schema breaks its metaschema, or holds a pattern or a reference that cannot be used.
    Invalid {
        /// The location, as a JSON pointer into the schema; empty at its root.
        at: String,
        reason: String,
    },
}

impl SchemaError {
    pub(crate) fn not_json(error: &serde_json::Error) -> Self {
        SchemaError::NotJson {
            reason: error.to_string(),
        }
    }

    pub(crate) fn invalid(error: &ValidationError<'_>) -> Self {
        SchemaError::Invalid {
            at: error.instance_path().to_string(),
            reason: crate::violation_collector::cut(&error.to_string(), MAX_REASON_CHARS),
        }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaError::NotJson { reason } => write!(f, "the schema is not JSON: {reason}"),
            SchemaError::NotAnObject => f.write_str("the schema is not a JSON object"),
            SchemaError::TooDeep { limit } => {
                write!(f, "the schema is nested more than {limit} levels deep")
            }
            SchemaError::Invalid { at, reason } if at.is_empty() => {
                write!(f, "the schema is invalid: {reason}")
            }
            SchemaError::Invalid { at, reason } => {
                write!(f, "the schema is invalid at {at}: {reason}")
            }
        }
    }
}

impl std::error::Error for SchemaError {}
