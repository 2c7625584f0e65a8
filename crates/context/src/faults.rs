//! Maps failures to codes. Beside `dialect/`, which declares them, no other file names a code.

use crate::dialect::Context;
use crate::dialect::codes;
use crate::failure::{Failure, SourceFlaw, TargetFlaw};
use crate::format::cache_problem::{CacheProblem, CacheProblemKind};
use crate::query::request::Query;
use candor_fault::{Cause, Fault};
use rustix::io::Errno;
use serde_json::Value;
use std::io;

impl Failure {
    /// The failure in the context dialect; what a person may know goes into its cause.
    pub fn fault(&self) -> Fault<Context> {
        let fault = match self {
            Failure::Lookup { .. } | Failure::Root { .. } | Failure::Outside { .. } => {
                codes::CacheMissing.fault()
            }
            Failure::Invalid { problems } => of_problems(problems),
            Failure::System { .. } | Failure::Restless => codes::IoError.fault(),
            Failure::Query(_) => codes::InvalidQuery.fault(),
            Failure::Budget(_) => codes::InvalidBudget.fault(),
            Failure::Sources(flaw) => match flaw {
                SourceFlaw::Name(_)
                | SourceFlaw::Content(..)
                | SourceFlaw::Twins(..)
                | SourceFlaw::Large(..)
                | SourceFlaw::Many => codes::CacheInvalid.fault(),
            },
            Failure::Target(flaw) => match flaw {
                TargetFlaw::Exists(_)
                | TargetFlaw::Foreign(..)
                | TargetFlaw::NoDirectory(_)
                | TargetFlaw::NoName(_) => codes::IoError.fault(),
            },
            Failure::Bug(_) => codes::InternalError.fault(),
        };
        fault.with_cause(Cause::Text(self.to_string()))
    }
}

/// A broken rule of the format outweighs a file that cannot be read: it stays when the file can.
fn of_problems(problems: &[CacheProblem]) -> Fault<Context> {
    match broken_rule(problems) {
        true => codes::CacheInvalid.fault(),
        false => codes::IoError.fault(),
    }
}

/// Whether one of these is more than a file that cannot be read.
pub(crate) fn broken_rule(problems: &[CacheProblem]) -> bool {
    let unreadable =
        |problem: &CacheProblem| matches!(problem.what, CacheProblemKind::Unreadable(_));
    problems.is_empty() || !problems.iter().all(unreadable)
}

/// Why the way to a cache ends early: it is not there, as far as the caller may know, or the system
/// could not look.
pub(crate) fn on_the_way(path: &str, error: Errno) -> Failure {
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

/// Why a file inside a cache cannot be opened: the cache's fault, or the system's.
pub(crate) fn inside(error: Errno) -> CacheProblemKind {
    match error {
        Errno::NOENT => CacheProblemKind::Missing,
        // A link, a file where a directory is meant, a socket or a device, a way out.
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

/// Arguments are judged in a fixed order, the query before the budget. What the schema cannot say
/// about a query (its bytes, a NUL) outweighs what it did say about a budget or an unknown argument.
pub(crate) fn in_order(fault: Fault<Context>, arguments: Option<&str>) -> Fault<Context> {
    if fault.violations().is_empty() || fault.is(codes::CacheMissing) {
        return fault;
    }
    let arguments: Option<Value> = arguments.and_then(|text| serde_json::from_str(text).ok());
    let query = arguments
        .as_ref()
        .and_then(|all| all.get("query")?.as_str());
    match query.map(Query::new) {
        Some(Err(failure)) => failure.fault().with_violations(fault.violations().clone()),
        _ => fault,
    }
}
