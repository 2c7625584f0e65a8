//! A built cache for the benchmark: the names and bytes of its files, and its documents in memory
//! for the oracle.

use candor_context::{Digest, Document};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, Deserialize)]
struct Manifest {
    documents: Vec<ManifestEntry>,
}

/// One document of the manifest.
#[derive(Debug, Deserialize)]
struct ManifestEntry {
    id: String,
    file: String,
}

#[derive(Deserialize)]
struct DocumentFile {
    id: String,
    content: String,
}

/// A cache in a directory.
#[derive(Debug)]
pub(crate) struct BuiltCache {
    folder: PathBuf,
    documents: Vec<ManifestEntry>,
}

impl BuiltCache {
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        let manifest = std::fs::read(folder.join("manifest.json"))?;
        let manifest: Manifest = serde_json::from_slice(&manifest)?;
        Ok(BuiltCache {
            folder: folder.to_owned(),
            documents: manifest.documents,
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the directory of the documents' files.
    pub(crate) fn place(&self) -> PathBuf {
        self.folder.join("documents")
    }

    /// Returns the names of all documents' files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.documents.iter().map(|one| name(&one.file))
    }

    /// Returns the name of the file of one document.
    pub(crate) fn name_of(&self, id: &str) -> Option<&str> {
        let found = self
            .documents
            .binary_search_by(|one| one.id.as_str().cmp(id));
        Some(name(&self.documents.get(found.ok()?)?.file))
    }

    /// Returns the bytes of all documents' files.
    pub(crate) fn files(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let place = self.place();
        let read = |name: &str| Ok((name.to_owned(), std::fs::read(place.join(name))?));
        self.names().map(read).collect()
    }

    /// Returns the documents for the oracle.
    pub(crate) fn documents(&self) -> io::Result<Vec<Document>> {
        let place = self.place();
        let read = |name: &str| {
            let written: DocumentFile = serde_json::from_slice(&std::fs::read(place.join(name))?)?;
            Ok(Document {
                version: Digest::of(written.content.as_bytes()),
                source: written.id.clone(),
                id: written.id,
                content: written.content,
            })
        };
        self.names().map(read).collect()
    }

    /// Returns the size of the index files that a server loads, in megabytes.
    pub(crate) fn index_mb(&self) -> io::Result<f64> {
        let files = ["accelerator.idx", "accelerator.sig"];
        let size = |file: &&str| Ok(std::fs::metadata(self.folder.join(file))?.len() as f64 / 1e6);
        files.iter().map(size).sum()
    }
}

fn name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}
