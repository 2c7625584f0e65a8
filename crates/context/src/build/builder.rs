//! Builds a cache from sources: completely, or by reading only the sources that changed.

use crate::build::build_record::{BuildRecord, BuildSettings, RECORD_FILE};
use crate::build::document_writer::{
    DocumentWriter, PendingRenames, PreparedDocument, assign_final_names,
};
use crate::build::draft::{
    BuildTarget, CacheDraft, ReplacedCache, SpareCache, replace_checksummed,
};
use crate::build::origins::{self, ORIGINS_FILE, Origin};
use crate::build::reuse::{ExistingLinks, Linked, PreviousCache, link_all, reuse_documents};
use crate::build::source_filter::SourceFilter;
use crate::build::source_memory::SourceMemory;
use crate::build::sources::{ListingRequest, SourceDirectory, SourceFile, SourceListing};
use crate::failure::{Failure, SourceFlaw};
use crate::files::dir_handle::DirHandle;
use crate::files::file_stamp::{FileStamp, SETTLING, SETTLING_TRIES};
use crate::files::location::Location;
use crate::format::digest::Digest;
use crate::format::manifest::{self, INDEX, MANIFEST, Manifest, ManifestEntry};
use crate::index::inverted::IndexWriteError;
use crate::index::passage_index::{PASSAGES_FILE, PassageIndex};
use crate::index::writing::{
    INDEX_FILE, IndexGatherer, IndexScope, ReusedIndex, touched, write_passages, write_words,
};
use crate::parallel;
use crate::proof::check::{self, Now};
use crate::proof::proof_file::{DocumentNames, DocumentStamp, PROOF_FILE, Proof};
use crate::query::reader;
use crate::tokenizer::Tokenizer;
use candor_fault::Timestamp;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// An update does not remove more than half of the documents, if they are at least this many.
const MANY_REMOVED: usize = 20;

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
    /// Selects the files that are sources.
    pub filter: &'a SourceFilter,
    /// True if files that cannot be documents are left out, instead of failing the build.
    pub skip_invalid: bool,
    /// True if passages are indexed too.
    pub passages: bool,
    /// Counts the tokens of passages. It is a part of the index.
    pub tokenizer: Tokenizer,
    /// True if a build may replace an existing cache, or an update may remove most documents.
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
    /// The files that were left out, if that was requested.
    #[serde(flatten)]
    pub skipped: Option<SkippedSources>,
}

/// The files that a build has left out, because they cannot be documents.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SkippedSources {
    pub skipped_count: u64,
    /// The first ones by path.
    pub skipped: Vec<SkippedSource>,
}

/// A file that a build has left out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SkippedSource {
    pub path: String,
    pub problem: &'static str,
}

/// The most files that are listed as left out.
pub const MAX_SKIPPED: usize = 100;

impl SkippedSources {
    fn of(flaws: &[SourceFlaw]) -> SkippedSources {
        let skipped = flaws.iter().take(MAX_SKIPPED).map(|flaw| SkippedSource {
            path: flaw.path().to_owned(),
            problem: flaw.problem(),
        });
        SkippedSources {
            skipped_count: flaws.len() as u64,
            skipped: skipped.collect(),
        }
    }
}

/// The sources of a build.
struct FoundSources {
    directory: SourceDirectory,
    record: Option<BuildRecord>,
    listing: SourceListing,
    /// The time of the walk that has found them.
    walked: Instant,
}

/// The files that were written into a draft.
struct DraftContents {
    list: Vec<SourceFile>,
    prepared: Vec<PreparedDocument>,
    /// The files that were left out.
    flaws: Vec<SourceFlaw>,
    /// In an update the renames are done last: names are free once documents are reused.
    moves: PendingRenames,
    /// For each previous document whether its file is untouched, if documents were reused already.
    untouched: Option<Vec<bool>>,
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
            DraftError::Index => Failure::Bug("what was gathered cannot be merged"),
            DraftError::Failed(failure) => failure,
        }
    }
}

impl Build<'_> {
    /// Builds the whole cache.
    pub fn run(&self) -> Result<BuildOutcome, Failure> {
        let target = BuildTarget::find(self.location, self.cache)?;
        target.check(self.force)?;
        let built = self.write_all(&target, self.force, &mut SourceMemory::default());
        built.map_err(|failure| failure.in_cache(target.shown()))
    }

    /// Builds the cache anew, reading only the sources that changed. Waits until no other process updates
    /// the same cache.
    pub fn update(&self) -> Result<BuildOutcome, Failure> {
        let memory = &mut SourceMemory::default();
        let updated = self.update_unless(&|| false, &Mutex::default(), memory)?;
        updated.ok_or(Failure::Bug("an update was stopped without a request"))
    }

    /// Does the same, one after another with others that have the same `turn`, and with what it remembers
    /// of the sources. Returns `None` if it is `stopped` before the update starts.
    pub(crate) fn update_unless(
        &self,
        stopped: &dyn Fn() -> bool,
        turn: &Mutex<()>,
        memory: &mut SourceMemory,
    ) -> Result<Option<BuildOutcome>, Failure> {
        // A missing cache is `cache_missing`, whichever part of its path is missing.
        self.location.find(self.cache)?;
        let target = BuildTarget::find(self.location, self.cache)?;
        let Some(_lock) = target.lock_for_update(stopped)? else {
            return Ok(None);
        };
        // The update that has the turn has its lock already and waits for no other.
        let _turn = parallel::lock(turn);
        match stopped() {
            true => Ok(None),
            false => self.update_locked(&target, memory).map(Some),
        }
    }

    fn update_locked(
        &self,
        target: &BuildTarget,
        memory: &mut SourceMemory,
    ) -> Result<BuildOutcome, Failure> {
        // A killed update has left links to the documents. Removing them changes ctimes, so it
        // happens before anything is proved.
        target.remove_leftovers();
        let (opened, found) = parallel::both(
            || Ok::<_, Failure>((self.open_previous(target)?, target.find_spare())),
            || self.find_sources(target, true, memory),
        );
        let (before, spare) = opened?;
        let cache = &before.cache;
        let sealed = (!cache.was_hashed()).then(|| cache.proof().clone());
        let before = Some((before, spare));
        let built = found.and_then(|found| self.write(target, before, true, found, memory));
        if built.is_err()
            && let Some(old) = sealed
            && let Ok(cache) = self.location.find(self.cache)
        {
            // New links to its documents have changed their ctimes: new stamps are taken.
            let before = |number: usize| Some(KnownStamp::Linked(old.documents.get(number)?.stamp));
            self.prove_in_place(&cache, &old.names, old.cache_version, before);
        }
        built.map_err(|failure| failure.in_cache(target.shown()))
    }

    /// Opens the cache that an update replaces.
    fn open_previous(&self, target: &BuildTarget) -> Result<PreviousCache, Failure> {
        let cache = reader::open(self.location, self.cache, self.now)?;
        target.check_proved(&cache.proof().names)?;
        let origins = origins::find(cache.open_dir(), cache.version()).unwrap_or_default();
        let mut before = PreviousCache::new(cache, origins);
        // A document can be edited and still be valid, if the edit is outside what the format
        // protects. It then differs from what a build would write.
        let edited = before.cache.was_hashed();
        let of_another = |index: &mut PassageIndex| index.tokenizer() != self.tokenizer;
        before.passages.take_if(of_another);
        // Without an index of passages every document has to be read.
        let unseen = self.passages && before.passages.is_none();
        if edited || unseen {
            before.forget_origins();
        }
        Ok(before)
    }

    /// Finds the sources, by a walk through them or from memory. In an update they get stamps.
    fn find_sources(
        &self,
        target: &BuildTarget,
        is_update: bool,
        memory: &mut SourceMemory,
    ) -> Result<FoundSources, Failure> {
        let sources = SourceDirectory::open(self.location, self.sources)?;
        let names = target.names_below(&sources.real_path)?;
        let settings = BuildSettings {
            filter: self.filter,
            skip_invalid: self.skip_invalid,
            passages: self.passages,
            tokenizer: self.tokenizer,
        };
        let record = BuildRecord::new(&sources.real_path, target.holder(), &settings);
        let now = Instant::now();
        let remembered = record
            .as_ref()
            .and_then(|record| memory.take(&sources, record, now));
        let (listing, walked) = match remembered {
            Some((files, walked)) => {
                let listing = SourceListing {
                    files,
                    ..SourceListing::default()
                };
                (listing, walked)
            }
            None => {
                let request = ListingRequest {
                    filter: self.filter,
                    sign: is_update,
                    target: names.as_ref(),
                };
                (sources.list(&request)?, now)
            }
        };
        Ok(FoundSources {
            directory: sources,
            record,
            listing,
            walked,
        })
    }

    /// Writes a cache of which nothing exists.
    fn write_all(
        &self,
        target: &BuildTarget,
        force: bool,
        memory: &mut SourceMemory,
    ) -> Result<BuildOutcome, Failure> {
        let found = self.find_sources(target, false, memory)?;
        self.write(target, None, force, found, memory)
    }

    fn write(
        &self,
        target: &BuildTarget,
        before: Option<(PreviousCache, Option<SpareCache>)>,
        force: bool,
        found: FoundSources,
        memory: &mut SourceMemory,
    ) -> Result<BuildOutcome, Failure> {
        let FoundSources {
            directory: sources,
            record,
            mut listing,
            walked,
        } = found;
        let (before, spare) = before.unzip();
        // Before the draft: an update that is refused has not changed anything, not even ctimes.
        self.check_listing(&sources, &mut listing, before.as_ref())?;
        let draft = match spare {
            Some(spare) => target.draft_of_update(spare, self.random)?,
            None => target.draft(self.random)?,
        };
        if let Some(record) = &record {
            draft.write(RECORD_FILE, &record.bytes())?;
        }
        let make = || self.fill_draft(&draft, &sources, listing, before.as_ref());
        let (made, linked) = match &before {
            Some(before) if draft.links.is_none() => {
                parallel::both(make, || link_all(before, &draft.documents))
            }
            _ => (make(), Linked::default()),
        };
        let made = match made {
            // The existing index is corrupt: nothing is reused.
            Err(DraftError::Index) if before.is_some() => {
                drop((before, draft));
                return self.write_all(target, force, memory);
            }
            made => made?,
        };
        let DraftContents {
            list,
            manifest,
            prepared,
            flaws,
            moves,
            untouched,
        } = made;
        match before {
            Some(before) => {
                let untouched = match untouched {
                    Some(untouched) => untouched,
                    None => {
                        let links = ExistingLinks::New(&linked);
                        let made = reuse_documents(&before, &draft.documents, &prepared, links)?;
                        moves.run(&draft.documents)?;
                        draft.sync_documents(&written(&prepared))?;
                        made
                    }
                };
                let old = before.cache.into_proof();
                let published = draft.publish(force)?;
                let before = |number: usize| {
                    let shared = prepared[number].shared()? as usize;
                    let stamp = old.documents.get(shared)?.stamp;
                    Some(match untouched.get(shared) {
                        Some(true) => KnownStamp::Same(stamp),
                        _ => KnownStamp::Linked(stamp),
                    })
                };
                let (names, version) = (names_of(&manifest), manifest.cache_version);
                let directory = published.directory();
                let (finished, ()) = parallel::both(
                    || published.finish(ReplacedCache::KeepAsSpare),
                    || self.prove_in_place(directory, &names, version, before),
                );
                finished?;
            }
            None => {
                draft.sync_all()?;
                draft.publish(force)?.finish(ReplacedCache::Remove)?;
            }
        }
        // Without files that were left out: they would have to be reported again.
        if let Some(record) = record.filter(|record| !record.skip_invalid) {
            memory.remember(list, &sources, &record, walked);
        }
        let reused = prepared.iter().filter(|one| one.reused.is_some()).count();
        Ok(BuildOutcome {
            cache_version: manifest.cache_version,
            document_count: prepared.len() as u64,
            read: (prepared.len() - reused) as u64,
            skipped: self.skip_invalid.then(|| SkippedSources::of(&flaws)),
        })
    }

    /// Leaves the sources in a listing that become documents. Fails if there are others, unless they are
    /// left out.
    fn check_listing(
        &self,
        sources: &SourceDirectory,
        listing: &mut SourceListing,
        before: Option<&PreviousCache>,
    ) -> Result<(), Failure> {
        if self.skip_invalid || !listing.flaws.is_empty() {
            self.remove_flawed(sources, listing, before)?;
        }
        let SourceListing { files, flaws, .. } = listing;
        // In the order of paths: this is how they are reported.
        flaws.sort_by(|one, other| one.path().cmp(other.path()));
        if !flaws.is_empty() && (!self.skip_invalid || files.is_empty()) {
            return Err(Failure::Sources(std::mem::take(flaws)));
        }
        match before {
            Some(before) => self.check_removals(sources, files, before)?,
            None if files.is_empty() && self.filter.is_explicit() => {
                let globs = self.filter.include().to_vec();
                return Err(Failure::NoMatch { globs });
            }
            None => {}
        }
        Ok(())
    }

    /// Moves the files whose contents cannot be documents from the files of a listing to its flaws.
    fn remove_flawed(
        &self,
        sources: &SourceDirectory,
        listing: &mut SourceListing,
        before: Option<&PreviousCache>,
    ) -> Result<(), Failure> {
        let known = |file: &SourceFile| before.is_some_and(|before| before.find(file).is_some());
        let flawed = sources.find_flaws(&listing.files, known, self.now)?;
        listing.remove_flawed(flawed);
        Ok(())
    }

    /// Refuses to remove every document, or most of many.
    fn check_removals(
        &self,
        sources: &SourceDirectory,
        files: &[SourceFile],
        before: &PreviousCache,
    ) -> Result<(), Failure> {
        let documents = before.document_count();
        let is_refused = |removed: usize| {
            let most = removed > documents / 2 && removed >= MANY_REMOVED;
            documents > 0 && (removed == documents || most)
        };
        let kept = files.iter().filter(|file| before.has_path(&file.path));
        if self.force || !is_refused(documents.saturating_sub(kept.count())) {
            return Ok(());
        }
        // Some documents may have new paths or no recorded ones: their ids decide.
        let Some(manifest) = manifest::read(before.cache.open_dir()).manifest else {
            return Err(Failure::Restless);
        };
        let has_source = |id: &String| files.binary_search_by(|file| file.id.cmp(id)).is_ok();
        let gone = manifest.documents.iter().filter(|one| !has_source(&one.id));
        let removed = gone.count();
        match is_refused(removed) {
            true => Err(Failure::Emptying {
                removed,
                documents,
                sources: sources.real_path.to_string_lossy().into_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Writes everything into the draft that the previous cache does not contain.
    fn fill_draft(
        &self,
        draft: &CacheDraft<'_>,
        sources: &SourceDirectory,
        listing: SourceListing,
        before: Option<&PreviousCache>,
    ) -> Result<DraftContents, DraftError> {
        let SourceListing {
            files: list, flaws, ..
        } = listing;
        self.progress.begin("documents", list.len() as u64);
        let placing = DocumentWriter {
            sources,
            list: &list,
            into: &draft.documents,
            before,
            passages: self.passages.then_some(self.tokenizer),
            now: self.now,
            step: &|| self.progress.step(),
        };
        let (mut prepared, gathered) = match placing.run() {
            Err(Failure::Sources(first)) => {
                return Err(self.find_all_flaws(sources, list, before, first)?.into());
            }
            written => written?,
        };
        let moves = assign_final_names(&mut prepared);
        if before.is_none() {
            moves.run(&draft.documents)?;
        }
        let manifest = manifest_of(&list, &prepared);
        let (listed, indexed) = parallel::both(
            || {
                let mut untouched = None;
                // Early, because stamps prove nothing until some time after the last change.
                if let (Some(before), Some(links)) = (before, &draft.links) {
                    let links = ExistingLinks::Spare(links);
                    let made = reuse_documents(before, &draft.documents, &prepared, links)?;
                    untouched = Some(made);
                    moves.run(&draft.documents)?;
                }
                let origins = origins_of(&list, &prepared);
                self.write_lists(draft, &manifest, &origins)?;
                match (before, &untouched) {
                    (None, _) => self.prove_early(draft, &manifest)?,
                    (Some(_), None) => draft.sync_lists()?,
                    (Some(_), Some(_)) => draft.sync(&written(&prepared))?,
                }
                Ok::<_, Failure>(untouched)
            },
            || self.write_indexes(draft, &manifest, gathered, &prepared, before),
        );
        let untouched = listed?;
        match indexed {
            Err(IndexWriteError::CorruptFile) => return Err(DraftError::Index),
            Err(IndexWriteError::System(error)) => return Err(Failure::unwritten(error).into()),
            Ok(()) => {}
        }
        Ok(DraftContents {
            list,
            prepared,
            flaws,
            moves,
            untouched,
            manifest,
        })
    }

    /// Returns the failure of a build whose sources contain files that cannot be documents: every one
    /// of them, or the first ones that were found if they have changed since.
    fn find_all_flaws(
        &self,
        sources: &SourceDirectory,
        files: Vec<SourceFile>,
        before: Option<&PreviousCache>,
        first: Vec<SourceFlaw>,
    ) -> Result<Failure, Failure> {
        let mut listing = SourceListing {
            files,
            ..SourceListing::default()
        };
        self.remove_flawed(sources, &mut listing, before)?;
        let flaws = match listing.flaws.is_empty() {
            true => first,
            false => listing.flaws,
        };
        Ok(Failure::Sources(flaws))
    }

    /// Writes the manifest, the index of ids and the origins.
    fn write_lists(
        &self,
        draft: &CacheDraft<'_>,
        manifest: &Manifest,
        origins: &[Origin],
    ) -> Result<(), Failure> {
        draft.write(MANIFEST, &manifest.manifest_bytes(self.created_at))?;
        draft.write(INDEX, &manifest.index_bytes())?;
        let origins = origins::write(manifest.cache_version, origins);
        draft.write(ORIGINS_FILE, &origins)
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
        if !self.passages {
            write_words()?;
        } else {
            let write_passages = || {
                let index = before.and_then(|before| before.passages.as_ref());
                let from = index.map(|index| ReusedIndex { index, renumbered });
                write_passages(create(PASSAGES_FILE)?, of, self.tokenizer, passages, from)
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
        draft.sync_all()?;
        let (names, version) = (names_of(manifest), manifest.cache_version);
        let sign = || {
            take_stamps(
                &draft.directory,
                &draft.documents,
                &names,
                version,
                self.now,
                |_| None,
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
        before: impl Fn(usize) -> Option<KnownStamp> + Sync,
    ) {
        let Ok(documents) = check::open_documents(cache) else {
            return;
        };
        // A file that was changed after it was proved has another stamp than the one that is taken over.
        let same = |number| match before(number) {
            Some(KnownStamp::Same(stamp)) => Some(stamp),
            _ => None,
        };
        let sign = || take_stamps(cache, &documents, names, cache_version, self.now, same);
        let Some(proof) = wait_for_proof(sign) else {
            return;
        };
        let same = |(number, mark): (usize, &DocumentStamp)| match before(number) {
            Some(KnownStamp::Linked(before)) => mark.stamp.is_same_but_for_links(&before),
            _ => true,
        };
        if proof.documents.iter().enumerate().all(same)
            && let Some(bytes) = proof.write()
        {
            let _ = replace_checksummed(cache, PROOF_FILE, &bytes);
        }
    }
}

/// The proved stamp of a document that two caches share.
#[derive(Debug, Clone, Copy)]
enum KnownStamp {
    /// The file is untouched since.
    Same(FileStamp),
    /// Links to the file were made or removed since, which changes its ctime.
    Linked(FileStamp),
}

/// Returns the names of the documents that no other cache contains.
fn written(prepared: &[PreparedDocument]) -> Vec<&str> {
    let new = prepared.iter().filter(|one| one.shared().is_none());
    new.map(|one| one.name.as_str()).collect()
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
/// recently. Stamps that are `known` are not taken.
fn take_stamps(
    cache: &DirHandle,
    documents: &DirHandle,
    names: &DocumentNames,
    cache_version: Digest,
    now: Now<'_>,
    known: impl Fn(usize) -> Option<FileStamp> + Sync,
) -> Option<Proof> {
    let at = now.now();
    let settled = |stamp: &FileStamp| stamp.is_settled(at);
    let manifest = cache.stamp(MANIFEST).ok().filter(settled)?;
    let index = cache.stamp(INDEX).ok().filter(settled)?;
    let directory = documents.own_stamp().ok().filter(settled)?;
    let parts = parallel::over(names.len(), Vec::new, |marks: &mut Vec<_>, number| {
        let take = || documents.stamp(names.get(number)).ok().filter(settled);
        marks.push((number, known(number).or_else(take)));
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
            skip_invalid: false,
            passages: false,
            tokenizer: Tokenizer::Bytes4,
            force: false,
            created_at: Timestamp::UNIX_EPOCH,
            now: &|| Timestamp::MAX,
            random: 7,
            progress: &(),
        };
        let Err(Failure::Sources(flaws)) = build.run() else {
            panic!("it was built");
        };
        let expected = SourceFlaw::Large(String::from("large.md"), MAX_CONTENT + 1);
        assert_eq!(flaws, [expected]);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
