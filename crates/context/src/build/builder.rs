//! Building a cache from sources: whole, or reading only what changed since the last build.

use crate::build::directory_snapshot::DirectorySnapshots;
use crate::build::document_writer::{
    DocumentWriter, PendingRenames, PreparedDocument, name_finally,
};
use crate::build::draft::{BuildTarget, CacheDraft, ReplacedCache, replace_bytes};
use crate::build::origins::{self, ORIGINS_FILE, Origin, Origins};
use crate::build::reuse::{PreviousCache, link_all, take_over};
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
    INDEX_FILE, IndexGatherer, IndexScope, ReusedIndex, touched, unwritten, write_passages,
    write_words,
};
use crate::parallel;
use crate::proof::check::{self, Now};
use crate::proof::proof_file::{DocumentNames, DocumentStamp, PROOF_FILE, Proof};
use crate::query::reader;
use candor_fault::Timestamp;
use std::io::BufWriter;
use std::path::Path;

/// Hears how far a build is.
pub trait BuildProgress: Sync {
    /// A part begins that has so many steps.
    fn begin(&self, part: &'static str, steps: u64);
    /// One step is done.
    fn step(&self);
}

impl BuildProgress for () {
    fn begin(&self, _: &'static str, _: u64) {}
    fn step(&self) {}
}

/// What a build needs to know.
pub struct Build<'a> {
    /// Where paths begin.
    pub location: &'a Location,
    /// The directory of the sources.
    pub sources: &'a Path,
    /// The directory of the cache.
    pub cache: &'a Path,
    /// Which files are sources.
    pub wanted: &'a SourceFilter,
    /// Whether passages are indexed too; an update keeps them where they are.
    pub passages: bool,
    /// Whether a cache that is there is replaced.
    pub force: bool,
    /// What is written as `created_at`.
    pub created_at: Timestamp,
    /// The real time.
    pub now: Now<'a>,
    /// Part of the draft's name.
    pub random: u64,
    /// Hears how far it is.
    pub progress: &'a dyn BuildProgress,
}

/// What a build has made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BuildOutcome {
    /// The digest that stands for the whole cache.
    pub cache_version: Digest,
    /// How many documents it has.
    pub document_count: u64,
    /// How many of them were read from their sources.
    pub read: u64,
}

/// What was written into a draft.
struct DraftContents {
    placed: Vec<PreparedDocument>,
    /// In an update they are left to do: names are free once the rest is taken over.
    moves: PendingRenames,
    manifest: Manifest,
}

/// Why a draft is not whole.
enum DraftError {
    /// The index that is updated is broken.
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
            DraftError::Index => unwritten(IndexWriteError::CorruptFile),
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
        // A cache that is not there is missing, wherever on the way to it that shows.
        self.location.find(self.cache)?;
        let target = BuildTarget::find(self.location, self.cache)?;
        // A killed update has left links to the documents; without them their times are others, so
        // they go before anything is proved.
        target.sweep();
        let cache = reader::open(self.location, self.cache, self.now)?;
        target.check_proved(&cache.proof().names)?;
        let origins = origins::find(cache.folder(), cache.version()).unwrap_or_default();
        let sealed = (!cache.by_hashing()).then(|| cache.proof().clone());
        let mut before = PreviousCache::new(cache, origins);
        // A document that was changed is right as long as what the format protects is the same, but
        // it is not what a build would write.
        let edited = before.cache.by_hashing();
        // Without an index of them every document has to be looked at for its passages.
        let unseen = self.with_passages(Some(&before)) && before.passages.is_none();
        if edited || unseen {
            before.forget_origins();
        }
        let built = self.write(&target, Some(before), true);
        if built.is_err()
            && let Some(old) = sealed
            && let Ok(cache) = self.location.find(self.cache)
        {
            // Links that were made to its documents have changed their times: it is signed again.
            let before = |number: usize| Some(old.documents.get(number)?.signature);
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
        let make = || self.make(&draft, &sources, before.as_ref());
        let (made, linked) = match before.as_ref().filter(|_| !draft.filled) {
            Some(before) => {
                let link = || Some(link_all(before, &draft.documents));
                parallel::both(make, link)
            }
            None => (make(), None),
        };
        let made = match made {
            // An index that is there breaks off: nothing is taken over.
            Err(DraftError::Index) if before.is_some() => {
                let passages = self.with_passages(before.as_ref());
                drop((before, draft));
                return Build { passages, ..*self }.write(target, None, force);
            }
            made => made?,
        };
        let DraftContents {
            manifest,
            placed,
            moves,
        } = made;
        match before {
            Some(before) => {
                take_over(&before, &draft.documents, &placed, linked.as_ref())?;
                moves.run(&draft.documents)?;
                let old = before.cache.into_proof();
                let folder = draft.publish(force, ReplacedCache::KeepAsSpare)?;
                let before = |number: usize| {
                    let old = old.documents.get(placed[number].shared()? as usize)?;
                    Some(old.signature)
                };
                let (names, version) = (names_of(&manifest), manifest.cache_version);
                self.prove_in_place(&folder, &names, version, before);
            }
            None => drop(draft.publish(force, ReplacedCache::Remove)?),
        }
        let kept = placed.iter().filter(|one| one.kept.is_some()).count();
        Ok(BuildOutcome {
            cache_version: manifest.cache_version,
            document_count: placed.len() as u64,
            read: (placed.len() - kept) as u64,
        })
    }

    /// Writes everything into the draft that the cache that is replaced does not have.
    fn make(
        &self,
        draft: &CacheDraft<'_>,
        sources: &SourceDirectory,
        before: Option<&PreviousCache>,
    ) -> Result<DraftContents, DraftError> {
        let nothing = DirectorySnapshots::default();
        let known = before.map_or(&nothing, |before| &before.survey);
        let (list, folders) = sources.list(self.wanted, before.is_some(), known, self.now)?;
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
        let (mut placed, gathered) = placing.run()?;
        let moves = name_finally(&mut placed);
        if before.is_none() {
            moves.run(&draft.documents)?;
        }
        let manifest = lists(&list, &placed);
        let (listed, indexed) = parallel::both(
            || {
                let documents = of_sources(&list, &placed);
                let origins = Origins { documents, folders };
                self.list(draft, &manifest, &origins)?;
                match before {
                    // Nearly everything is there already: what is new is synced at the end, and all
                    // of it is signed in its place.
                    Some(_) => Ok(()),
                    None => self.prove_early(draft, &manifest),
                }
            },
            || self.accelerate(draft, &manifest, gathered, &placed, before),
        );
        listed?;
        match indexed {
            Err(IndexWriteError::CorruptFile) => return Err(DraftError::Index),
            indexed => indexed.map_err(unwritten)?,
        }
        Ok(DraftContents {
            placed,
            moves,
            manifest,
        })
    }

    /// Writes the lists.
    fn list(
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

    /// Writes the indexes.
    fn accelerate(
        &self,
        draft: &CacheDraft<'_>,
        manifest: &Manifest,
        gathered: Vec<IndexGatherer>,
        placed: &[PreparedDocument],
        before: Option<&PreviousCache>,
    ) -> Result<(), IndexWriteError> {
        self.progress.begin("index", 1);
        let create = |name| {
            draft
                .create(name)
                .map(|file| BufWriter::with_capacity(1 << 20, file))
        };
        let of = IndexScope::listed(manifest);
        let renumbered = before.map(|before| renumber(before, placed));
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

    /// Makes documents and lists durable and puts their proof beside them, while indexes, which it
    /// says nothing about, are still being made.
    fn prove_early(&self, draft: &CacheDraft<'_>, manifest: &Manifest) -> Result<(), Failure> {
        draft.sync_early()?;
        let (names, version) = (names_of(manifest), manifest.cache_version);
        let sign = || sign(&draft.folder, &draft.documents, &names, version, self.now);
        match prove(sign).and_then(|proof| proof.write()) {
            Some(bytes) => draft.write(PROOF_FILE, &bytes),
            None => Ok(()),
        }
    }

    /// Puts the proof into a cache that is already in its place, unless one of the documents that it
    /// shares with an earlier one is not what was proved there. Another build may have replaced the
    /// cache already, and without a proof it is slower and not wrong: nothing here is a failure.
    fn prove_in_place(
        &self,
        cache: &DirHandle,
        names: &DocumentNames,
        cache_version: Digest,
        before: impl Fn(usize) -> Option<FileStamp>,
    ) {
        let Ok(documents) = check::documents(cache) else {
            return;
        };
        let Some(proof) = prove(|| sign(cache, &documents, names, cache_version, self.now)) else {
            return;
        };
        let same = |(number, mark): (usize, &DocumentStamp)| match before(number) {
            Some(before) => mark.signature.is_same_but_for_links(&before),
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

/// The proof, once enough time has passed since the last change. Without it a cache is slower to
/// open, and not wrong.
fn prove(sign: impl Fn() -> Option<Proof>) -> Option<Proof> {
    for _ in 0..SETTLING_TRIES {
        if let Some(proof) = sign() {
            return Some(proof);
        }
        std::thread::sleep(SETTLING);
    }
    None
}

/// The new number of every document that was there, where it is kept.
fn renumber(before: &PreviousCache, placed: &[PreparedDocument]) -> Vec<Option<u32>> {
    let mut renumbered = vec![None; before.cache.index().sizes().documents()];
    for (new, one) in (0..).zip(placed) {
        if let Some(old) = one.kept {
            renumbered[old as usize] = Some(new);
        }
    }
    renumbered
}

/// The signatures of a cache whose documents have these names; none where one is too fresh to prove
/// anything.
fn sign(
    cache: &DirHandle,
    documents: &DirHandle,
    names: &DocumentNames,
    cache_version: Digest,
    now: Now<'_>,
) -> Option<Proof> {
    let at = now.now();
    let settled = |signature: &FileStamp| signature.settled(at);
    let manifest = cache.signature(MANIFEST).ok().filter(settled)?;
    let index = cache.signature(INDEX).ok().filter(settled)?;
    let folder = documents.own_signature().ok().filter(settled)?;
    let parts = parallel::over(names.len(), Vec::new, |marks: &mut Vec<_>, number| {
        let signature = documents.signature(names.get(number));
        marks.push((number, signature.ok().filter(settled)));
    });
    let mut marks = parts.concat();
    marks.sort_unstable_by_key(|(number, _)| *number);
    let settled = true;
    let mark = |(_, signature): (usize, Option<FileStamp>)| {
        signature.map(|signature| DocumentStamp { signature, settled })
    };
    Some(Proof {
        cache_version,
        manifest: Some(manifest),
        index: Some(index),
        folder: Some(folder),
        names: names.clone(),
        documents: marks.into_iter().map(mark).collect::<Option<_>>()?,
    })
}

fn lists(list: &[SourceFile], placed: &[PreparedDocument]) -> Manifest {
    let listed = list
        .iter()
        .zip(placed)
        .map(|(source, placed)| ManifestEntry {
            id: source.id.clone(),
            version: placed.version,
            name: placed.name.clone(),
        });
    Manifest::of(listed.collect())
}

fn of_sources(list: &[SourceFile], placed: &[PreparedDocument]) -> Vec<Origin> {
    let origins = list.iter().zip(placed).map(|(source, placed)| Origin {
        path: source.path.clone(),
        version: placed.version,
        signature: placed.origin,
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
            wanted: &SourceFilter::default(),
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
