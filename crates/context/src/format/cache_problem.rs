//! Problems of the files of a cache.

use crate::failure::shown;
use std::fmt;

/// The most problems that are reported.
pub const MAX_PROBLEMS: usize = 100;

/// A problem of one file of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheProblem {
    /// The file, relative to the cache.
    pub file: String,
    pub kind: CacheProblemKind,
}

/// The kinds of problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheProblemKind {
    Missing,
    /// It is not a regular file, or `documents` is not a directory.
    NotRegular,
    Large,
    /// It is not JSON, or JSON of another shape. Contains the message of the parser.
    Malformed(String),
    /// The manifest has a `build_config` that this reader does not support.
    Unsupported,
    /// `created_at` is not a time of RFC 3339.
    CreatedAt,
    /// `document_count` is not the number of documents.
    Count {
        stated: u64,
        listed: u64,
    },
    /// `cache_version` is not the digest of the listed documents.
    CacheVersion,
    /// The version of this id is not a digest.
    NoVersion(String),
    /// This id is listed twice.
    Twice(String),
    /// This id is smaller than the one before it.
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
    /// No entry of the manifest lists it.
    Unlisted,
    /// It cannot be opened or read. This does not make the cache invalid.
    Unreadable(String),
}

impl CacheProblem {
    pub(crate) fn new(file: impl Into<String>, kind: CacheProblemKind) -> CacheProblem {
        let file = file.into();
        CacheProblem { file, kind }
    }
}

impl fmt::Display for CacheProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", shown(&self.file), self.kind)
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
            CacheProblemKind::CreatedAt => out.write_str("created_at is not an RFC 3339 time"),
            CacheProblemKind::Count { stated, listed } => {
                write!(out, "document_count is {stated}, but {listed} are listed")
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
