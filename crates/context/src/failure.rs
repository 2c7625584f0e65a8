//! Failures of caches and sources as types, with their messages. `faults.rs` maps them to codes.

use crate::faults::breaks_rule;
use crate::format::cache_problem::CacheProblem;
use rustix::io::Errno;
use std::fmt;
use std::io;

/// A failure of an operation on caches or sources.
#[derive(Debug)]
pub enum Failure {
    /// The path of a cache cannot be resolved.
    Lookup {
        path: String,
        error: Errno,
    },
    Root {
        path: String,
        error: Errno,
    },
    /// The path leads out of the root.
    Outside {
        path: String,
    },
    /// The cache breaks the rules of its format.
    Invalid {
        /// The first hundred problems, in a fixed order.
        problems: Vec<CacheProblem>,
    },
    /// An existing file could not be opened, read or written.
    System {
        /// The operation, as a verb phrase for the message.
        doing: String,
        error: io::Error,
    },
    /// The cache changed again and again while it was read.
    Restless,
    Query(QueryFlaw),
    Budget(BudgetFlaw),
    /// The sources contain something that a cache cannot contain.
    Sources(SourceFlaw),
    /// The target of a build exists and must not be replaced.
    Target(TargetFlaw),
    /// An internal invariant is violated.
    Bug(&'static str),
}

/// A reason why a query is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryFlaw {
    /// It has this many bytes, which is too many.
    Long(usize),
    Nul,
    NotUtf8,
}

/// A reason why a budget is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetFlaw {
    /// It is not a whole number from 0 to the maximum.
    NoCount(String),
    /// The response within this budget would be larger than allowed.
    ResponseTooLarge,
}

/// A reason why sources are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceFlaw {
    /// A name is not UTF-8. It is shown with replacement characters.
    Name(String),
    /// A content is not UTF-8 from this offset on.
    Content(String, usize),
    /// The lower-cased paths of two files are equal.
    Twins(String, String),
    /// A content has this many bytes, which is too many.
    Large(String, u64),
    Many,
}

/// A reason why the target of a build is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetFlaw {
    /// It exists, and `force` is not set.
    Exists(String),
    /// It contains this name, which is not part of a cache.
    Foreign(String, String),
    /// It exists and is not a directory.
    NoDirectory(String),
    /// The path has no file name: it is empty, `..` or `/`.
    NoName(String),
}

impl Failure {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(Errno) -> Failure {
        let doing = doing.into();
        move |error| Failure::System {
            doing,
            error: error.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Lookup { path, error } => {
                write!(out, "there is no cache at `{}`: {error}", shown(path))
            }
            Failure::Root { path, error } => {
                write!(out, "there is no root at `{}`: {error}", shown(path))
            }
            Failure::Outside { path } => {
                write!(out, "`{}` leads out of the root", shown(path))
            }
            Failure::Invalid { problems } => invalid(problems, out),
            Failure::System { doing, error } => write!(out, "cannot {doing}: {error}"),
            Failure::Restless => out.write_str("the cache kept changing while it was read"),
            Failure::Query(flaw) => fmt::Display::fmt(flaw, out),
            Failure::Budget(flaw) => fmt::Display::fmt(flaw, out),
            Failure::Sources(flaw) => fmt::Display::fmt(flaw, out),
            Failure::Target(flaw) => fmt::Display::fmt(flaw, out),
            Failure::Bug(what) => write!(out, "a bug: {what}"),
        }
    }
}

impl std::error::Error for Failure {}

fn invalid(problems: &[CacheProblem], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match problems {
        [] => out.write_str("the cache is invalid"),
        [first, rest @ ..] => {
            // An unreadable file does not make the cache invalid.
            let about = match breaks_rule(problems) {
                true => "the cache is invalid",
                false => "in the cache",
            };
            write!(out, "{about}: {first}")?;
            match rest.len() {
                0 => Ok(()),
                1 => out.write_str(" (and one more problem)"),
                more => write!(out, " (and {more} more problems)"),
            }
        }
    }
}

impl fmt::Display for QueryFlaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryFlaw::Long(bytes) => write!(
                out,
                "the query has {bytes} bytes; at most {} are allowed",
                crate::MAX_QUERY
            ),
            QueryFlaw::Nul => out.write_str("the query holds a NUL"),
            QueryFlaw::NotUtf8 => out.write_str("the query is not UTF-8"),
        }
    }
}

impl fmt::Display for BudgetFlaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetFlaw::NoCount(text) => write!(
                out,
                "the budget `{}` is no whole number from 0 to {}",
                shown(text),
                crate::MAX_BUDGET
            ),
            BudgetFlaw::ResponseTooLarge => write!(
                out,
                "the answer to this query with this budget would be larger than {} MiB",
                crate::MAX_ANSWER / (1024 * 1024)
            ),
        }
    }
}

impl fmt::Display for SourceFlaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceFlaw::Name(name) => write!(out, "the name `{}` is not UTF-8", shown(name)),
            SourceFlaw::Content(path, at) => {
                write!(out, "`{}` is not UTF-8 from byte {at} on", shown(path))
            }
            SourceFlaw::Twins(one, other) => write!(
                out,
                "`{}` and `{}` would be one document: their names differ in case only",
                shown(one),
                shown(other)
            ),
            SourceFlaw::Large(path, bytes) => write!(
                out,
                "`{}` has {bytes} bytes; a document has at most {}",
                shown(path),
                crate::MAX_CONTENT
            ),
            SourceFlaw::Many => write!(out, "there are more than {} sources", crate::MAX_DOCUMENTS),
        }
    }
}

impl fmt::Display for TargetFlaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetFlaw::Exists(path) => write!(out, "`{}` exists already", shown(path)),
            TargetFlaw::Foreign(path, name) => write!(
                out,
                "`{}` is not replaced: it holds `{}`, which is no file of a cache",
                shown(path),
                shown(name)
            ),
            TargetFlaw::NoDirectory(path) => {
                write!(out, "`{}` exists and is no directory", shown(path))
            }
            TargetFlaw::NoName(path) => {
                write!(out, "`{}` names no directory to create", shown(path))
            }
        }
    }
}

/// Returns a foreign name in a form that is safe for a terminal and of bounded length.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 300;
    let mut safe = String::new();
    candor_fault::escape_invisible_into(text.chars().take(MOST), &mut safe);
    if text.chars().nth(MOST).is_some() {
        safe.push('…');
    }
    safe
}
