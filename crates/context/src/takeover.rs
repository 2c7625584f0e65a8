//! Taking documents over from the cache that an update replaces, by links instead of reading them.

use crate::cache::Cache;
use crate::digest::Digest;
use crate::document::{self, MAX_DOCUMENT_FILE};
use crate::failure::{Failure, shown};
use crate::folder::{Folder, read_file};
use crate::origins::Origin;
use crate::passage_index::{PASSAGES_FILE, PassageIndex};
use crate::placing::Placed;
use crate::signature::Signature;
use crate::sources::Source;
use crate::target::write_new;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rustix::fs::AtFlags;
use std::ffi::OsStr;

/// What can be taken over from the cache that is there.
pub(crate) struct Before {
    pub(crate) cache: Cache,
    /// Whether it has an index of passages, which may be a broken one.
    pub(crate) with_passages: bool,
    pub(crate) passages: Option<PassageIndex>,
    /// Documents whose source has this path.
    origins: HashMap<String, (u32, Digest, Signature), FixedState>,
}

impl Before {
    /// Everything whose origin is known well enough.
    pub(crate) fn new(cache: Cache, origins: Vec<Origin>) -> Before {
        let fits = origins.len() == cache.proof().documents.len();
        let origins = origins.into_iter().filter(|_| fits);
        let known = origins.zip(0..).filter_map(|(origin, number)| {
            let signature = origin.signature?;
            Some((origin.path, (number, origin.version, signature)))
        });
        Before {
            with_passages: cache.folder().stat(PASSAGES_FILE).is_ok(),
            passages: cache.own_passage_index(),
            origins: known.collect(),
            cache,
        }
    }

    /// Every document is to be read again.
    pub(crate) fn forget_origins(&mut self) {
        self.origins.clear();
    }

    /// The document of an unchanged source.
    pub(crate) fn find(&self, source: &Source) -> Option<(u32, Digest, Signature)> {
        let known = self.origins.get(&source.path).copied()?;
        (source.signature == Some(known.2)).then_some(known)
    }
}

/// Links every document of the cache that is replaced into the draft, under its old name: most of
/// them stay, and which do not is not known yet. What cannot be linked is dealt with later.
pub(crate) fn link_all(before: &Before, into: &Folder) {
    let (proof, documents) = (before.cache.proof(), before.cache.documents());
    for number in 0..proof.documents.len() {
        let name = proof.names.get(number);
        let _ = rustix::fs::linkat(documents, name, into, name, AtFlags::empty());
    }
}

/// Makes the draft hold exactly the documents that are kept, under their final names, beside those
/// that were written. Whether each is still the proved one is judged when the new cache is signed.
pub(crate) fn take_over(before: &Before, into: &Folder, placed: &[Placed]) -> Result<(), Failure> {
    let (proof, documents) = (before.cache.proof(), before.cache.documents());
    let inode = |old: u32| Some(proof.documents.get(old as usize)?.signature.inode());
    let mut wanted: HashMap<&OsStr, u32, FixedState> = HashMap::default();
    for one in placed {
        if let Some(old) = one.kept {
            wanted.insert(OsStr::new(&one.name), old);
        }
    }
    let here = into.inodes().map_err(Failure::system("list the draft"))?;
    for (name, found) in here {
        match wanted.get(name.as_os_str()) {
            Some(old) if inode(*old) == Some(found) => {
                wanted.remove(name.as_os_str());
            }
            _ if name.as_encoded_bytes().starts_with(b"~") => {}
            _ => {
                let removed = rustix::fs::unlinkat(into, &name, AtFlags::empty());
                removed.map_err(Failure::system("tidy the draft"))?;
            }
        }
    }
    // In the order of ids, not of the table.
    let missing = |one: &&Placed| wanted.contains_key(OsStr::new(&one.name));
    for one in placed.iter().filter(missing) {
        let Some(old) = one.kept else { continue };
        let name = proof.names.get(old as usize);
        if rustix::fs::linkat(documents, name, into, &one.name, AtFlags::empty()).is_err() {
            copy(documents, name, into, one)?;
        }
    }
    Ok(())
}

/// Where there are no links, or too many to this file already: its bytes are as good.
fn copy(from: &Folder, name: &str, into: &Folder, one: &Placed) -> Result<(), Failure> {
    let read = read_file(from, name, MAX_DOCUMENT_FILE);
    let read = read.and_then(|(bytes, _)| Ok((document::read(&bytes)?.version, bytes)));
    match read {
        Ok((version, bytes)) if version == one.version => {
            one.is_copied();
            write_new(into, &one.name, &bytes).map_err(|error| Failure::System {
                doing: format!("copy {}", shown(name)),
                error,
            })
        }
        _ => Err(Failure::Restless),
    }
}
