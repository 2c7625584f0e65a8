//! What a cache says of itself, and whether it is right: `inspect` and `verify`.

use crate::cache::{Cache, TrustBasis};
use crate::failure::Failure;
use crate::faults::broken_rule;
use crate::files::dir_handle::DirHandle;
use crate::files::location::Location;
use crate::format::cache_problem::CacheProblem;
use crate::format::manifest::{self, DOCUMENTS, LoadedLists};
use crate::proof::check::{self, Now};
use serde::Serialize;
use std::path::Path;

/// What `inspect` answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Inspection {
    cache_version: String,
    document_count: u64,
    total_bytes: u64,
    valid: bool,
}

/// What `verify` answers.
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
    /// The failure that the report is about, where the cache is not valid.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}

/// Looks at a cache; one that is invalid is an answer too.
pub fn inspect(location: &Location, path: &Path, now: Now<'_>) -> Result<Inspection, Failure> {
    let good = |inspection: &Inspection| inspection.valid;
    location.with(path, good, |folder| {
        let opened = folder
            .folder(".")
            .map_err(Failure::system("open the cache"))?;
        inspect_folder(&folder, || {
            Cache::open(opened, TrustBasis::Sealed, now).map(|cache| of_cache(&cache))
        })
    })
}

/// What a valid cache is.
pub(crate) fn of_cache(cache: &Cache) -> Inspection {
    Inspection {
        cache_version: cache.version().to_string(),
        document_count: cache.proof().documents.len() as u64,
        total_bytes: cache.proof().total_bytes(),
        valid: true,
    }
}

/// Opens by `open`; where that finds an invalid cache, says what its manifest says.
pub(crate) fn inspect_folder(
    folder: &DirHandle,
    open: impl FnOnce() -> Result<Inspection, Failure>,
) -> Result<Inspection, Failure> {
    match open() {
        Err(Failure::Invalid { problems }) if broken_rule(&problems) => Ok(invalid(folder)),
        answer => answer,
    }
}

fn invalid(folder: &DirHandle) -> Inspection {
    let LoadedLists { said, manifest, .. } = manifest::read(folder);
    let Some((cache_version, document_count)) = said else {
        return Inspection::default();
    };
    let documents = folder.folder(DOCUMENTS).ok();
    let size = |name: &str| {
        documents
            .as_ref()?
            .signature(name)
            .ok()
            .map(|one| one.size())
    };
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

/// Checks everything, whatever was proved before.
pub fn verify(location: &Location, path: &Path, now: Now<'_>) -> Result<VerifyResponse, Failure> {
    let good = |report: &VerifyResponse| report.valid;
    location.with(path, good, |folder| Ok(report(&folder, now)))
}

fn report(folder: &DirHandle, now: Now<'_>) -> VerifyResponse {
    let lists = manifest::read(folder);
    let said = lists.said.clone().unwrap_or_default();
    let problems = match check::documents(folder) {
        Ok(documents) => check::check(lists, &documents, None, now, || ()).problems,
        Err(problem) => check::and_no_documents(lists, problem),
    };
    let tell = |one: &CacheProblem| ReportedProblem {
        file: one.file.clone(),
        problem: one.what.to_string(),
    };
    VerifyResponse {
        cache_version: said.0,
        document_count: said.1,
        valid: problems.is_empty(),
        problems: problems.iter().map(tell).collect(),
        failure: (!problems.is_empty()).then_some(Failure::Invalid { problems }),
    }
}
