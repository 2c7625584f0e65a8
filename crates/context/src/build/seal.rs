//! Sealing a cache: it is checked completely, and gets a fresh index and proof where it is.

use crate::build::builder::BuildOutcome;
use crate::build::draft::{replace_bytes, replace_file};
use crate::build::origins::{self, ORIGINS_FILE};
use crate::failure::Failure;
use crate::files::dir_handle::DirHandle;
use crate::files::file_stamp::{SETTLING, SETTLING_TRIES};
use crate::files::location::Location;
use crate::format::manifest;
use crate::index::passage_index::PASSAGES_FILE;
use crate::index::writing::{
    INDEX_FILE, IndexGatherer, IndexScope, unwritten, write_passages, write_words,
};
use crate::proof::check::{self, Now};
use crate::proof::proof_file::PROOF_FILE;
use std::io::BufWriter;
use std::path::Path;

/// Checks the whole cache and writes what makes it fast; passages too where they are asked for, or
/// were there.
pub fn seal(
    location: &Location,
    path: &Path,
    passages: bool,
    now: Now<'_>,
) -> Result<BuildOutcome, Failure> {
    let folder = location.find(path)?;
    let passages = passages || folder.stat(PASSAGES_FILE).is_ok();
    let documents = match check::documents(&folder) {
        Ok(documents) => documents,
        Err(problem) => return Err(check::without_documents(&folder, problem)),
    };
    let lists = manifest::read(&folder);
    let checked = check::check(lists, &documents, None, now, || {
        IndexGatherer::new(passages)
    });
    let (manifest, mut proof, gathered) = checked.sound()?;
    let of = IndexScope::listed(&manifest);
    distrust_origins(&folder, &of)?;
    let (in_words, in_passages) = IndexGatherer::apart(gathered);
    replace_file(&folder, INDEX_FILE, |file| {
        let out = BufWriter::with_capacity(1 << 20, file);
        write_words(out, of, in_words, None, None).map_err(unwritten)
    })?;
    if passages {
        replace_file(&folder, PASSAGES_FILE, |file| {
            let out = BufWriter::with_capacity(1 << 20, file);
            write_passages(out, of, in_passages, None).map_err(unwritten)
        })?;
    }
    for _ in 0..SETTLING_TRIES {
        if let Some(bytes) = proof.write() {
            replace_bytes(&folder, PROOF_FILE, &bytes)?;
            return Ok(BuildOutcome {
                cache_version: of.cache_version,
                document_count: of.documents as u64,
                read: of.documents as u64,
            });
        }
        // Something was written a moment ago: it is read again when its times can prove it.
        std::thread::sleep(SETTLING);
        let lists = manifest::read(&folder);
        let checked = check::check(lists, &documents, Some(&proof), now, || ());
        let (again, sound, _) = checked.sound()?;
        if again.cache_version != of.cache_version {
            return Err(Failure::Restless);
        }
        proof = sound;
    }
    Err(Failure::Restless)
}

/// What is sealed need not be what a build would write: the next update reads every source.
fn distrust_origins(folder: &DirHandle, of: &IndexScope) -> Result<(), Failure> {
    let Some(mut origins) = origins::find(folder, of.cache_version) else {
        return Ok(());
    };
    for origin in &mut origins.documents {
        origin.signature = None;
    }
    replace_bytes(
        folder,
        ORIGINS_FILE,
        &origins::write(of.cache_version, &origins),
    )
}
