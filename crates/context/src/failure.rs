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
    /// A file of a cache could not be written.
    Write {
        /// The path of the cache. Empty until the failure is returned to a caller that has chosen it.
        cache: String,
        error: io::Error,
    },
    /// The directory of the sources cannot be opened.
    NoSources {
        path: String,
        error: Errno,
    },
    /// The directory of the sources that a build has recorded cannot be opened.
    SourcesGone {
        path: String,
        /// The file that names the directory.
        record: String,
        error: Errno,
    },
    /// A cache has no usable record of its build.
    NoRecord {
        cache: String,
        reason: String,
    },
    /// No file below the sources matches the globs that were given.
    NoMatch {
        globs: Vec<String>,
    },
    /// An update would remove too many documents.
    Emptying {
        removed: usize,
        documents: usize,
        /// The path of the sources.
        sources: String,
    },
    /// The cache changed again and again while it was read.
    Restless,
    Query(QueryFlaw),
    Budget(BudgetFlaw),
    /// The sources contain files that cannot be documents, in the order of their paths.
    Sources(Vec<SourceFlaw>),
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
    /// The first file would have the same id as the second one.
    SameId(String, String),
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
    /// The sources are the target, or inside it.
    Sources(String),
    /// The directory that would hold it does not exist.
    NoParent(String),
}

impl Failure {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(Errno) -> Failure {
        let doing = doing.into();
        move |error| Failure::System {
            doing,
            error: error.into(),
        }
    }

    /// Returns the failure to write a file of a cache.
    pub(crate) fn unwritten(error: impl Into<io::Error>) -> Failure {
        Failure::Write {
            cache: String::new(),
            error: error.into(),
        }
    }

    /// Returns true if a cache breaks a rule of its format, so that only a new build repairs it.
    pub fn is_invalid_cache(&self) -> bool {
        matches!(self, Failure::Invalid { problems } if breaks_rule(problems))
    }

    /// Adds the path of the cache that could not be written.
    pub(crate) fn in_cache(self, path: &str) -> Failure {
        match self {
            Failure::Write { cache, error } if cache.is_empty() => Failure::Write {
                cache: path.to_owned(),
                error,
            },
            other => other,
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
            Failure::Write { cache, error } => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    write!(out, "the disk of `{}` is full", shown(cache))
                }
                _ => write!(out, "cannot write `{}`: {error}", shown(cache)),
            },
            Failure::NoSources { path, error } => {
                write!(out, "cannot open the sources `{}`: {error}", shown(path))
            }
            Failure::SourcesGone {
                path,
                record,
                error,
            } => write!(
                out,
                "cannot open the sources `{}`, which `{}` names: {error}",
                shown(path),
                shown(record)
            ),
            Failure::NoRecord { cache, reason } => {
                write!(
                    out,
                    "build.json of `{}` cannot be used: {reason}",
                    shown(cache)
                )
            }
            Failure::NoMatch { globs } => no_match(globs, out),
            Failure::Emptying {
                removed,
                documents,
                sources,
            } => write!(
                out,
                "the update would remove {removed} of {documents} documents, because their sources are not in `{}` any more",
                shown(sources)
            ),
            Failure::Restless => out.write_str("the cache kept changing while it was read"),
            Failure::Query(flaw) => fmt::Display::fmt(flaw, out),
            Failure::Budget(flaw) => fmt::Display::fmt(flaw, out),
            Failure::Sources(flaws) => flawed(flaws, out),
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

fn no_match(globs: &[String], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    const MOST: usize = 5;
    out.write_str("no file below the sources matches ")?;
    for (number, glob) in globs.iter().take(MOST).enumerate() {
        let before = if number == 0 { "" } else { ", " };
        write!(out, "{before}`{}`", shown(glob))?;
    }
    match globs.len().checked_sub(MOST) {
        None | Some(0) => Ok(()),
        Some(more) => write!(out, " and {more} more globs"),
    }
}

/// The most files that are named in a message.
const MOST_FLAWS: usize = 20;

fn flawed(flaws: &[SourceFlaw], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let [flaw] = flaws {
        return fmt::Display::fmt(flaw, out);
    }
    write!(out, "{} files cannot be documents:", flaws.len())?;
    for flaw in flaws.iter().take(MOST_FLAWS) {
        write!(out, "\n  {flaw}")?;
    }
    match flaws.len().checked_sub(MOST_FLAWS) {
        None | Some(0) => Ok(()),
        Some(more) => write!(out, "\n  and {more} more"),
    }
}

impl SourceFlaw {
    /// Returns the path below the sources.
    pub fn path(&self) -> &str {
        match self {
            SourceFlaw::Name(path)
            | SourceFlaw::Content(path, _)
            | SourceFlaw::SameId(path, _)
            | SourceFlaw::Large(path, _) => path,
            SourceFlaw::Many => "",
        }
    }

    /// Returns the name of the problem in the output of a build.
    pub fn problem(&self) -> &'static str {
        match self {
            SourceFlaw::Name(_) => "name_not_utf8",
            SourceFlaw::Content(..) => "not_utf8",
            SourceFlaw::SameId(..) => "same_id",
            SourceFlaw::Large(..) => "too_large",
            SourceFlaw::Many => "too_many",
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
            SourceFlaw::SameId(one, other) => {
                let reason = match one.to_lowercase() == other.to_lowercase() {
                    true => "their names differ in case only",
                    false => r"a `\` in a name counts as a `/`",
                };
                let (one, other) = (shown(one), shown(other));
                write!(
                    out,
                    "`{one}` would be the same document as `{other}`: {reason}"
                )
            }
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
            TargetFlaw::Sources(path) => {
                write!(out, "`{}` contains the sources", shown(path))
            }
            TargetFlaw::NoParent(path) => {
                write!(out, "there is no directory `{}`", shown(path))
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
