//! Building a cache from sources: whole, or reading only what changed since the last build.

use crate::accelerate::{Gatherer, INDEX_FILE, Kept, Of, unwritten, write_passages, write_words};
use crate::cache::{Cache, Known};
use crate::check::Now;
use crate::digest::Digest;
use crate::document;
use crate::failure::{Failure, SourceFlaw};
use crate::folder::{Folder, signature_of};
use crate::location::Location;
use crate::manifest::{INDEX, Listed, MANIFEST, Manifest};
use crate::origins::{self, ORIGINS_FILE, Origin};
use crate::parallel;
use crate::passage_index::{PASSAGES_FILE, PassageIndex};
use crate::proof::{Mark, PROOF_FILE, Proof};
use crate::signature::Signature;
use crate::sources::{Source, Sources, Wanted, unreadable};
use crate::target::{Draft, Target, replace_file, write_new};
use crate::{MAX_CONTENT, MAX_DOCUMENTS};
use candor_fault::Timestamp;
use rustix::fs::AtFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Hears how far a build is.
pub trait Progress: Sync {
    /// A part begins that has so many steps.
    fn begin(&self, part: &'static str, steps: u64);
    /// One step is done.
    fn step(&self);
}

impl Progress for () {
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
    pub wanted: &'a Wanted,
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
    pub progress: &'a dyn Progress,
}

/// What a build has made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Built {
    /// The digest that stands for the whole cache.
    pub cache_version: Digest,
    /// How many documents it has.
    pub document_count: u64,
    /// How many of them were read from their sources.
    pub read: u64,
}

/// One document that was put into the draft.
struct Placed {
    version: Digest,
    name: String,
    origin: Option<Signature>,
}

/// What one worker has done.
struct Worker {
    gatherer: Gatherer,
    content: Vec<u8>,
    file: Vec<u8>,
    placed: Vec<(usize, Placed)>,
    kept: Vec<(usize, u32)>,
    failed: Option<(usize, Failure)>,
}

/// What can be taken over from the cache that is there.
struct Before {
    cache: Cache,
    passages: Option<PassageIndex>,
    /// Documents whose source has this path.
    origins: BTreeMap<String, (u32, Digest, Signature)>,
}

impl Build<'_> {
    /// Builds the whole cache.
    pub fn run(&self) -> Result<Built, Failure> {
        let target = Target::find(self.location, self.cache)?;
        target.check(self.force)?;
        self.write(&target, None, self.force)
    }

    /// Builds the cache anew, reading only the sources that changed.
    pub fn update(&self) -> Result<Built, Failure> {
        let target = Target::find(self.location, self.cache)?;
        let cache = Cache::open(self.location.find(self.cache)?, Known::Sealed, self.now)?;
        target.check(true)?;
        let origins = origins::find(cache.folder(), cache.version()).unwrap_or_default();
        let origins = origins.into_iter().zip(0..).filter_map(|(origin, number)| {
            let signature = origin.signature?;
            Some((origin.path, (number, origin.version, signature)))
        });
        let mut before = Before {
            passages: cache.own_passage_index(),
            origins: origins.collect(),
            cache,
        };
        if self.passages && before.passages.is_none() {
            // Every document has to be looked at for its passages.
            before.origins.clear();
        }
        self.write(&target, Some(before), true)
    }

    fn write(
        &self,
        target: &Target,
        before: Option<Before>,
        force: bool,
    ) -> Result<Built, Failure> {
        let sources = Sources::open(self.location, self.sources)?;
        let list = sources.list(self.wanted)?;
        let draft = target.draft(self.random)?;
        let workers = self.place(&sources, &list, &draft, before.as_ref())?;
        let (mut gathered, mut placed, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for worker in workers {
            gathered.push(worker.gatherer);
            placed.extend(worker.placed);
            kept.extend(worker.kept);
        }
        placed.sort_unstable_by_key(|(number, _)| *number);
        if placed.len() != list.len() || list.len() > MAX_DOCUMENTS {
            return Err(Failure::Bug("a source was lost"));
        }
        let mut placed: Vec<Placed> = placed.into_iter().map(|(_, placed)| placed).collect();
        name_finally(&draft.documents, &mut placed)?;
        let manifest = lists(&list, &placed);
        draft.write(MANIFEST, &manifest.manifest_bytes(self.created_at))?;
        draft.write(INDEX, &manifest.index_bytes())?;
        draft.write(
            ORIGINS_FILE,
            &origins::write(manifest.cache_version, &of_sources(&list, &placed)),
        )?;
        self.accelerate(&draft, &manifest, gathered, before.as_ref(), &kept)?;
        if before.is_none() {
            if let Some(proof) = self.prove(&draft.folder, &draft.documents, &manifest) {
                draft.write(PROOF_FILE, &proof)?;
            }
            draft.publish(force)?;
        } else {
            // Documents are shared with the cache that is replaced: only when that is gone do their
            // signatures stay.
            drop(before);
            let folder = draft.publish(force)?;
            let documents = crate::check::documents(&folder)
                .map_err(|_| Failure::Bug("a cache just built has no documents"))?;
            if let Some(proof) = self.prove(&folder, &documents, &manifest) {
                replace_file(&folder, PROOF_FILE, |file| {
                    file.write_all(&proof).map_err(|error| Failure::System {
                        doing: format!("write {PROOF_FILE}"),
                        error,
                    })
                })?;
            }
        }
        Ok(Built {
            cache_version: manifest.cache_version,
            document_count: list.len() as u64,
            read: (list.len() - kept.len()) as u64,
        })
    }

    /// Puts every document into the draft.
    fn place(
        &self,
        sources: &Sources,
        list: &[Source],
        draft: &Draft<'_>,
        before: Option<&Before>,
    ) -> Result<Vec<Worker>, Failure> {
        self.progress.begin("documents", list.len() as u64);
        // Work beyond the first failure is wasted; before it, an earlier one may still be found.
        let limit = AtomicUsize::new(usize::MAX);
        let taken = Mutex::new(BTreeSet::new());
        let passages = self.with_passages(before);
        let make = || Worker {
            gatherer: Gatherer::new(passages),
            content: Vec::new(),
            file: Vec::new(),
            placed: Vec::new(),
            kept: Vec::new(),
            failed: None,
        };
        let workers = parallel::over(list.len(), make, |worker, number| {
            if number >= limit.load(Ordering::Relaxed) {
                return;
            }
            let one = One {
                number,
                source: &list[number],
                taken: &taken,
                draft,
            };
            match self.place_one(worker, &one, sources, before) {
                Ok(placed) => worker.placed.push((number, placed)),
                Err(failure) => {
                    limit.fetch_min(number, Ordering::Relaxed);
                    worker.failed.get_or_insert((number, failure));
                }
            }
            self.progress.step();
        });
        let (failed, workers): (Vec<_>, Vec<_>) = workers
            .into_iter()
            .partition(|worker| worker.failed.is_some());
        let first = failed.into_iter().filter_map(|worker| worker.failed);
        match first.min_by_key(|(number, _)| *number) {
            Some((_, failure)) => Err(failure),
            None => Ok(workers),
        }
    }

    fn place_one(
        &self,
        worker: &mut Worker,
        one: &One<'_>,
        sources: &Sources,
        before: Option<&Before>,
    ) -> Result<Placed, Failure> {
        let path = &one.source.path;
        let failed = |error: rustix::io::Errno| unreadable(path, error.into());
        if let Some(before) = before
            && let Some((number, version, origin)) = before.origins.get(path)
            && sources.folder.signature(path) == Ok(*origin)
            && let Some(name) = keep(before, *number, one, *version)?
        {
            worker.kept.push((one.number, *number));
            return Ok(Placed {
                version: *version,
                name,
                origin: Some(*origin),
            });
        }
        let file = sources.folder.open(path).map_err(failed)?;
        let origin = signature_of(&file).map_err(failed)?;
        worker.content.clear();
        (&file)
            .take(MAX_CONTENT + 1)
            .read_to_end(&mut worker.content)
            .map_err(|error| unreadable(path, error))?;
        if worker.content.len() as u64 > MAX_CONTENT {
            let large = SourceFlaw::Large(path.clone(), origin.size());
            return Err(Failure::Sources(large));
        }
        let unchanged = signature_of(&file).map_err(failed)? == origin;
        let content = std::str::from_utf8(&worker.content).map_err(|error| {
            Failure::Sources(SourceFlaw::Content(path.clone(), error.valid_up_to()))
        })?;
        let version = Digest::of(content.as_bytes());
        worker.file.clear();
        document::write(&mut worker.file, &one.source.id, version, path, content);
        let name = one.name(version);
        write_new(&one.draft.documents, &name, &worker.file).map_err(|error| Failure::System {
            doing: format!("write the document of `{}`", crate::failure::shown(path)),
            error,
        })?;
        worker.gatherer.add(one.number as u32, content);
        Ok(Placed {
            version,
            name,
            origin: Some(origin).filter(|origin| unchanged && origin.settled((self.now)())),
        })
    }

    fn with_passages(&self, before: Option<&Before>) -> bool {
        self.passages || before.is_some_and(|before| before.passages.is_some())
    }

    fn accelerate(
        &self,
        draft: &Draft<'_>,
        manifest: &Manifest,
        gathered: Vec<Gatherer>,
        before: Option<&Before>,
        kept: &[(usize, u32)],
    ) -> Result<(), Failure> {
        let with_passages = self.with_passages(before);
        self.progress.begin("index", 1 + u64::from(with_passages));
        let create = |name| Ok(BufWriter::with_capacity(1 << 20, draft.create(name)?));
        let of = Of {
            cache_version: manifest.cache_version,
            documents: manifest.documents.len(),
        };
        let renumbered = before.map(|before| renumber(before, kept));
        let renumbered = renumbered.as_deref().unwrap_or_default();
        let (words, passages) = Gatherer::apart(gathered);
        let from = before.map(|before| Kept {
            index: before.cache.index(),
            renumbered,
        });
        write_words(create(INDEX_FILE)?, of, words, from).map_err(unwritten)?;
        self.progress.step();
        if with_passages {
            let index = before.and_then(|before| before.passages.as_ref());
            let from = index.map(|index| Kept { index, renumbered });
            write_passages(create(PASSAGES_FILE)?, of, passages, from).map_err(unwritten)?;
            self.progress.step();
        }
        Ok(())
    }

    /// The file of the proof, once enough time has passed since the last change. Without it a cache
    /// is slower to open, and not wrong.
    fn prove(&self, cache: &Folder, documents: &Folder, manifest: &Manifest) -> Option<Vec<u8>> {
        for _ in 0..8 {
            let proof = sign(cache, documents, manifest, self.now);
            if let Some(bytes) = proof.and_then(|proof| proof.write()) {
                return Some(bytes);
            }
            std::thread::sleep(Duration::from_millis(21));
        }
        None
    }
}

/// The new number of every document that was there, where it is kept.
fn renumber(before: &Before, kept: &[(usize, u32)]) -> Vec<Option<u32>> {
    let mut renumbered = vec![None; before.cache.index().sizes().documents()];
    for (new, old) in kept {
        renumbered[*old as usize] = Some(*new as u32);
    }
    renumbered
}

/// The signatures of a cache that was just written.
fn sign(cache: &Folder, documents: &Folder, manifest: &Manifest, now: Now<'_>) -> Option<Proof> {
    let at = now();
    let settled = |signature: &Signature| signature.settled(at);
    let manifest_file = cache.signature(MANIFEST).ok().filter(settled)?;
    let index = cache.signature(INDEX).ok().filter(settled)?;
    let folder = documents.own_signature().ok().filter(settled)?;
    let mut marks = Vec::with_capacity(manifest.documents.len());
    for one in &manifest.documents {
        let signature = documents.signature(&one.name).ok().filter(settled)?;
        let settled = true;
        marks.push(Mark { signature, settled });
    }
    Some(Proof {
        cache_version: manifest.cache_version,
        manifest: Some(manifest_file),
        index: Some(index),
        folder: Some(folder),
        names: manifest
            .documents
            .iter()
            .map(|one| one.name.as_str())
            .collect(),
        documents: marks,
    })
}

/// A document on its way into the draft.
struct One<'a> {
    number: usize,
    source: &'a Source,
    taken: &'a Mutex<BTreeSet<String>>,
    draft: &'a Draft<'a>,
}

impl One<'_> {
    /// The name of the version, or another one for now where that is taken.
    fn name(&self, version: Digest) -> String {
        let short = version.short();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.insert(short.clone()) {
            true => format!("{short}.json"),
            false => format!("{short}~{}.json", self.number),
        }
    }
}

/// Takes over the file of a document; none where it is to be written anew.
fn keep(
    before: &Before,
    number: u32,
    one: &One<'_>,
    version: Digest,
) -> Result<Option<String>, Failure> {
    let Some(mark) = before.cache.proof().documents.get(number as usize) else {
        return Ok(None);
    };
    let old = before.cache.proof().names.get(number as usize);
    let documents = before.cache.documents();
    if documents.signature(old) != Ok(mark.signature) {
        return Err(Failure::Restless);
    }
    let name = one.name(version);
    let to = &one.draft.documents;
    if rustix::fs::linkat(documents, old, to, &name, AtFlags::empty()).is_err() {
        // No links here, or too many to this file: its bytes are as good.
        let mut bytes = Vec::new();
        let doing = || format!("copy {}", crate::failure::shown(old));
        let mut file = documents.open(old).map_err(Failure::system(doing()))?;
        let failed = |error| Failure::System {
            doing: doing(),
            error,
        };
        file.read_to_end(&mut bytes).map_err(failed)?;
        write_new(to, &name, &bytes).map_err(failed)?;
    }
    Ok(Some(name))
}

/// Gives every document its final name: the first of several with equal beginnings, in the order of
/// ids, has the plain one.
fn name_finally(documents: &Folder, placed: &mut [Placed]) -> Result<(), Failure> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut moves = Vec::new();
    for (number, one) in placed.iter_mut().enumerate() {
        let short = one.version.short();
        let times = seen.entry(short.clone()).or_default();
        *times += 1;
        let name = match times {
            1 => format!("{short}.json"),
            times => format!("{short}-{times}.json"),
        };
        if name != one.name {
            moves.push((
                std::mem::replace(&mut one.name, name.clone()),
                format!("~{number}"),
                name,
            ));
        }
    }
    let rename = |from: &str, to: &str| {
        let renamed = rustix::fs::renameat(documents, from, documents, to);
        renamed.map_err(Failure::system("rename a document"))
    };
    // Names may be taken by one another: all of them step aside first.
    for (from, aside, _) in &moves {
        rename(from, aside)?;
    }
    for (_, aside, to) in &moves {
        rename(aside, to)?;
    }
    Ok(())
}

fn lists(list: &[Source], placed: &[Placed]) -> Manifest {
    let listed = list.iter().zip(placed).map(|(source, placed)| Listed {
        id: source.id.clone(),
        version: placed.version,
        name: placed.name.clone(),
    });
    Manifest::of(listed.collect())
}

fn of_sources(list: &[Source], placed: &[Placed]) -> Vec<Origin> {
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

    #[test]
    fn a_source_has_a_largest_size() {
        let root = tempfile::tempdir().unwrap();
        let sources = root.path().join("sources");
        std::fs::create_dir(&sources).unwrap();
        let file = std::fs::File::create(sources.join("large.md")).unwrap();
        file.set_len(MAX_CONTENT + 1).unwrap();
        let build = Build {
            location: &Location::Anywhere,
            sources: &sources,
            cache: &root.path().join("cache"),
            wanted: &Wanted::default(),
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
