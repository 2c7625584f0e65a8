//! What can be wrong inside a cache: one file, one problem.

use crate::failure::shown;
use std::fmt;

/// How many problems are told at most.
pub const MAX_PROBLEMS: usize = 100;

/// Something wrong with one file of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheProblem {
    /// The file, relative to the cache.
    pub file: String,
    /// What is wrong with it.
    pub what: CacheProblemKind,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheProblemKind {
    /// It is not there.
    Missing,
    /// It is something else than a regular file, or than a directory where one is meant.
    NotRegular,
    /// It is larger than such a file may be.
    Large,
    /// It is no JSON, or JSON of another shape: where, and what was expected.
    Malformed(String),
    /// The manifest asks for rules that this reader does not know.
    Unsupported,
    /// `document_count` is not the number of documents.
    Count {
        /// What is written.
        said: u64,
        /// What is listed.
        listed: u64,
    },
    /// `cache_version` is not the digest of what is listed.
    CacheVersion,
    /// A listed version is no digest.
    NoVersion(String),
    /// This id is listed twice.
    Twice(String),
    /// This id stands before one that is smaller.
    Order(String),
    /// A `file` that is not a name in `documents/`.
    Pointer(String),
    /// The index lacks this id, or has another file for it.
    IndexDiffers(String),
    /// The index has this id, which the manifest has not.
    IndexSurplus(String),
    /// The document has another id than its entry.
    OtherId,
    /// The document has another version than its entry.
    OtherVersion,
    /// The content does not hash to the version.
    Content,
    /// Nobody lists it.
    Unlisted,
    /// It cannot be opened or read: what the system said. Not the cache's fault.
    Unreadable(String),
}

impl CacheProblem {
    pub(crate) fn new(file: impl Into<String>, what: CacheProblemKind) -> CacheProblem {
        let file = file.into();
        CacheProblem { file, what }
    }
}

impl fmt::Display for CacheProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", shown(&self.file), self.what)
    }
}

impl fmt::Display for CacheProblemKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheProblemKind::Missing => out.write_str("missing"),
            CacheProblemKind::NotRegular => out.write_str("not of the right kind"),
            CacheProblemKind::Large => out.write_str("too large"),
            CacheProblemKind::Malformed(why) => write!(out, "malformed: {}", shown(why)),
            CacheProblemKind::Unsupported => {
                out.write_str("build_config is not one that can be read here")
            }
            CacheProblemKind::Count { said, listed } => {
                write!(out, "document_count is {said}, but {listed} are listed")
            }
            CacheProblemKind::CacheVersion => {
                out.write_str("cache_version does not match what is listed")
            }
            CacheProblemKind::NoVersion(id) => {
                write!(out, "the version of `{}` is no digest", shown(id))
            }
            CacheProblemKind::Twice(id) => write!(out, "the id `{}` is listed twice", shown(id)),
            CacheProblemKind::Order(id) => write!(out, "the id `{}` is out of order", shown(id)),
            CacheProblemKind::Pointer(file) => {
                write!(out, "`{}` is not a name in documents/", shown(file))
            }
            CacheProblemKind::IndexDiffers(id) => {
                write!(
                    out,
                    "the manifest says something else about `{}`",
                    shown(id)
                )
            }
            CacheProblemKind::IndexSurplus(id) => {
                write!(out, "the manifest has no `{}`", shown(id))
            }
            CacheProblemKind::OtherId => out.write_str("it holds a document with another id"),
            CacheProblemKind::OtherVersion => {
                out.write_str("it holds another version of the document")
            }
            CacheProblemKind::Content => out.write_str("the content does not hash to its version"),
            CacheProblemKind::Unlisted => out.write_str("no entry of the manifest lists it"),
            CacheProblemKind::Unreadable(why) => write!(out, "cannot be read: {why}"),
        }
    }
}
