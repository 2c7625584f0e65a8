//! Checking a cache: every rule of the format, every file, in parallel, with everything that is wrong
//! in a fixed order.

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

/// The time, for judging how fresh a signature is.
pub(crate) type Now<'a> = &'a dyn Clock;

/// Looks at documents as they are read. Each worker has one of its own.
pub(crate) trait DocumentVisitor: Send {
    /// One document, as it stands in the cache; numbers ascend.
    fn document(&mut self, number: u32, document: &Document);
}

impl DocumentVisitor for () {
    fn document(&mut self, _: u32, _: &Document) {}
}

/// What a check has found.
pub(crate) struct CheckOutcome<V> {
    pub(crate) manifest: Option<Manifest>,
    /// The proof that it is as it was found, where nothing is wrong.
    pub(crate) proof: Option<Proof>,
    pub(crate) problems: Vec<CacheProblem>,
    pub(crate) visitors: Vec<V>,
}

impl<V> CheckOutcome<V> {
    /// What was found, if nothing is wrong.
    pub(crate) fn sound(self) -> Result<(Manifest, Proof, Vec<V>), Failure> {
        match (self.manifest, self.proof, self.problems.is_empty()) {
            (Some(manifest), Some(proof), true) => Ok((manifest, proof, self.visitors)),
            _ => Err(Failure::Invalid {
                problems: self.problems,
            }),
        }
    }
}

/// Opens `documents`.
pub(crate) fn documents(cache: &DirHandle) -> Result<DirHandle, CacheProblem> {
    cache
        .folder(DOCUMENTS)
        .map_err(|error| CacheProblem::new(DOCUMENTS, faults::inside(error)))
}

/// Why a cache without a usable `documents` is no cache, with what else is wrong.
pub(crate) fn without_documents(cache: &DirHandle, problem: CacheProblem) -> Failure {
    let problems = and_no_documents(manifest::read(cache), problem);
    Failure::Invalid { problems }
}

/// What is wrong with the lists of a cache, and then with its `documents`.
pub(crate) fn and_no_documents(lists: LoadedLists, problem: CacheProblem) -> Vec<CacheProblem> {
    let problems = lists.problems.into_iter().chain([problem]);
    problems.take(MAX_PROBLEMS).collect()
}

/// Checks everything that the lists name. Documents that `trusted` still proves are not read, unless
/// every document is to be visited.
pub(crate) fn check<V: DocumentVisitor>(
    lists: LoadedLists,
    documents: &DirHandle,
    trusted: Option<&Proof>,
    now: Now<'_>,
    visit: impl Fn() -> V + Sync,
) -> CheckOutcome<V> {
    let LoadedLists {
        said: _,
        manifest,
        mut problems,
        signatures,
    } = lists;
    let mut proof = None;
    let mut visitors = Vec::new();
    if let Some(manifest) = &manifest {
        let began = now.now();
        // Before the listing: a name that comes during it must show.
        let folder = documents.own_signature().ok();
        problems.extend(unlisted(manifest, documents));
        let trusted = trusted.filter(|proof| proof.is_of(manifest));
        let (seen, found) = check_documents(manifest, documents, trusted, visit, &mut problems);
        visitors = found;
        let settled = |signature: &FileStamp| signature.settled(began);
        let mark = |signature: Option<FileStamp>| {
            let settled = signature.as_ref().is_some_and(settled);
            signature.map(|signature| DocumentStamp { signature, settled })
        };
        let (of_manifest, of_index) = signatures.unzip();
        let names = manifest.documents.iter().map(|one| one.name.as_str());
        let marks: Option<Vec<DocumentStamp>> = seen.into_iter().map(mark).collect();
        proof = marks.map(|documents| Proof {
            cache_version: manifest.cache_version,
            manifest: of_manifest.filter(settled),
            index: of_index.filter(settled),
            folder: folder.filter(settled),
            names: names.collect(),
            documents,
        });
    }
    problems.truncate(MAX_PROBLEMS);
    CheckOutcome {
        manifest,
        proof,
        problems,
        visitors,
    }
}

/// Names in `documents` that nobody lists. Missing ones are found where they are opened.
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
        Err(error) => vec![CacheProblem::new(DOCUMENTS, faults::inside(error))],
    }
}

/// What one worker has seen.
struct CheckWorker<V> {
    signatures: Vec<(usize, FileStamp)>,
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
        signatures: Vec::new(),
        problems: Vec::new(),
        buffer: Vec::new(),
        visitor: visit(),
    };
    let seen = parallel::over(count, make, |seen, number| {
        let proved = trusted.filter(|proof| proof.holds(number, documents));
        if let Some(proof) = proved {
            seen.signatures
                .push((number, proof.documents[number].signature));
            return;
        }
        match check_document(manifest, documents, number, seen) {
            Ok(signature) => seen.signatures.push((number, signature)),
            // Each worker goes upwards, so the first of each are among the first of all.
            Err(wrong) if seen.problems.len() < MAX_PROBLEMS => seen.problems.push((number, wrong)),
            Err(_) => {}
        }
    });
    let mut signatures = vec![None; count];
    let mut wrong = Vec::new();
    let mut visitors = Vec::new();
    for worker in seen {
        for (number, signature) in worker.signatures {
            signatures[number] = Some(signature);
        }
        wrong.extend(worker.problems);
        visitors.push(worker.visitor);
    }
    wrong.sort_by_key(|(number, _)| *number);
    problems.extend(wrong.into_iter().map(|(number, wrong)| {
        let name = &manifest.documents[number].name;
        CacheProblem::new(format!("{DOCUMENTS}/{name}"), wrong)
    }));
    (signatures, visitors)
}

fn check_document<V: DocumentVisitor>(
    manifest: &Manifest,
    documents: &DirHandle,
    number: usize,
    seen: &mut CheckWorker<V>,
) -> Result<FileStamp, CacheProblemKind> {
    let listed = &manifest.documents[number];
    let signature = read_into(documents, &listed.name, MAX_DOCUMENT_FILE, &mut seen.buffer)?;
    let document = document::read(&seen.buffer)?;
    if document.id != listed.id {
        return Err(CacheProblemKind::OtherId);
    }
    if document.version != listed.version {
        return Err(CacheProblemKind::OtherVersion);
    }
    seen.visitor.document(number as u32, &document);
    Ok(signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::manifest::ManifestEntry;

    #[test]
    fn only_the_first_hundred_problems_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let documents = DirHandle::new(std::fs::File::open(folder.path()).unwrap().into());
        let listed = |number: u32| ManifestEntry {
            id: format!("{number:03}.md"),
            version: crate::Digest::of(&number.to_le_bytes()),
            name: format!("{number:03}.json"),
        };
        let lists = LoadedLists {
            said: None,
            manifest: Some(Manifest::of((0..500).map(listed).collect())),
            problems: Vec::new(),
            signatures: None,
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
