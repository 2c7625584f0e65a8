//! Builds a cache from sources: completely, or by reading only the sources that changed.

use crate::build::directory_snapshot::DirectorySnapshots;
use crate::build::document_writer::{
    DocumentWriter, PendingRenames, PreparedDocument, assign_final_names,
};
use crate::build::draft::{BuildTarget, CacheDraft, ReplacedCache, replace_bytes};
use crate::build::origins::{self, ORIGINS_FILE, Origin, Origins};
use crate::build::reuse::{PreviousCache, link_all, reuse_documents};
use crate::build::sources::{SourceDirectory, SourceFile, SourceFilter};
use crate::failure::Failure;
use crate::files::dir_handle::DirHandle;
use crate::files::file_stamp::{FileStamp, SETTLING, SETTLING_TRIES};
use crate::files::location::Location;
use crate::format::digest::Digest;
use crate::format::manifest::{INDEX, MANIFEST, Manifest, ManifestEntry};
use crate::index::inverted::IndexWriteError;
use crate::index::passage_index::PASSAGES_FILE;
use crate::index::writing::{
    INDEX_FILE, IndexGatherer, IndexScope, ReusedIndex, touched, write_failure, write_passages,
    write_words,
};
use crate::parallel;
use crate::proof::check::{self, Now};
use crate::proof::proof_file::{DocumentNames, DocumentStamp, PROOF_FILE, Proof};
use crate::query::reader;
use candor_fault::Timestamp;
use std::io::BufWriter;
use std::path::Path;

/// Receives the progress of a build.
pub trait BuildProgress: Sync {
    /// Starts a part that has this many steps.
    fn begin(&self, part: &'static str, steps: u64);
    /// Counts one finished step.
    fn step(&self);
}

impl BuildProgress for () {
    fn begin(&self, _: &'static str, _: u64) {}
    fn step(&self) {}
}

/// The parameters of a build.
pub struct Build<'a> {
    /// The directory that relative paths start at.
    pub location: &'a Location,
    /// The directory of the sources.
    pub sources: &'a Path,
    /// The directory of the cache.
    pub cache: &'a Path,
    /// Which files are sources.
    pub filter: &'a SourceFilter,
    /// True if passages are indexed too. An update keeps an index of passages that exists.
    pub passages: bool,
    /// True if an existing cache is replaced.
    pub force: bool,
    /// The time that is written as `created_at`.
    pub created_at: Timestamp,
    /// The real time.
    pub now: Now<'a>,
    /// A random part of the draft's name.
    pub random: u64,
    pub progress: &'a dyn BuildProgress,
}

/// The cache that a build has written.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BuildOutcome {
    /// The digest of the whole cache.
    pub cache_version: Digest,
    pub document_count: u64,
    /// The number of documents that were read from their sources.
    pub read: u64,
}

/// The files that were written into a draft.
struct DraftContents {
    prepared: Vec<PreparedDocument>,
    /// In an update the renames are done last: names are free once documents are reused.
    moves: PendingRenames,
    manifest: Manifest,
}

/// The reason why a draft is not complete.
enum DraftError {
    /// The index that is updated is corrupt.
    Index,
    Failed(Failure),
}

impl From<Failure> for DraftError {
    fn from(failure: Failure) -> Self {
        DraftError::Failed(failure)
    }
}

impl From<DraftError> for Failure {
    fn from(unmade: DraftError) -> Self {
        match unmade {
            DraftError::Index => write_failure(IndexWriteError::CorruptFile),
            DraftError::Failed(failure) => failure,
        }
    }
}

impl Build<'_> {
    /// Builds the whole cache.
    pub fn run(&self) -> Result<BuildOutcome, Failure> {
        let target = BuildTarget::find(self.location, self.cache)?;
        target.check(self.force)?;
        self.write(&target, None, self.force)
    }

    /// Builds the cache anew, reading only the sources that changed.
    pub fn update(&self) -> Result<BuildOutcome, Failure> {
        // A missing cache is `cache_missing`, whichever part of its path is missing.
        self.location.find(self.cache)?;
        let target = BuildTarget::find(self.location, self.cache)?;
        // A killed update has left links to the documents. Removing them changes ctimes, so it
        // happens before anything is proved.
        target.remove_leftovers();
        let cache = reader::open(self.location, self.cache, self.now)?;
        target.check_proved(&cache.proof().names)?;
        let origins = origins::find(cache.open_dir(), cache.version()).unwrap_or_default();
        let sealed = (!cache.was_hashed()).then(|| cache.proof().clone());
        let mut before = PreviousCache::new(cache, origins);
        // A document can be edited and still be valid, if the edit is outside what the format
        // protects. It then differs from what a build would write.
        let edited = before.cache.was_hashed();
        // Without an index of passages every document has to be read.
        let unseen = self.with_passages(Some(&before)) && before.passages.is_none();
        if edited || unseen {
            before.forget_origins();
        }
        let built = self.write(&target, Some(before), true);
        if built.is_err()
            && let Some(old) = sealed
            && let Ok(cache) = self.location.find(self.cache)
        {
            // New links to its documents have changed their ctimes: new stamps are taken.
            let before = |number: usize| Some(old.documents.get(number)?.stamp);
            self.prove_in_place(&cache, &old.names, old.cache_version, before);
        }
        built
    }

    fn write(
        &self,
        target: &BuildTarget,
        before: Option<PreviousCache>,
        force: bool,
    ) -> Result<BuildOutcome, Failure> {
        let sources = SourceDirectory::open(self.location, self.sources)?;
        let draft = match &before {
            Some(_) => target.draft_of_update(self.random)?,
            None => target.draft(self.random)?,
        };
        let make = || self.fill_draft(&draft, &sources, before.as_ref());
        let (made, linked) = match before.as_ref().filter(|_| !draft.filled) {
            Some(before) => {
                let link = || Some(link_all(before, &draft.documents));
                parallel::both(make, link)
            }
            None => (make(), None),
        };
        let made = match made {
            // The existing index is corrupt: nothing is reused.
            Err(DraftError::Index) if before.is_some() => {
                let passages = self.with_passages(before.as_ref());
                drop((before, draft));
                return Build { passages, ..*self }.write(target, None, force);
            }
            made => made?,
        };
        let DraftContents {
            manifest,
            prepared,
            moves,
        } = made;
        match before {
            Some(before) => {
                reuse_documents(&before, &draft.documents, &prepared, linked.as_ref())?;
                moves.run(&draft.documents)?;
                let old = before.cache.into_proof();
                let directory = draft.publish(force, ReplacedCache::KeepAsSpare)?;
                let before = |number: usize| {
                    let old = old.documents.get(prepared[number].shared()? as usize)?;
                    Some(old.stamp)
                };
                let (names, version) = (names_of(&manifest), manifest.cache_version);
                self.prove_in_place(&directory, &names, version, before);
            }
            None => drop(draft.publish(force, ReplacedCache::Remove)?),
        }
        let reused = prepared.iter().filter(|one| one.reused.is_some()).count();
        Ok(BuildOutcome {
            cache_version: manifest.cache_version,
            document_count: prepared.len() as u64,
            read: (prepared.len() - reused) as u64,
        })
    }

    /// Writes everything into the draft that the previous cache does not contain.
    fn fill_draft(
        &self,
        draft: &CacheDraft<'_>,
        sources: &SourceDirectory,
        before: Option<&PreviousCache>,
    ) -> Result<DraftContents, DraftError> {
        let nothing = DirectorySnapshots::default();
        let known = before.map_or(&nothing, |before| &before.survey);
        let (list, directories) = sources.list(self.filter, before.is_some(), known, self.now)?;
        self.progress.begin("documents", list.len() as u64);
        let placing = DocumentWriter {
            sources,
            list: &list,
            into: &draft.documents,
            before,
            passages: self.with_passages(before),
            now: self.now,
            step: &|| self.progress.step(),
        };
        let (mut prepared, gathered) = placing.run()?;
        let moves = assign_final_names(&mut prepared);
        if before.is_none() {
            moves.run(&draft.documents)?;
        }
        let manifest = manifest_of(&list, &prepared);
        let (listed, indexed) = parallel::both(
            || {
                let documents = origins_of(&list, &prepared);
                let origins = Origins {
                    documents,
                    directories,
                };
                self.write_lists(draft, &manifest, &origins)?;
                match before {
                    // Nearly all documents exist already: new ones are synced at the end, and
                    // stamps are taken after publishing.
                    Some(_) => Ok(()),
                    None => self.prove_early(draft, &manifest),
                }
            },
            || self.write_indexes(draft, &manifest, gathered, &prepared, before),
        );
        listed?;
        match indexed {
            Err(IndexWriteError::CorruptFile) => return Err(DraftError::Index),
            indexed => indexed.map_err(write_failure)?,
        }
        Ok(DraftContents {
            prepared,
            moves,
            manifest,
        })
    }

    /// Writes the manifest, the index of ids and the origins.
    fn write_lists(
        &self,
        draft: &CacheDraft<'_>,
        manifest: &Manifest,
        origins: &Origins,
    ) -> Result<(), Failure> {
        draft.write(MANIFEST, &manifest.manifest_bytes(self.created_at))?;
        draft.write(INDEX, &manifest.index_bytes())?;
        let origins = origins::write(manifest.cache_version, origins);
        draft.write(ORIGINS_FILE, &origins)
    }

    fn with_passages(&self, before: Option<&PreviousCache>) -> bool {
        self.passages || before.is_some_and(|before| before.with_passages)
    }

    fn write_indexes(
        &self,
        draft: &CacheDraft<'_>,
        manifest: &Manifest,
        gathered: Vec<IndexGatherer>,
        prepared: &[PreparedDocument],
        before: Option<&PreviousCache>,
    ) -> Result<(), IndexWriteError> {
        self.progress.begin("index", 1);
        let create = |name| {
            draft
                .create(name)
                .map(|file| BufWriter::with_capacity(1 << 20, file))
        };
        let of = IndexScope::listed(manifest);
        let renumbered = before.map(|before| renumber(before, prepared));
        let renumbered = renumbered.as_deref().unwrap_or_default();
        let (words, passages) = IndexGatherer::apart(gathered);
        let write_words = || {
            let from = before.map(|before| ReusedIndex {
                index: before.cache.index(),
                renumbered,
            });
            let touched = before.and_then(|before| touched(&before.cache, renumbered));
            write_words(create(INDEX_FILE)?, of, words, from, touched.as_ref())
        };
        if !self.with_passages(before) {
            write_words()?;
        } else {
            let write_passages = || {
                let index = before.and_then(|before| before.passages.as_ref());
                let from = index.map(|index| ReusedIndex { index, renumbered });
                write_passages(create(PASSAGES_FILE)?, of, passages, from)
            };
            let (words, passages) = parallel::both(write_words, write_passages);
            words?;
            passages?;
        }
        self.progress.step();
        Ok(())
    }

    /// Syncs documents and lists and writes their proof, while the indexes, which it does not cover,
    /// are still being written.
    fn prove_early(&self, draft: &CacheDraft<'_>, manifest: &Manifest) -> Result<(), Failure> {
        draft.sync_early()?;
        let (names, version) = (names_of(manifest), manifest.cache_version);
        let sign = || {
            take_stamps(
                &draft.directory,
                &draft.documents,
                &names,
                version,
                self.now,
            )
        };
        match wait_for_proof(sign).and_then(|proof| proof.write()) {
            Some(bytes) => draft.write(PROOF_FILE, &bytes),
            None => Ok(()),
        }
    }

    /// Writes the proof into a published cache, unless a document that it shares with the previous
    /// cache differs from the one that was proved there. Errors are ignored: another build may have
    /// replaced the cache already, and a cache without a proof is slower but not wrong.
    fn prove_in_place(
        &self,
        cache: &DirHandle,
        names: &DocumentNames,
        cache_version: Digest,
        before: impl Fn(usize) -> Option<FileStamp>,
    ) {
        let Ok(documents) = check::open_documents(cache) else {
            return;
        };
        let Some(proof) =
            wait_for_proof(|| take_stamps(cache, &documents, names, cache_version, self.now))
        else {
            return;
        };
        let same = |(number, mark): (usize, &DocumentStamp)| match before(number) {
            Some(before) => mark.stamp.is_same_but_for_links(&before),
            None => true,
        };
        if proof.documents.iter().enumerate().all(same)
            && let Some(bytes) = proof.write()
        {
            let _ = replace_bytes(cache, PROOF_FILE, &bytes);
        }
    }
}

fn names_of(manifest: &Manifest) -> DocumentNames {
    let names = manifest.documents.iter().map(|one| one.name.as_str());
    names.collect()
}

/// Returns the proof once enough time has passed since the last change. Returns `None` after several
/// tries: a cache without a proof is slower to open, but not wrong.
fn wait_for_proof(sign: impl Fn() -> Option<Proof>) -> Option<Proof> {
    for _ in 0..SETTLING_TRIES {
        if let Some(proof) = sign() {
            return Some(proof);
        }
        std::thread::sleep(SETTLING);
    }
    None
}

/// Returns the new number of each previous document, or `None` if it is not reused.
fn renumber(before: &PreviousCache, prepared: &[PreparedDocument]) -> Vec<Option<u32>> {
    let mut renumbered = vec![None; before.cache.index().sizes().documents()];
    for (new, one) in (0..).zip(prepared) {
        if let Some(old) = one.reused {
            renumbered[old as usize] = Some(new);
        }
    }
    renumbered
}

/// Returns the stamps of a cache whose documents have these names, or `None` if a file was changed too
/// recently.
fn take_stamps(
    cache: &DirHandle,
    documents: &DirHandle,
    names: &DocumentNames,
    cache_version: Digest,
    now: Now<'_>,
) -> Option<Proof> {
    let at = now.now();
    let settled = |stamp: &FileStamp| stamp.is_settled(at);
    let manifest = cache.stamp(MANIFEST).ok().filter(settled)?;
    let index = cache.stamp(INDEX).ok().filter(settled)?;
    let directory = documents.own_stamp().ok().filter(settled)?;
    let parts = parallel::over(names.len(), Vec::new, |marks: &mut Vec<_>, number| {
        let stamp = documents.stamp(names.get(number));
        marks.push((number, stamp.ok().filter(settled)));
    });
    let mut marks = parts.concat();
    marks.sort_unstable_by_key(|(number, _)| *number);
    let settled = true;
    let mark = |(_, stamp): (usize, Option<FileStamp>)| {
        stamp.map(|stamp| DocumentStamp { stamp, settled })
    };
    Some(Proof {
        cache_version,
        manifest: Some(manifest),
        index: Some(index),
        directory: Some(directory),
        names: names.clone(),
        documents: marks.into_iter().map(mark).collect::<Option<_>>()?,
    })
}

fn manifest_of(list: &[SourceFile], prepared: &[PreparedDocument]) -> Manifest {
    let listed = list
        .iter()
        .zip(prepared)
        .map(|(source, prepared)| ManifestEntry {
            id: source.id.clone(),
            version: prepared.version,
            name: prepared.name.clone(),
        });
    Manifest::of(listed.collect())
}

fn origins_of(list: &[SourceFile], prepared: &[PreparedDocument]) -> Vec<Origin> {
    let origins = list.iter().zip(prepared).map(|(source, prepared)| Origin {
        path: source.path.clone(),
        version: prepared.version,
        stamp: prepared.origin,
    });
    origins.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_CONTENT;
    use crate::failure::SourceFlaw;

    #[test]
    fn oversized_source_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let sources = root.path().join("sources");
        std::fs::create_dir(&sources).unwrap();
        let file = std::fs::File::create(sources.join("large.md")).unwrap();
        file.set_len(MAX_CONTENT + 1).unwrap();
        let build = Build {
            location: &Location::Anywhere,
            sources: &sources,
            cache: &root.path().join("cache"),
            filter: &SourceFilter::default(),
            passages: false,
            force: false,
            created_at: Timestamp::UNIX_EPOCH,
            now: &|| Timestamp::MAX,
            random: 7,
            progress: &(),
        };
        let Err(Failure::Sources(flaw)) = build.run() else {
            panic!("it was built");
        };
        let expected = SourceFlaw::Large(String::from("large.md"), MAX_CONTENT + 1);
        assert_eq!(flaw, expected);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
