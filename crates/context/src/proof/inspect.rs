//! Describes a cache and checks whether it is valid: `inspect` and `verify`.

use crate::cache::{Cache, TrustBasis};
use crate::failure::Failure;
use crate::faults::breaks_rule;
use crate::files::dir_handle::DirHandle;
use crate::files::location::Location;
use crate::format::cache_problem::CacheProblem;
use crate::format::manifest::{self, DOCUMENTS, LoadedLists};
use crate::proof::check::{self, Now};
use serde::Serialize;
use std::path::Path;

/// The response of `inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Inspection {
    cache_version: String,
    document_count: u64,
    total_bytes: u64,
    valid: bool,
}

/// The response of `verify`.
#[derive(Debug, Serialize)]
pub struct VerifyResponse {
    cache_version: String,
    document_count: u64,
    valid: bool,
    problems: Vec<ReportedProblem>,
    #[serde(skip)]
    failure: Option<Failure>,
}

#[derive(Debug, Serialize)]
struct ReportedProblem {
    file: String,
    problem: String,
}

impl VerifyResponse {
    /// Returns the failure if the cache is not valid.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}

/// Describes a cache. An invalid cache is described too.
pub fn inspect(location: &Location, path: &Path, now: Now<'_>) -> Result<Inspection, Failure> {
    let good = |inspection: &Inspection| inspection.valid;
    location.with(path, good, |directory| {
        let opened = directory
            .open_dir(".")
            .map_err(Failure::system("open the cache"))?;
        inspect_directory(&directory, || {
            Cache::open(opened, TrustBasis::Sealed, now).map(|cache| describe(&cache))
        })
    })
}

/// Describes a valid cache.
pub(crate) fn describe(cache: &Cache) -> Inspection {
    Inspection {
        cache_version: cache.version().to_string(),
        document_count: cache.proof().documents.len() as u64,
        total_bytes: cache.proof().total_bytes(),
        valid: true,
    }
}

/// Describes a cache by `open`. If it is invalid, describes it by its manifest.
pub(crate) fn inspect_directory(
    directory: &DirHandle,
    open: impl FnOnce() -> Result<Inspection, Failure>,
) -> Result<Inspection, Failure> {
    match open() {
        Err(Failure::Invalid { problems }) if breaks_rule(&problems) => Ok(invalid(directory)),
        answer => answer,
    }
}

fn invalid(directory: &DirHandle) -> Inspection {
    let LoadedLists {
        stated, manifest, ..
    } = manifest::read(directory);
    let Some((cache_version, document_count)) = stated else {
        return Inspection::default();
    };
    let documents = directory.open_dir(DOCUMENTS).ok();
    let size = |name: &str| documents.as_ref()?.stamp(name).ok().map(|one| one.size());
    let listed = manifest
        .map(|manifest| manifest.documents)
        .unwrap_or_default();
    Inspection {
        cache_version,
        document_count,
        total_bytes: listed.iter().filter_map(|one| size(&one.name)).sum(),
        valid: false,
    }
}

/// Checks everything, even if the cache has a valid proof.
pub fn verify(location: &Location, path: &Path, now: Now<'_>) -> Result<VerifyResponse, Failure> {
    let good = |report: &VerifyResponse| report.valid;
    location.with(path, good, |directory| Ok(report(&directory, now)))
}

fn report(directory: &DirHandle, now: Now<'_>) -> VerifyResponse {
    let lists = manifest::read(directory);
    let stated = lists.stated.clone().unwrap_or_default();
    let problems = match check::open_documents(directory) {
        Ok(documents) => check::check(lists, &documents, None, now, || ()).problems,
        Err(problem) => check::with_missing_documents(lists, problem),
    };
    let tell = |one: &CacheProblem| ReportedProblem {
        file: one.file.clone(),
        problem: one.kind.to_string(),
    };
    VerifyResponse {
        cache_version: stated.0,
        document_count: stated.1,
        valid: problems.is_empty(),
        problems: problems.iter().map(tell).collect(),
        failure: (!problems.is_empty()).then_some(Failure::Invalid { problems }),
    }
}
