//! Why something is no plan.

use std::fmt;

/// Why a text or an object is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// The text is longer than a plan may be, or would be.
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// The text is no TOML, or has other members than a plan.
    Text {
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// The JSON object has other members than a plan.
    Shape {
        /// What is wrong.
        message: String,
    },
    /// There are more of something than there may be.
    TooMany {
        /// Which member, such as `phase[0].allow`.
        at: String,
        /// How many there may be.
        max: usize,
    },
    /// A text in it is too long.
    TooLong {
        /// Which member, such as `phase[0].allow[1]`.
        at: String,
        /// How many bytes it may have.
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
