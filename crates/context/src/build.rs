//! Building a cache from sources: whole, or reading only what changed since the last build.

use crate::accelerate::{Gatherer, INDEX_FILE, Kept, Of, unwritten, write_passages, write_words};
use crate::cache::{Cache, Known};
use crate::check::{self, Now};
use crate::digest::Digest;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::inverted::Unwritten;
use crate::location::Location;
use crate::manifest::{INDEX, Listed, MANIFEST, Manifest};
use crate::origins::{self, ORIGINS_FILE, Origin};
use crate::parallel;
use crate::passage_index::PASSAGES_FILE;
use crate::placing::{Before, Placed, Placing, name_finally, take_over};
use crate::proof::{Mark, PROOF_FILE, Proof};
use crate::signature::{SETTLING, Signature};
use crate::sources::{Source, Sources, Wanted};
use crate::target::{Draft, Target, replace_file};
use candor_fault::Timestamp;
use std::io::{BufWriter, Write};
use std::path::Path;

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

impl Build<'_> {
    /// Builds the whole cache.
    pub fn run(&self) -> Result<Built, Failure> {
        let target = Target::find(self.location, self.cache)?;
        target.check(self.force)?;
        self.write(&target, None, self.force)
    }

    /// Builds the cache anew, reading only the sources that changed.
    pub fn update(&self) -> Result<Built, Failure> {
        // A cache that is not there is missing, wherever on the way to it that shows.
        let found = self.location.find(self.cache)?;
        let target = Target::find(self.location, self.cache)?;
        let cache = Cache::open(found, Known::Sealed, self.now)?;
        target.check(true)?;
        let origins = origins::find(cache.folder(), cache.version()).unwrap_or_default();
        let mut before = Before::new(cache, origins);
        if self.with_passages(Some(&before)) && before.passages.is_none() {
            // Every document has to be looked at for its passages.
            before.forget_origins();
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
        self.progress.begin("documents", list.len() as u64);
        let placing = Placing {
            sources: &sources,
            list: &list,
            into: &draft.documents,
            before: before.as_ref(),
            passages: self.with_passages(before.as_ref()),
            now: self.now,
            step: &|| self.progress.step(),
        };
        let (mut placed, gathered) = placing.run()?;
        name_finally(&draft.documents, &mut placed)?;
        let manifest = lists(&list, &placed);
        let (listed, indexed) = parallel::both(
            || self.list(&draft, &manifest, &list, &placed, before.as_ref()),
            || self.accelerate(&draft, &manifest, gathered, &placed, before.as_ref()),
        );
        listed?;
        match indexed {
            // An index that is there breaks off: nothing is taken over.
            Err(Unwritten::Broken) if before.is_some() => {
                let passages = self.with_passages(before.as_ref());
                drop((before, draft));
                return Build { passages, ..*self }.write(target, None, force);
            }
            indexed => indexed.map_err(unwritten)?,
        }
        match before {
            // Documents are shared with the cache that is replaced: only when that is gone do their
            // signatures stay.
            Some(before) => {
                let old = before.cache.into_proof();
                let folder = draft.publish(force)?;
                self.prove_published(&folder, &manifest, &placed, &old)?;
            }
            None => {
                let sign = || sign(&draft.folder, &draft.documents, &manifest, self.now);
                if let Some(bytes) = prove(sign).and_then(|proof| proof.write()) {
                    draft.write(PROOF_FILE, &bytes)?;
                }
                draft.publish(force)?;
            }
        }
        let kept = placed.iter().filter(|one| one.kept.is_some()).count();
        Ok(Built {
            cache_version: manifest.cache_version,
            document_count: list.len() as u64,
            read: (list.len() - kept) as u64,
        })
    }

    /// Takes over what is kept, and writes the lists.
    fn list(
        &self,
        draft: &Draft<'_>,
        manifest: &Manifest,
        list: &[Source],
        placed: &[Placed],
        before: Option<&Before>,
    ) -> Result<(), Failure> {
        if let Some(before) = before {
            take_over(before, &draft.documents, placed)?;
        }
        draft.write(MANIFEST, &manifest.manifest_bytes(self.created_at))?;
        draft.write(INDEX, &manifest.index_bytes())?;
        let origins = origins::write(manifest.cache_version, &of_sources(list, placed));
        draft.write(ORIGINS_FILE, &origins)
    }

    fn with_passages(&self, before: Option<&Before>) -> bool {
        self.passages || before.is_some_and(|before| before.with_passages)
    }

    /// Writes the indexes.
    fn accelerate(
        &self,
        draft: &Draft<'_>,
        manifest: &Manifest,
        gathered: Vec<Gatherer>,
        placed: &[Placed],
        before: Option<&Before>,
    ) -> Result<(), Unwritten> {
        self.progress.begin("index", 1);
        let create = |name| {
            draft
                .create(name)
                .map(|file| BufWriter::with_capacity(1 << 20, file))
        };
        let of = Of {
            cache_version: manifest.cache_version,
            documents: manifest.documents.len(),
        };
        let renumbered = before.map(|before| renumber(before, placed));
        let renumbered = renumbered.as_deref().unwrap_or_default();
        let (words, passages) = Gatherer::apart(gathered);
        let write_words = || {
            let from = before.map(|before| Kept {
                index: before.cache.index(),
                renumbered,
            });
            write_words(create(INDEX_FILE)?, of, words, from)
        };
        if !self.with_passages(before) {
            write_words()?;
        } else {
            let write_passages = || {
                let index = before.and_then(|before| before.passages.as_ref());
                let from = index.map(|index| Kept { index, renumbered });
                write_passages(create(PASSAGES_FILE)?, of, passages, from)
            };
            let (words, passages) = parallel::both(write_words, write_passages);
            words?;
            passages?;
        }
        self.progress.step();
        Ok(())
    }

    /// Puts the proof into a cache that is already in its place, if the documents that were taken
    /// over are still the ones that were proved.
    fn prove_published(
        &self,
        cache: &Folder,
        manifest: &Manifest,
        placed: &[Placed],
        old: &Proof,
    ) -> Result<(), Failure> {
        let documents = check::documents(cache)
            .map_err(|_| Failure::Bug("a cache just built has no documents"))?;
        let Some(proof) = prove(|| sign(cache, &documents, manifest, self.now)) else {
            return Ok(());
        };
        let same = |(one, mark): (&Placed, &Mark)| match one.shared() {
            Some(kept) => {
                let before = &old.documents[kept as usize].signature;
                mark.signature.same_but_for_links(before)
            }
            None => true,
        };
        if !placed.iter().zip(&proof.documents).all(same) {
            return Ok(());
        }
        let Some(bytes) = proof.write() else {
            return Ok(());
        };
        replace_file(cache, PROOF_FILE, |file| {
            file.write_all(&bytes).map_err(|error| Failure::System {
                doing: format!("write {PROOF_FILE}"),
                error,
            })
        })
    }
}

/// The proof, once enough time has passed since the last change. Without it a cache is slower to
/// open, and not wrong.
fn prove(sign: impl Fn() -> Option<Proof>) -> Option<Proof> {
    for _ in 0..8 {
        // Something was written a moment ago, whatever it was.
        std::thread::sleep(SETTLING);
        if let Some(proof) = sign() {
            return Some(proof);
        }
    }
    None
}

/// The new number of every document that was there, where it is kept.
fn renumber(before: &Before, placed: &[Placed]) -> Vec<Option<u32>> {
    let mut renumbered = vec![None; before.cache.index().sizes().documents()];
    for (new, one) in (0..).zip(placed) {
        if let Some(old) = one.kept {
            renumbered[old as usize] = Some(new);
        }
    }
    renumbered
}

/// The signatures of a cache that was just written; none where one is too fresh to prove anything.
fn sign(cache: &Folder, documents: &Folder, manifest: &Manifest, now: Now<'_>) -> Option<Proof> {
    let at = now();
    let settled = |signature: &Signature| signature.settled(at);
    let manifest_file = cache.signature(MANIFEST).ok().filter(settled)?;
    let index = cache.signature(INDEX).ok().filter(settled)?;
    let folder = documents.own_signature().ok().filter(settled)?;
    let count = manifest.documents.len();
    let parts = parallel::over(count, Vec::new, |marks: &mut Vec<_>, number| {
        let signature = documents.signature(&manifest.documents[number].name);
        marks.push((number, signature.ok().filter(settled)));
    });
    let mut marks = parts.concat();
    marks.sort_unstable_by_key(|(number, _)| *number);
    let settled = true;
    let marks: Option<Vec<_>> = marks
        .into_iter()
        .map(|(_, signature)| signature.map(|signature| Mark { signature, settled }))
        .collect();
    let marks = marks?;
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
    use crate::MAX_CONTENT;
    use crate::failure::SourceFlaw;

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
