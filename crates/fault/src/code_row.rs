//! The rows of a registry: everything that is promised about a code.

use crate::{Class, Effect, Retry};
use serde::{Serialize, Serializer};
use std::fmt;

/// A code as it is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum CodeValue {
    Text(&'static str),
    Number(i32),
}

impl CodeValue {
    /// Returns the code if it is a word, else the empty string.
    pub const fn text(self) -> &'static str {
        match self {
            CodeValue::Text(text) => text,
            CodeValue::Number(_) => "",
        }
    }

    /// Returns the code if it is a number, else 0.
    pub const fn number(self) -> i32 {
        match self {
            CodeValue::Text(_) => 0,
            CodeValue::Number(number) => number,
        }
    }
}

impl CodeValue {
    /// Returns true if `text` is this code, in upper or lower case.
    pub fn is_written_as(self, text: &str) -> bool {
        match self {
            CodeValue::Text(code) => code.eq_ignore_ascii_case(text),
            // A number can be written in several ways (`+1`, `01`); only the plain one counts.
            CodeValue::Number(code) => text.parse() == Ok(code) && code.to_string() == text,
        }
    }
}

impl fmt::Display for CodeValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeValue::Text(text) => out.write_str(text),
            CodeValue::Number(number) => write!(out, "{number}"),
        }
    }
}

/// An answer that a row fixes for all failures of its code, or that each failure gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowValue<T> {
    Fixed(T),
    PerFault,
}

impl<T: Copy> RowValue<T> {
    /// Returns the fixed answer, or the given one.
    pub const fn or(self, given: T) -> T {
        match self {
            RowValue::Fixed(fixed) => fixed,
            RowValue::PerFault => given,
        }
    }
}

impl<T: Serialize> Serialize for RowValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RowValue::Fixed(fixed) => fixed.serialize(serializer),
            RowValue::PerFault => serializer.serialize_str("said_by_each_failure"),
        }
    }
}

/// A word below a code that is contract too: an `originalError`, an invariant id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub name: &'static str,
    pub meaning: &'static str,
}

/// Everything that is promised about one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CodeRow {
    /// The name of the registry. Dialect and code together are the key.
    pub dialect: &'static str,
    pub code: CodeValue,
    /// The name for people and for metrics.
    pub name: &'static str,
    pub meaning: &'static str,
    /// The default message of a failure.
    pub message: &'static str,
    pub class: Class,
    pub retry: RowValue<Retry>,
    pub effect: RowValue<Effect>,
    /// One sentence about what the caller should do.
    pub remedy: &'static str,
    /// The category of the orders dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<&'static str>,
    /// The exit code of the command line, if the dialect has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
    /// A frozen row never changes again.
    pub frozen: bool,
    /// The words below this code.
    #[serde(skip_serializing_if = "<[Reason]>::is_empty")]
    pub reasons: &'static [Reason],
}

impl CodeRow {
    /// Returns true if both rows describe the same code of the same dialect.
    pub fn has_key_of(&self, other: &CodeRow) -> bool {
        self.code == other.code && self.dialect == other.dialect
    }
}

/// The closed set of codes of one registry.
pub trait Code: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    fn rows() -> &'static [CodeRow];
    /// Returns every code, in the order of the rows.
    fn all() -> &'static [Self];
    fn row(self) -> &'static CodeRow;
}
