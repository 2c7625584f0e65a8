//! What can go wrong with caches and sources, typed, and how it is told to a person. Which code that
//! is, `faults.rs` decides.

use crate::faults::broken_rule;
use crate::format::cache_problem::CacheProblem;
use rustix::io::Errno;
use std::fmt;
use std::io;

/// Why something could not be done.
#[derive(Debug)]
pub enum Failure {
    /// The way to a cache cannot be gone.
    Lookup {
        /// The path that was given.
        path: String,
        /// What the system said.
        error: Errno,
    },
    /// The root cannot be found.
    Root {
        /// The path that was given.
        path: String,
        /// What the system said.
        error: Errno,
    },
    /// The path leads out of the root.
    Outside {
        /// The path that was given.
        path: String,
    },
    /// The cache breaks the rules of its format.
    Invalid {
        /// What is wrong, in a fixed order, the first hundred.
        problems: Vec<CacheProblem>,
    },
    /// Something that is there could not be opened, read or written.
    System {
        /// What was being done, for a person.
        doing: String,
        /// What the system said.
        error: io::Error,
    },
    /// The cache changed again and again while it was read.
    Restless,
    /// The query cannot be used.
    Query(QueryFlaw),
    /// The budget cannot be used.
    Budget(BudgetFlaw),
    /// The sources hold something that no cache can hold.
    Sources(SourceFlaw),
    /// There is something at the target that a build must not replace.
    Target(TargetFlaw),
    /// A rule of ours was broken.
    Bug(&'static str),
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryFlaw {
    /// It has too many bytes.
    Long(usize),
    /// It holds a NUL.
    Nul,
    /// It is not UTF-8.
    NotUtf8,
}

/// What is wrong with a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetFlaw {
    /// It is no whole number from 0 to the maximum.
    NoCount(String),
    /// What it admits, in this cache and with this query, is larger than any answer may be.
    ResponseTooLarge,
}

/// What is wrong with the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceFlaw {
    /// A name is not UTF-8 (shown with replacement characters).
    Name(String),
    /// A content is not UTF-8; the offset of the first wrong byte.
    Content(String, usize),
    /// Two files whose lower-cased paths are equal.
    Twins(String, String),
    /// A content is larger than a document may be.
    Large(String, u64),
    /// There are more files than a cache may list.
    Many,
}

/// What is wrong with the target of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetFlaw {
    /// A cache is there, and nobody asked to replace it.
    Exists(String),
    /// What is there is more than a cache: this name is not one of a cache's.
    Foreign(String, String),
    /// What is there is no directory.
    NoDirectory(String),
    /// The path has no last name (it is empty, `..` or `/`).
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
            // A file that cannot be read says nothing about the cache.
            let about = match broken_rule(problems) {
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

/// A name of somebody else's, safe for a terminal and of bounded length.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 300;
    let mut safe = String::new();
    candor_fault::escape_visible(text.chars().take(MOST), &mut safe);
    if text.chars().nth(MOST).is_some() {
        safe.push('…');
    }
    safe
}
