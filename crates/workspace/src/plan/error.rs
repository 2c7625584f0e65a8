//! The reason why something is not a plan.

use std::fmt;

/// The reason why a text or an object is not a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// The text is longer than a plan may be, or would be.
    TooLarge { bytes: usize, max: usize },
    /// The text is not TOML, or has other members than a plan.
    Text {
        /// The line, from 1, if it is known.
        line: Option<usize>,
        message: String,
    },
    /// The JSON object has other members than a plan.
    Shape { message: String },
    /// There are more of something than there may be.
    TooMany {
        /// The path of the member, such as `phase[0].allow`.
        at: String,
        max: usize,
    },
    /// A text in it is too long.
    TooLong {
        /// The path of the member, such as `phase[0].allow[1]`.
        at: String,
        /// The maximum size of it, in bytes.
        max: usize,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::TooLarge { bytes, max } => {
                write!(out, "the plan has {bytes} bytes, more than {max}: split it")
            }
            PlanError::Text {
                line: Some(line),
                message,
            } => write!(out, "line {line}: {message}"),
            PlanError::Text {
                line: None,
                message,
            }
            | PlanError::Shape { message } => out.write_str(message),
            PlanError::TooMany { at, max } => write!(out, "{at} has more than {max} items"),
            PlanError::TooLong { at, max } => write!(out, "{at} is longer than {max} bytes"),
        }
    }
}

impl std::error::Error for PlanError {}
