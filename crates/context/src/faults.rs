//! Maps failures to codes. Beside `dialect/`, which declares them, no other file names a code.

use crate::dialect::v1::{ContextV1, ResourceFlaw, codes as v1};
use crate::dialect::{Context, codes};
use crate::failure::{Failure, TargetFlaw};
use crate::format::cache_problem::{CacheProblem, CacheProblemKind};
use crate::format::manifest::MANIFEST;
use crate::query::request::Query;
use crate::read::failure::{ReadFailure, UnknownCache, UnknownDocument};
use crate::read::violations::{ambiguous_id, mixed_tokenizers, one};
use candor_fault::{Cause, ClientText, Fault};
use candor_street::JsonRef;
use rustix::io::Errno;
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
                | TargetFlaw::Sources(_)
                | TargetFlaw::NoParent(_) => codes::IoError.fault(),
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
pub(crate) fn prefer_query_failure(
    fault: Fault<Context>,
    arguments: JsonRef<'_>,
) -> Fault<Context> {
    if fault.violations().is_empty() || fault.is(codes::CacheMissing) {
        return fault;
    }
    let query = arguments.get_or_null("query").as_str();
    match query.as_deref().map(Query::new) {
        Some(Err(failure)) => failure.fault().with_violations(fault.violations().clone()),
        _ => fault,
    }
}

/// The most characters of a name or a problem in a message.
const MAX_NAME: usize = 200;

impl ReadFailure {
    /// Returns the failure as a fault of the reading tools. Its message contains what the caller needs to
    /// correct the call.
    pub fn fault(&self) -> Fault<ContextV1> {
        match self {
            ReadFailure::Arguments(violations) => v1::InvalidArguments
                .fault()
                .with_violations(violations.clone()),
            ReadFailure::MixedTokenizers(caches) => v1::InvalidArguments
                .fault()
                .with_violations(one(mixed_tokenizers(caches))),
            ReadFailure::Ambiguous { caches, .. } => v1::InvalidArguments
                .fault()
                .with_violations(one(ambiguous_id(caches))),
            ReadFailure::UnknownCache(unknown) => v1::CacheMissing
                .fault()
                .with_message(unknown_cache_text(unknown)),
            ReadFailure::Cache { name, failure } => of_cache(name, failure),
            ReadFailure::UnknownDocument(unknown) => v1::DocumentMissing
                .fault()
                .with_message(unknown_document_text(unknown)),
            ReadFailure::UnknownFolder { cache, under } => {
                let text = ClientText::from("The cache `")
                    .quoting_at_most(cache, MAX_NAME)
                    .then("` has no document under `")
                    .quoting_at_most(under, MAX_NAME)
                    .then("`");
                v1::DocumentMissing.fault().with_message(text)
            }
            ReadFailure::OtherVersion {
                cache,
                id,
                expected,
                current,
            } => {
                let text = ClientText::from("The document `")
                    .quoting_at_most(id, MAX_NAME)
                    .then("` of the cache `")
                    .quoting_at_most(cache, MAX_NAME)
                    .then("` has the version ")
                    .quoting_at_most(current, MAX_NAME)
                    .then(" now, not ")
                    .quoting_at_most(expected, MAX_NAME);
                v1::VersionChanged.fault().with_message(text)
            }
            ReadFailure::AnswerTooLarge => v1::AnswerTooLarge.fault(),
            ReadFailure::UnknownResource => v1::DocumentMissing
                .fault()
                .with_facts(|facts| facts.resource = Some(ResourceFlaw::NotFound)),
            ReadFailure::UnknownCursor => v1::InvalidArguments
                .fault()
                .with_facts(|facts| facts.resource = Some(ResourceFlaw::UnknownCursor)),
            ReadFailure::ResourceTooLarge(bytes) => v1::AnswerTooLarge
                .fault()
                .with_facts(|facts| facts.resource = Some(ResourceFlaw::TooLarge(*bytes))),
            ReadFailure::Paths(failure) => {
                let text = failure.to_string();
                of_failure(failure)
                    .with_message(ClientText::from("").quoting_at_most(&text, 2 * MAX_NAME))
            }
            ReadFailure::Bug(what) => v1::InternalError
                .fault()
                .with_cause(Cause::Text((*what).to_owned())),
        }
    }

    /// Returns the exit code of a command that fails with it.
    pub fn exit_code(&self) -> u8 {
        let fault = self.fault();
        let named = |name: &str| {
            let all = fault.violations().all_kinds();
            let mut fields = all.map(|violation| violation.field());
            fields.any(|field| field == name)
        };
        match self {
            ReadFailure::Arguments(_) if named("query") => 2,
            ReadFailure::Arguments(_) if named("budget") => 3,
            _ => fault.row().exit.unwrap_or(1),
        }
    }
}

/// Returns the code of a failure as it is on the wire.
pub(crate) fn code_of_read_failure(failure: &ReadFailure) -> &'static str {
    failure.fault().row().code.text()
}

/// Returns the fault of a cache that cannot answer, with its name.
fn of_cache(name: &str, failure: &Failure) -> Fault<ContextV1> {
    let detail = failure.to_string();
    let text = ClientText::from("The cache `")
        .quoting_at_most(name, MAX_NAME)
        .then("` cannot be read: ")
        .quoting_at_most(&detail, 2 * MAX_NAME);
    of_failure(failure).with_message(text)
}

fn of_failure(failure: &Failure) -> Fault<ContextV1> {
    let fault = match failure {
        Failure::Lookup { .. } | Failure::Root { .. } | Failure::Outside { .. } => {
            v1::CacheMissing.fault()
        }
        Failure::Invalid { problems } => match breaks_rule(problems) {
            true => v1::CacheInvalid.fault(),
            false => v1::IoError.fault(),
        },
        Failure::System { .. } | Failure::Restless => v1::IoError.fault(),
        Failure::Budget(_) => v1::AnswerTooLarge.fault(),
        // Reading has no sources and no target, and its queries are checked before.
        Failure::Write { .. }
        | Failure::NoRecord { .. }
        | Failure::NoSources { .. }
        | Failure::SourcesGone { .. }
        | Failure::NoMatch { .. }
        | Failure::Emptying { .. }
        | Failure::Query(_)
        | Failure::Sources(_)
        | Failure::Target(_)
        | Failure::Bug(_) => v1::InternalError.fault(),
    };
    fault.with_cause(Cause::Text(failure.to_string()))
}

fn unknown_cache_text(unknown: &UnknownCache) -> ClientText {
    let mut text = ClientText::from("There is no cache `")
        .quoting_at_most(&unknown.asked, MAX_NAME)
        .then("`");
    if let Some(near) = &unknown.near {
        text = text
            .then("; the nearest is `")
            .quoting_at_most(near, MAX_NAME)
            .then("`");
    }
    if unknown.names.is_empty() {
        return text.then("; no cache is served");
    }
    text = text.then("; the caches are ");
    for (at, name) in unknown.names.iter().enumerate() {
        text = text
            .then(if at == 0 { "`" } else { ", `" })
            .quoting_at_most(name, MAX_NAME)
            .then("`");
    }
    match unknown.more {
        0 => text,
        more => text.then(" and ").number(more as i128).then(" more"),
    }
}

fn unknown_document_text(unknown: &UnknownDocument) -> ClientText {
    let text = match &unknown.cache {
        Some(cache) => ClientText::from("The cache `")
            .quoting_at_most(cache, MAX_NAME)
            .then("` has no document `"),
        None => ClientText::from("No cache has a document `"),
    };
    let mut text = text.quoting_at_most(&unknown.asked, MAX_NAME).then("`");
    for (at, (cache, id)) in unknown.near.iter().enumerate() {
        text = text
            .then(if at == 0 { "; near: `" } else { ", `" })
            .quoting_at_most(id, MAX_NAME)
            .then("`");
        if unknown.cache.is_none() {
            text = text
                .then(" in `")
                .quoting_at_most(cache, MAX_NAME)
                .then("`");
        }
    }
    text
}
