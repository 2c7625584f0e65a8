//! Checks a cache: every rule of the format and every file, in parallel, with all problems in a fixed
//! order.

use crate::failure::Failure;
use crate::faults;
use crate::files::dir_handle::{DirHandle, read_into};
use crate::files::file_stamp::FileStamp;
use crate::format::cache_problem::{CacheProblem, CacheProblemKind, MAX_PROBLEMS};
use crate::format::document::{self, Document, MAX_DOCUMENT_FILE};
use crate::format::manifest::{self, DOCUMENTS, LoadedLists, Manifest};
use crate::parallel;
use crate::proof::proof_file::{DocumentStamp, Proof};
use candor_street::Clock;
use std::ffi::OsStr;

/// The clock that decides whether a stamp is settled.
pub(crate) type Now<'a> = &'a dyn Clock;

/// Visits documents as they are read. Each worker has its own visitor.
pub(crate) trait DocumentVisitor: Send {
    /// Visits one document. Numbers ascend.
    fn document(&mut self, number: u32, document: &Document);
}

impl DocumentVisitor for () {
    fn document(&mut self, _: u32, _: &Document) {}
}

/// The outcome of a check.
pub(crate) struct CacheCheck<V> {
    pub(crate) manifest: Option<Manifest>,
    /// The stamps of the checked files, if every document could be read.
    pub(crate) proof: Option<Proof>,
    pub(crate) problems: Vec<CacheProblem>,
    pub(crate) visitors: Vec<V>,
}

impl<V> CacheCheck<V> {
    /// Returns the parts of a valid cache, or its problems as a failure.
    pub(crate) fn into_valid(self) -> Result<(Manifest, Proof, Vec<V>), Failure> {
        match (self.manifest, self.proof, self.problems.is_empty()) {
            (Some(manifest), Some(proof), true) => Ok((manifest, proof, self.visitors)),
            _ => Err(Failure::Invalid {
                problems: self.problems,
            }),
        }
    }
}

pub(crate) fn open_documents(cache: &DirHandle) -> Result<DirHandle, CacheProblem> {
    cache
        .open_dir(DOCUMENTS)
        .map_err(|error| CacheProblem::new(DOCUMENTS, faults::problem_kind(error)))
}

/// Returns the failure of a cache whose `documents` cannot be opened, with its other problems.
pub(crate) fn missing_documents_failure(cache: &DirHandle, problem: CacheProblem) -> Failure {
    let problems = with_missing_documents(manifest::read(cache), problem);
    Failure::Invalid { problems }
}

/// Returns the problems of the lists of a cache, then the one of its `documents`.
pub(crate) fn with_missing_documents(
    lists: LoadedLists,
    problem: CacheProblem,
) -> Vec<CacheProblem> {
    let problems = lists.problems.into_iter().chain([problem]);
    problems.take(MAX_PROBLEMS).collect()
}

/// Checks everything that the lists name. Documents that `trusted` still proves are not read: pass
/// `None` if every document must be visited.
pub(crate) fn check<V: DocumentVisitor>(
    lists: LoadedLists,
    documents: &DirHandle,
    trusted: Option<&Proof>,
    now: Now<'_>,
    visit: impl Fn() -> V + Sync,
) -> CacheCheck<V> {
    let LoadedLists {
        stated: _,
        created_at: _,
        manifest,
        mut problems,
        stamps,
    } = lists;
    let mut proof = None;
    let mut visitors = Vec::new();
    if let Some(manifest) = &manifest {
        let began = now.now();
        // Before the listing: a name that is created during it must change the stamp.
        let directory = documents.own_stamp().ok();
        problems.extend(unlisted(manifest, documents));
        let trusted = trusted.filter(|proof| proof.matches(manifest));
        let (seen, found) = check_documents(manifest, documents, trusted, visit, &mut problems);
        visitors = found;
        let settled = |stamp: &FileStamp| stamp.is_settled(began);
        let mark = |stamp: Option<FileStamp>| {
            let settled = stamp.as_ref().is_some_and(settled);
            stamp.map(|stamp| DocumentStamp { stamp, settled })
        };
        let (of_manifest, of_index) = stamps.unzip();
        let names = manifest.documents.iter().map(|one| one.name.as_str());
        let marks: Option<Vec<DocumentStamp>> = seen.into_iter().map(mark).collect();
        proof = marks.map(|documents| Proof {
            cache_version: manifest.cache_version,
            manifest: of_manifest.filter(settled),
            index: of_index.filter(settled),
            directory: directory.filter(settled),
            names: names.collect(),
            documents,
        });
    }
    problems.truncate(MAX_PROBLEMS);
    CacheCheck {
        manifest,
        proof,
        problems,
        visitors,
    }
}

/// Returns the names in `documents` that the manifest does not list. Missing files are found when they
/// are opened.
fn unlisted(manifest: &Manifest, documents: &DirHandle) -> Vec<CacheProblem> {
    let mut listed: Vec<&OsStr> = manifest
        .documents
        .iter()
        .map(|one| OsStr::new(&one.name))
        .collect();
    listed.sort_unstable();
    match documents.list() {
        Ok(names) => names
            .iter()
            .filter(|(name, _)| listed.binary_search(&name.as_os_str()).is_err())
            .take(MAX_PROBLEMS)
            .map(|(name, _)| {
                let file = format!("{DOCUMENTS}/{}", name.to_string_lossy());
                CacheProblem::new(file, CacheProblemKind::Unlisted)
            })
            .collect(),
        Err(error) => vec![CacheProblem::new(DOCUMENTS, faults::problem_kind(error))],
    }
}

/// The results of one worker.
struct CheckWorker<V> {
    stamps: Vec<(usize, FileStamp)>,
    problems: Vec<(usize, CacheProblemKind)>,
    buffer: Vec<u8>,
    visitor: V,
}

type CheckedDocuments<V> = (Vec<Option<FileStamp>>, Vec<V>);

fn check_documents<V: DocumentVisitor>(
    manifest: &Manifest,
    documents: &DirHandle,
    trusted: Option<&Proof>,
    visit: impl Fn() -> V + Sync,
    problems: &mut Vec<CacheProblem>,
) -> CheckedDocuments<V> {
    let count = manifest.documents.len();
    let make = || CheckWorker {
        stamps: Vec::new(),
        problems: Vec::new(),
        buffer: Vec::new(),
        visitor: visit(),
    };
    let seen = parallel::over(count, make, |seen, number| {
        let proved = trusted.filter(|proof| proof.holds(number, documents));
        if let Some(proof) = proved {
            seen.stamps.push((number, proof.documents[number].stamp));
            return;
        }
        match check_document(manifest, documents, number, seen) {
            Ok(stamp) => seen.stamps.push((number, stamp)),
            // Each worker ascends, so the first problems of all are among the first of each.
            Err(wrong) if seen.problems.len() < MAX_PROBLEMS => seen.problems.push((number, wrong)),
            Err(_) => {}
        }
    });
    let mut stamps = vec![None; count];
    let mut wrong = Vec::new();
    let mut visitors = Vec::new();
    for worker in seen {
        for (number, stamp) in worker.stamps {
            stamps[number] = Some(stamp);
        }
        wrong.extend(worker.problems);
        visitors.push(worker.visitor);
    }
    wrong.sort_by_key(|(number, _)| *number);
    problems.extend(wrong.into_iter().map(|(number, wrong)| {
        let name = &manifest.documents[number].name;
        CacheProblem::new(format!("{DOCUMENTS}/{name}"), wrong)
    }));
    (stamps, visitors)
}

fn check_document<V: DocumentVisitor>(
    manifest: &Manifest,
    documents: &DirHandle,
    number: usize,
    seen: &mut CheckWorker<V>,
) -> Result<FileStamp, CacheProblemKind> {
    let listed = &manifest.documents[number];
    let stamp = read_into(documents, &listed.name, MAX_DOCUMENT_FILE, &mut seen.buffer)?;
    let document = document::read(&seen.buffer)?;
    if document.id != listed.id {
        return Err(CacheProblemKind::OtherId);
    }
    if document.version != listed.version {
        return Err(CacheProblemKind::OtherVersion);
    }
    seen.visitor.document(number as u32, &document);
    Ok(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::manifest::ManifestEntry;

    #[test]
    fn only_the_first_hundred_problems_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let documents = DirHandle::new(std::fs::File::open(directory.path()).unwrap().into());
        let listed = |number: u32| ManifestEntry {
            id: format!("{number:03}.md"),
            version: crate::Digest::of(&number.to_le_bytes()),
            name: format!("{number:03}.json"),
        };
        let lists = LoadedLists {
            stated: None,
            created_at: None,
            manifest: Some(Manifest::of((0..500).map(listed).collect())),
            problems: Vec::new(),
            stamps: None,
        };
        let checked = check(
            lists,
            &documents,
            None,
            &|| candor_fault::Timestamp::MAX,
            || (),
        );
        let missing = |number| {
            CacheProblem::new(
                format!("documents/{number:03}.json"),
                CacheProblemKind::Missing,
            )
        };
        let expected: Vec<_> = (0..MAX_PROBLEMS).map(missing).collect();
        assert_eq!(checked.problems, expected);
        assert!(checked.proof.is_none());
    }
}
