//! Maps failures to codes. Beside `dialect/`, which declares them, no other file names a code.

use crate::dialect::Context;
use crate::dialect::codes;
use crate::failure::{Failure, TargetFlaw};
use crate::format::cache_problem::{CacheProblem, CacheProblemKind};
use crate::format::manifest::MANIFEST;
use crate::query::request::Query;
use candor_fault::{Cause, Fault};
use rustix::io::Errno;
use serde_json::Value;
use std::io;

impl Failure {
    /// Returns the failure as a fault of the context dialect. Its message becomes the cause, which only
    /// the log shows.
    pub fn fault(&self) -> Fault<Context> {
        let fault = match self {
            Failure::Lookup { .. } | Failure::Root { .. } | Failure::Outside { .. } => {
                codes::CacheMissing.fault()
            }
            Failure::Invalid { problems } => of_problems(problems),
            Failure::System { .. }
            | Failure::Write { .. }
            | Failure::NoSources { .. }
            | Failure::SourcesGone { .. }
            | Failure::NoRecord { .. }
            | Failure::NoMatch { .. }
            | Failure::Emptying { .. }
            | Failure::Restless => codes::IoError.fault(),
            Failure::Query(_) => codes::InvalidQuery.fault(),
            Failure::Budget(_) => codes::InvalidBudget.fault(),
            Failure::Sources(_) => codes::CacheInvalid.fault(),
            Failure::Target(flaw) => match flaw {
                TargetFlaw::Exists(_)
                | TargetFlaw::Foreign(..)
                | TargetFlaw::NoDirectory(_)
                | TargetFlaw::NoName(_)
                | TargetFlaw::Sources(_) => codes::IoError.fault(),
            },
            Failure::Bug(_) => codes::InternalError.fault(),
        };
        fault.with_cause(Cause::Text(self.to_string()))
    }
}

/// Returns the fault of an invalid cache. A violated rule of the format outweighs an unreadable file: it
/// remains when the file is readable. Only an unreadable manifest outweighs everything.
fn of_problems(problems: &[CacheProblem]) -> Fault<Context> {
    match breaks_rule(problems) {
        true => codes::CacheInvalid.fault(),
        false => codes::IoError.fault(),
    }
}

/// Returns true if the list is empty or has a problem other than an unreadable file. Without a readable
/// manifest no rule can be checked, so nothing else in the list counts then.
pub(crate) fn breaks_rule(problems: &[CacheProblem]) -> bool {
    let unreadable =
        |problem: &CacheProblem| matches!(problem.kind, CacheProblemKind::Unreadable(_));
    if problems
        .iter()
        .any(|one| one.file == MANIFEST && unreadable(one))
    {
        return false;
    }
    problems.is_empty() || !problems.iter().all(unreadable)
}

/// Returns the failure of a lookup: the cache is missing, as far as the caller may know, or the system
/// could not look it up.
pub(crate) fn lookup_failure(path: &str, error: Errno) -> Failure {
    let path = path.to_owned();
    match error {
        Errno::XDEV => Failure::Outside { path },
        Errno::NOENT
        | Errno::NOTDIR
        | Errno::LOOP
        | Errno::ACCESS
        | Errno::PERM
        | Errno::NAMETOOLONG
        | Errno::INVAL => Failure::Lookup { path, error },
        _ => Failure::System {
            doing: format!("look up `{}`", crate::failure::shown(&path)),
            error: error.into(),
        },
    }
}

/// Returns the problem of a file inside a cache that cannot be opened.
pub(crate) fn problem_kind(error: Errno) -> CacheProblemKind {
    match error {
        Errno::NOENT => CacheProblemKind::Missing,
        // A link, a file in place of a directory, a socket, a device, a path that leads out.
        Errno::LOOP
        | Errno::NOTDIR
        | Errno::ISDIR
        | Errno::NXIO
        | Errno::NODEV
        | Errno::XDEV
        | Errno::INVAL
        | Errno::NAMETOOLONG => CacheProblemKind::NotRegular,
        error => CacheProblemKind::Unreadable(io::Error::from(error).to_string()),
    }
}

/// Applies the fixed order of arguments, the query before the budget: a query that is too long or
/// contains a NUL, which no schema can state, outweighs violations of other arguments.
pub(crate) fn prefer_query_failure(fault: Fault<Context>, arguments: &Value) -> Fault<Context> {
    if fault.violations().is_empty() || fault.is(codes::CacheMissing) {
        return fault;
    }
    let query = arguments.get("query").and_then(Value::as_str);
    match query.map(Query::new) {
        Some(Err(failure)) => failure.fault().with_violations(fault.violations().clone()),
        _ => fault,
    }
}
