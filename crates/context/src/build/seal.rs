//! Seals a cache: checks it completely, and writes its indexes and its proof.

use crate::build::build_record::{record_passages, recorded_tokenizer};
use crate::build::builder::BuildOutcome;
use crate::build::draft::{replace_bytes, replace_file};
use crate::build::origins::{self, ORIGINS_FILE};
use crate::failure::Failure;
use crate::files::dir_handle::DirHandle;
use crate::files::file_stamp::{SETTLING, SETTLING_TRIES};
use crate::files::location::Location;
use crate::format::manifest;
use crate::index::inverted::IndexWriteError;
use crate::index::passage_index::{PASSAGES_FILE, PassageIndex};
use crate::index::writing::{
    INDEX_FILE, IndexGatherer, IndexScope, write_failure, write_passages, write_words,
};
use crate::proof::check::{self, Now};
use crate::proof::proof_file::PROOF_FILE;
use std::io::BufWriter;
use std::path::Path;

/// Checks the whole cache and writes indexes and proof. Passages are indexed if `passages` is set or
/// an index of them exists.
pub fn seal(
    location: &Location,
    path: &Path,
    passages: bool,
    now: Now<'_>,
) -> Result<BuildOutcome, Failure> {
    let directory = location.find(path)?;
    let sealed = seal_directory(&directory, passages, now);
    sealed.map_err(|failure| failure.in_cache(&path.to_string_lossy()))
}

fn seal_directory(
    directory: &DirHandle,
    passages: bool,
    now: Now<'_>,
) -> Result<BuildOutcome, Failure> {
    let passages = passages || directory.stat(PASSAGES_FILE).is_ok();
    let stored = directory.open(PASSAGES_FILE).ok();
    let tokenizer = stored
        .and_then(|file| PassageIndex::stored_tokenizer(file).ok())
        .or_else(|| recorded_tokenizer(directory))
        .unwrap_or_default();
    let documents = match check::open_documents(directory) {
        Ok(documents) => documents,
        Err(problem) => return Err(check::missing_documents_failure(directory, problem)),
    };
    let lists = manifest::read(directory);
    let checked = check::check(lists, &documents, None, now, || {
        IndexGatherer::new(passages.then_some(tokenizer))
    });
    let (manifest, mut proof, gathered) = checked.into_valid()?;
    let of = IndexScope::listed(&manifest);
    distrust_origins(directory, &of)?;
    let (in_words, in_passages) = IndexGatherer::apart(gathered);
    replace_file(directory, INDEX_FILE, |file| {
        let out = BufWriter::with_capacity(1 << 20, file);
        write_words(out, of, in_words, None, None).map_err(unwritten)
    })?;
    if passages {
        replace_file(directory, PASSAGES_FILE, |file| {
            let out = BufWriter::with_capacity(1 << 20, file);
            write_passages(out, of, tokenizer, in_passages, None).map_err(unwritten)
        })?;
        record_passages(directory)?;
    }
    for _ in 0..SETTLING_TRIES {
        if let Some(bytes) = proof.write() {
            replace_bytes(directory, PROOF_FILE, &bytes)?;
            return Ok(BuildOutcome {
                cache_version: of.cache_version,
                document_count: of.documents as u64,
                read: of.documents as u64,
                skipped: None,
            });
        }
        // A file was written a moment ago: it is read again once its stamp is settled.
        std::thread::sleep(SETTLING);
        let lists = manifest::read(directory);
        let checked = check::check(lists, &documents, Some(&proof), now, || ());
        let (again, sound, _) = checked.into_valid()?;
        if again.cache_version != of.cache_version {
            return Err(Failure::Restless);
        }
        proof = sound;
    }
    Err(Failure::Restless)
}

fn unwritten(error: IndexWriteError) -> Failure {
    match error {
        IndexWriteError::System(error) => Failure::unwritten(error),
        IndexWriteError::CorruptFile => write_failure(error),
    }
}

/// Removes the stamps of the origins: a sealed document can differ from what a build would write, so the
/// next update reads every source.
fn distrust_origins(directory: &DirHandle, of: &IndexScope) -> Result<(), Failure> {
    let Some(mut origins) = origins::find(directory, of.cache_version) else {
        return Ok(());
    };
    for origin in &mut origins {
        origin.stamp = None;
    }
    replace_bytes(
        directory,
        ORIGINS_FILE,
        &origins::write(of.cache_version, &origins),
    )
}
