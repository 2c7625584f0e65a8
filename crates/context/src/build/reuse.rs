//! Reuses documents of the cache that an update replaces, by links instead of reading them.

use crate::build::document_writer::PreparedDocument;
use crate::build::origins::Origin;
use crate::build::sources::SourceFile;
use crate::cache::Cache;
use crate::failure::Failure;
use crate::files::dir_handle::{DirHandle, ListedEntry, read_file};
use crate::files::disk_steps;
use crate::files::file_stamp::FileStamp;
use crate::format::digest::Digest;
use crate::format::document::{self, MAX_DOCUMENT_FILE};
use crate::index::passage_index::PassageIndex;
use crate::proof::proof_file::DocumentStamp;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use std::ffi::OsStr;

/// The cache that an update replaces, with what can be reused of it.
pub(crate) struct PreviousCache {
    pub(crate) cache: Cache,
    pub(crate) passages: Option<PassageIndex>,
    /// Number, version and source stamp of each document, by the path of its source.
    origins: HashMap<String, (u32, Digest, FileStamp), FixedState>,
}

impl PreviousCache {
    pub(crate) fn new(cache: Cache, origins: Vec<Origin>) -> PreviousCache {
        let fits = origins.len() == cache.proof().documents.len();
        let origins = origins.into_iter().filter(|_| fits);
        let known = origins.zip(0..).filter_map(|(origin, number)| {
            let stamp = origin.stamp?;
            Some((origin.path, (number, origin.version, stamp)))
        });
        PreviousCache {
            passages: cache.stored_passage_index(),
            origins: known.collect(),
            cache,
        }
    }

    /// Returns the number of documents.
    pub(crate) fn document_count(&self) -> usize {
        self.cache.proof().documents.len()
    }

    /// Returns true if the document of a source at this path is known to come from there.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.origins.contains_key(path)
    }

    /// Forgets the origins: every document is read again.
    pub(crate) fn forget_origins(&mut self) {
        self.origins.clear();
    }

    /// Returns the document of a source, or `None` if the source has changed.
    pub(crate) fn find(&self, source: &SourceFile) -> Option<(u32, Digest, FileStamp)> {
        let known = self.origins.get(&source.path).copied()?;
        (source.stamp == Some(known.2)).then_some(known)
    }
}

/// The links in a draft to documents of the previous cache.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExistingLinks<'a> {
    /// They were just made.
    New(&'a [bool]),
    /// An earlier update has made them.
    Spare(&'a [ListedEntry]),
}

/// For each document of the previous cache: true if the draft has a link to it, under its old name.
pub(crate) type Linked = Vec<bool>;

/// Links every document of the previous cache into an empty draft: most of them stay, and which do
/// not is not known yet. Documents that cannot be linked are copied later.
pub(crate) fn link_all(before: &PreviousCache, into: &DirHandle) -> Linked {
    let (proof, documents) = (before.cache.proof(), before.cache.documents());
    let link = |number| {
        let name = proof.names.get(number);
        disk_steps::link(documents, name, into, name).is_ok()
    };
    (0..proof.documents.len()).map(link).collect()
}

/// Makes the draft contain exactly the reused documents, under their final names, beside the written
/// ones. Changes of reused documents are detected when the stamps of the new cache are taken.
///
/// Returns for each previous document whether its file is untouched: no link was made or removed, so
/// that its ctime is the proved one.
pub(crate) fn reuse_documents(
    before: &PreviousCache,
    into: &DirHandle,
    prepared: &[PreparedDocument],
    links: ExistingLinks<'_>,
) -> Result<Vec<bool>, Failure> {
    let (stays, untouched) = match links {
        ExistingLinks::New(linked) => {
            let stays = keep_linked(before, into, prepared, linked)?;
            let untouched = vec![false; stays.len()];
            (stays, untouched)
        }
        ExistingLinks::Spare(links) => keep_spare_links(before, into, prepared, links)?,
    };
    let (proof, documents) = (before.cache.proof(), before.cache.documents());
    for one in prepared {
        let Some(old) = one.reused.filter(|old| !stays[*old as usize]) else {
            continue;
        };
        let name = proof.names.get(old as usize);
        if disk_steps::link(documents, name, into, &one.name).is_err() {
            copy(documents, name, into, one)?;
        }
    }
    Ok(untouched)
}

/// Removes unused links. Returns for each previous document whether it has its final name.
fn keep_linked(
    before: &PreviousCache,
    into: &DirHandle,
    prepared: &[PreparedDocument],
    linked: &[bool],
) -> Result<Vec<bool>, Failure> {
    let names = &before.cache.proof().names;
    let mut stays = vec![false; linked.len()];
    for one in prepared {
        if let Some(old) = one.reused.map(|old| old as usize) {
            stays[old] = linked[old] && names.get(old) == one.name;
        }
    }
    for number in (0..linked.len()).filter(|number| linked[*number] && !stays[*number]) {
        remove(into, OsStr::new(names.get(number)))?;
    }
    Ok(stays)
}

/// Does the same for links that an earlier update has made. Also returns which documents are untouched.
fn keep_spare_links(
    before: &PreviousCache,
    into: &DirHandle,
    prepared: &[PreparedDocument],
    links: &[ListedEntry],
) -> Result<(Vec<bool>, Vec<bool>), Failure> {
    let documents = &before.cache.proof().documents;
    let mut reused: HashMap<&OsStr, u32, FixedState> = HashMap::default();
    for one in prepared {
        if let Some(old) = one.reused {
            reused.insert(OsStr::new(&one.name), old);
        }
    }
    let mut stays = vec![false; documents.len()];
    let mut unlinked: HashSet<u64, FixedState> = HashSet::default();
    for ListedEntry { name, inode, .. } in links {
        match reused.get(name.as_os_str()).map(|old| *old as usize) {
            Some(old) if documents[old].stamp.inode() == *inode => stays[old] = true,
            _ => {
                remove(into, name)?;
                unlinked.insert(*inode);
            }
        }
    }
    let is_untouched = |(stays, document): (&bool, &DocumentStamp)| {
        *stays && document.settled && !unlinked.contains(&document.stamp.inode())
    };
    let untouched = stays.iter().zip(documents).map(is_untouched).collect();
    Ok((stays, untouched))
}

fn remove(from: &DirHandle, name: &OsStr) -> Result<(), Failure> {
    disk_steps::unlink(from, name).map_err(Failure::unwritten)
}

/// Copies a document that cannot be linked, because the file system has no links or too many exist.
fn copy(
    from: &DirHandle,
    name: &str,
    into: &DirHandle,
    one: &PreparedDocument,
) -> Result<(), Failure> {
    let read = read_file(from, name, MAX_DOCUMENT_FILE);
    let read = read.and_then(|(bytes, _)| Ok((document::read(&bytes)?.version, bytes)));
    match read {
        Ok((version, bytes)) if version == one.version => {
            one.is_copied();
            disk_steps::write_new(into, &one.name, &bytes).map_err(Failure::unwritten)
        }
        _ => Err(Failure::Restless),
    }
}
