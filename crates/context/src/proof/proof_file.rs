//! The proof that a cache is unchanged: the stamps of all files that the format protects, taken when the
//! cache was valid.

use crate::files::dir_handle::DirHandle;
use crate::files::file_stamp::{FileStamp, STAMP_BYTES};
use crate::format::codec::{ByteReader, CorruptFile, append_checksum, verify_checksum};
use crate::format::digest::Digest;
use crate::format::manifest::{INDEX, MANIFEST, Manifest, ManifestEntry};
use crate::parallel;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file of the proof in a cache.
pub(crate) const PROOF_FILE: &str = "accelerator.sig";

const MAGIC: &[u8; 8] = b"candorsg";
const LAYOUT: u32 = 1;

/// The most bytes of the file.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// The stamps of a whole cache. A stamp that was taken too soon after a change proves nothing: a stamp
/// of the lists is then missing, one of a document is not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) cache_version: Digest,
    pub(crate) manifest: Option<FileStamp>,
    pub(crate) index: Option<FileStamp>,
    /// The stamp of the directory `documents`, which changes when files are created or removed.
    pub(crate) directory: Option<FileStamp>,
    pub(crate) names: DocumentNames,
    /// The stamps of the documents, in the order of their ids.
    pub(crate) documents: Vec<DocumentStamp>,
}

/// The stamp of a document's file, and whether it is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentStamp {
    pub(crate) stamp: FileStamp,
    pub(crate) settled: bool,
}

/// The names of the documents' files, in the order of ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DocumentNames {
    text: String,
    ends: Vec<usize>,
}

impl DocumentNames {
    pub(crate) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, number: usize) -> &str {
        let start = match number.checked_sub(1) {
            Some(before) => self.ends[before],
            None => 0,
        };
        &self.text[start..self.ends[number]]
    }
}

impl<'a> FromIterator<&'a str> for DocumentNames {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> DocumentNames {
        let mut all = DocumentNames::default();
        names.into_iter().for_each(|name| all.push(name));
        all
    }
}

/// The extent to which a proof is still valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProofValidity {
    /// Everything is unchanged.
    Complete,
    /// The lists are unchanged, so each document with an unchanged stamp is proved.
    ListsOnly,
    /// Nothing is proved.
    Nothing,
}

impl Proof {
    /// Compares the stamps with the current files. Errors count as changes.
    pub(crate) fn validity(
        &self,
        cache: &DirHandle,
        documents: &DirHandle,
        wide: bool,
    ) -> ProofValidity {
        let same =
            |before: Option<FileStamp>, name| before.is_some() && cache.stamp(name).ok() == before;
        if !same(self.manifest, MANIFEST) || !same(self.index, INDEX) {
            return ProofValidity::Nothing;
        }
        let directory = self.directory.is_some() && documents.own_stamp().ok() == self.directory;
        let count = self.documents.len();
        let holds = |number: usize| self.holds(number, documents);
        let all = directory
            && match wide {
                true => {
                    let lost = AtomicBool::new(false);
                    parallel::over(
                        count,
                        || (),
                        |(), number| {
                            if !lost.load(Ordering::Relaxed) && !holds(number) {
                                lost.store(true, Ordering::Relaxed);
                            }
                        },
                    );
                    !lost.into_inner()
                }
                false => (0..count).all(holds),
            };
        match all {
            true => ProofValidity::Complete,
            false => ProofValidity::ListsOnly,
        }
    }

    /// Returns true if it is a proof of these documents in these files.
    pub(crate) fn matches(&self, manifest: &Manifest) -> bool {
        let listed = &manifest.documents;
        let named = |(number, one): (usize, &ManifestEntry)| self.names.get(number) == one.name;
        self.cache_version == manifest.cache_version
            && self.documents.len() == listed.len()
            && listed.iter().enumerate().all(named)
    }

    /// Returns true if a document is unchanged since it was proved.
    pub(crate) fn holds(&self, number: usize, documents: &DirHandle) -> bool {
        let mark = self.documents[number];
        mark.settled && documents.stamp(self.names.get(number)) == Ok(mark.stamp)
    }

    /// Returns the sum of the sizes of the documents' files.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.documents.iter().map(|one| one.stamp.size()).sum()
    }

    /// Returns the bytes of its file, or `None` if a stamp is not settled.
    pub(crate) fn write(&self) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(self.documents.len() * (STAMP_BYTES + 24) + 256);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&LAYOUT.to_le_bytes());
        out.extend_from_slice(self.cache_version.raw());
        out.extend_from_slice(&(self.documents.len() as u32).to_le_bytes());
        for stamp in [self.manifest, self.index, self.directory] {
            stamp?.write(&mut out);
        }
        for (number, mark) in self.documents.iter().enumerate() {
            if !mark.settled {
                return None;
            }
            mark.stamp.write(&mut out);
            let name = self.names.get(number);
            out.push(u8::try_from(name.len()).ok()?);
            out.extend_from_slice(name.as_bytes());
        }
        append_checksum(&mut out, 0, self.cache_version.seed(), 0);
        Some(out)
    }

    /// Reads the proof of a cache. Returns `None` if it is missing or corrupt.
    pub(crate) fn find(cache: &DirHandle) -> Option<Proof> {
        let (bytes, _) = crate::files::dir_handle::read_file(cache, PROOF_FILE, MAX_BYTES).ok()?;
        Proof::read(&bytes).ok()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Proof, CorruptFile> {
        let mut reading = ByteReader(bytes);
        let magic: [u8; 8] = reading.array()?;
        let layout = reading.u32()?;
        if &magic != MAGIC || layout != LAYOUT {
            return Err(CorruptFile);
        }
        let cache_version = Digest::from_raw(reading.array()?);
        verify_checksum(bytes, cache_version.seed(), 0)?;
        let count = reading.u32()? as usize;
        if count > bytes.len() / STAMP_BYTES {
            return Err(CorruptFile);
        }
        let mut proof = Proof {
            cache_version,
            manifest: Some(FileStamp::read(&mut reading)?),
            index: Some(FileStamp::read(&mut reading)?),
            directory: Some(FileStamp::read(&mut reading)?),
            names: DocumentNames::default(),
            documents: Vec::with_capacity(count),
        };
        for _ in 0..count {
            proof.documents.push(DocumentStamp {
                stamp: FileStamp::read(&mut reading)?,
                settled: true,
            });
            let [length] = reading.array()?;
            let name =
                std::str::from_utf8(reading.take(length.into())?).map_err(|_| CorruptFile)?;
            if name.is_empty() || name.contains(['/', '\0']) || name == ".." {
                return Err(CorruptFile);
            }
            proof.names.push(name);
        }
        match reading.0.len() {
            8 => Ok(proof),
            _ => Err(CorruptFile),
        }
    }
}
