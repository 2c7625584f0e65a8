//! `manifest.json` and `index.json`: writes their exact bytes, reads them without trust, and compares
//! them with each other.

use crate::files::dir_handle::{DirHandle, stamp_of};
use crate::files::file_stamp::FileStamp;
use crate::format::cache_problem::{CacheProblem, CacheProblemKind, MAX_PROBLEMS};
use crate::format::digest::{Digest, Digester};
use crate::format::json_object::JsonObject;
use crate::format::json_string::{put_digest, put_string};
use crate::format::rfc3339::is_rfc3339;
use crate::{MAX_DOCUMENTS, faults};
use candor_fault::Timestamp;
use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::io::{BufReader, Read};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const INDEX: &str = "index.json";
pub(crate) const DOCUMENTS: &str = "documents";

/// The most bytes of a manifest or an index.
pub const MAX_LIST_FILE: u64 = 512 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BuildConfig {
    version: String,
    hash_algorithm: String,
}

impl BuildConfig {
    fn ours() -> BuildConfig {
        BuildConfig {
            version: String::from("1"),
            hash_algorithm: String::from("sha256"),
        }
    }
}

/// A document as the manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestEntry {
    pub(crate) id: String,
    pub(crate) version: Digest,
    /// The name in `documents/`.
    pub(crate) name: String,
}

/// The documents of a cache, in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) cache_version: Digest,
    pub(crate) documents: Vec<ManifestEntry>,
}

/// Returns the digest of a whole cache.
pub(crate) fn cache_version<'a>(documents: impl Iterator<Item = (&'a str, Digest)>) -> Digest {
    let mut digest = Digester::default();
    digest.feed(candor_fault::to_json(&BuildConfig::ours()).as_bytes());
    for (id, version) in documents {
        digest.feed(id.as_bytes());
        digest.feed(b":");
        digest.feed(&version.text());
    }
    digest.finish()
}

impl Manifest {
    /// Returns the manifest of these documents, which must be in the order of their ids.
    pub(crate) fn of(documents: Vec<ManifestEntry>) -> Manifest {
        let pairs = documents.iter().map(|one| (one.id.as_str(), one.version));
        Manifest {
            cache_version: cache_version(pairs),
            documents,
        }
    }

    /// Returns the bytes of `manifest.json`.
    pub(crate) fn manifest_bytes(&self, created_at: Timestamp) -> Vec<u8> {
        let BuildConfig {
            version,
            hash_algorithm,
        } = BuildConfig::ours();
        let created_at = created_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut out = Vec::with_capacity(self.documents.len() * ENTRY + 512);
        out.extend_from_slice(b"{\n  \"cache_version\": ");
        put_digest(&mut out, self.cache_version);
        out.extend_from_slice(b",\n  \"build_config\": {\n    \"version\": ");
        put_string(&mut out, &version);
        out.extend_from_slice(b",\n    \"hash_algorithm\": ");
        put_string(&mut out, &hash_algorithm);
        out.extend_from_slice(b"\n  },\n  \"created_at\": ");
        put_string(&mut out, &created_at);
        out.extend_from_slice(b",\n  \"document_count\": ");
        out.extend_from_slice(self.documents.len().to_string().as_bytes());
        out.extend_from_slice(b",\n  \"documents\": [");
        for (number, one) in self.documents.iter().enumerate() {
            out.extend_from_slice(separator(number));
            out.extend_from_slice(b"\n    {\n      \"id\": ");
            put_string(&mut out, &one.id);
            out.extend_from_slice(b",\n      \"version\": ");
            put_digest(&mut out, one.version);
            out.extend_from_slice(b",\n      \"file\": ");
            put_pointer(&mut out, &one.name);
            out.extend_from_slice(b"\n    }");
        }
        if !self.documents.is_empty() {
            out.extend_from_slice(b"\n  ");
        }
        out.extend_from_slice(b"]\n}");
        out
    }

    /// Returns the bytes of `index.json`.
    pub(crate) fn index_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.documents.len() * ENTRY / 2 + 16);
        out.push(b'{');
        for (number, one) in self.documents.iter().enumerate() {
            out.extend_from_slice(separator(number));
            out.extend_from_slice(b"\n  ");
            put_string(&mut out, &one.id);
            out.extend_from_slice(b": ");
            put_pointer(&mut out, &one.name);
        }
        if !self.documents.is_empty() {
            out.push(b'\n');
        }
        out.push(b'}');
        out
    }
}

/// About the size of an entry of `manifest.json`.
const ENTRY: usize = 256;

/// Returns the text before the entry with this number.
fn separator(number: usize) -> &'static [u8] {
    match number {
        0 => b"",
        _ => b",",
    }
}

/// Appends the path of a document's file. Its name needs no escapes.
fn put_pointer(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(DOCUMENTS.as_bytes());
    out.push(b'/');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

/// The contents of the two files, and their problems.
#[derive(Debug)]
pub(crate) struct LoadedLists {
    /// The unchecked values of `cache_version` and `document_count` in the manifest.
    pub(crate) stated: Option<(String, u64)>,
    /// The time in the manifest, if it is one.
    pub(crate) created_at: Option<String>,
    /// The manifest, if it could be parsed.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) problems: Vec<CacheProblem>,
    /// The stamps of manifest and index, if both were read completely.
    pub(crate) stamps: Option<(FileStamp, FileStamp)>,
}

/// Reads and compares both files.
pub(crate) fn read(cache: &DirHandle) -> LoadedLists {
    let mut problems = Vec::new();
    let manifest = read_json::<JsonObject<StoredManifest>>(cache, MANIFEST)
        .map_err(|wrong| problems.push(CacheProblem::new(MANIFEST, wrong)));
    let index = read_json::<StoredIndex>(cache, INDEX)
        .map_err(|wrong| problems.push(CacheProblem::new(INDEX, wrong)));
    let stamps = match (&manifest, &index) {
        (Ok((_, one)), Ok((_, other))) => Some((*one, *other)),
        _ => None,
    };
    let mut stated = None;
    let mut created_at = None;
    let manifest = match manifest {
        Ok((JsonObject(read), _)) => {
            // A longer text is not a digest, and can be as long as the file.
            let is_short = read.cache_version.len() <= Digest::TEXT;
            let version = is_short.then(|| read.cache_version.clone());
            stated = Some((version.unwrap_or_default(), read.document_count));
            created_at = Some(read.created_at.clone()).filter(|text| is_rfc3339(text));
            read.check(&mut problems)
        }
        Err(()) => None,
    };
    if let (Some(manifest), Ok((index, _))) = (&manifest, index) {
        index.compare(manifest, &mut problems);
    }
    LoadedLists {
        stated,
        created_at,
        manifest,
        problems,
        stamps,
    }
}

/// Returns the number of documents that the beginning of a manifest states, without reading the rest.
pub(crate) fn stated_count(cache: &DirHandle) -> Option<u64> {
    const HEAD: u64 = 4096;
    let mut head = Vec::new();
    let file = cache.open(MANIFEST).ok()?;
    (&file).take(HEAD).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    // Ids, which may contain anything, come after it.
    let (head, _) = head.split_once("\"documents\"")?;
    let (_, rest) = head.split_once("\"document_count\"")?;
    let digits = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits[..end].parse().ok()
}

/// Parses a file as a stream: memory is bounded by the accepted shape, not by the file.
fn read_json<T: DeserializeOwned>(
    cache: &DirHandle,
    name: &str,
) -> Result<(T, FileStamp), CacheProblemKind> {
    let file = cache.open(name).map_err(faults::problem_kind)?;
    let before = stamp_of(&file).map_err(faults::problem_kind)?;
    if before.size() > MAX_LIST_FILE {
        return Err(CacheProblemKind::Large);
    }
    let reader = BufReader::with_capacity(256 * 1024, (&file).take(MAX_LIST_FILE));
    let value = serde_json::from_reader(reader).map_err(|error| match error.is_io() {
        true => CacheProblemKind::Unreadable(error.to_string()),
        false => CacheProblemKind::Malformed(error.to_string()),
    })?;
    match stamp_of(&file).map_err(faults::problem_kind)? == before {
        true => Ok((value, before)),
        false => Err(CacheProblemKind::Unreadable(String::from(
            "it changed while it was read",
        ))),
    }
}

#[derive(Deserialize)]
struct StoredManifest {
    cache_version: String,
    build_config: JsonObject<BuildConfig>,
    created_at: String,
    document_count: u64,
    documents: ManifestEntries,
}

#[derive(Deserialize)]
struct StoredEntry {
    id: String,
    version: String,
    file: String,
}

/// The documents of a manifest, checked as they are read. Invalid entries are kept as problems only.
#[derive(Default)]
struct ManifestEntries {
    count: u64,
    listed: Vec<ManifestEntry>,
    wrong: Vec<CacheProblemKind>,
}

impl ManifestEntries {
    fn push(&mut self, entry: StoredEntry) {
        self.count += 1;
        match entry.check(self.listed.last()) {
            Ok(one) => self.listed.push(one),
            Err(what) if self.wrong.len() < MAX_PROBLEMS => self.wrong.push(what),
            Err(_) => {}
        }
    }
}

impl<'de> Deserialize<'de> for ManifestEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ManifestEntriesVisitor {
            most: MAX_DOCUMENTS,
        })
    }
}

/// Deserialises the documents of a manifest, up to a limit.
struct ManifestEntriesVisitor {
    most: usize,
}

impl<'de> Visitor<'de> for ManifestEntriesVisitor {
    type Value = ManifestEntries;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at most {} documents", self.most)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ManifestEntries, A::Error> {
        let mut entries = ManifestEntries::default();
        while let Some(JsonObject(entry)) = list.next_element()? {
            if entries.count == self.most as u64 {
                return Err(serde::de::Error::invalid_length(self.most + 1, &self));
            }
            entries.push(entry);
        }
        Ok(entries)
    }
}

impl StoredManifest {
    fn check(self, problems: &mut Vec<CacheProblem>) -> Option<Manifest> {
        let mut wrong = |what| problems.push(CacheProblem::new(MANIFEST, what));
        if self.build_config.0 != BuildConfig::ours() {
            wrong(CacheProblemKind::Unsupported);
            return None;
        }
        if !is_rfc3339(&self.created_at) {
            wrong(CacheProblemKind::CreatedAt);
        }
        let ManifestEntries {
            count: listed,
            listed: documents,
            wrong: of_entries,
        } = self.documents;
        if self.document_count != listed {
            let stated = self.document_count;
            wrong(CacheProblemKind::Count { stated, listed });
        }
        let whole = of_entries.is_empty();
        of_entries.into_iter().for_each(&mut wrong);
        let manifest = Manifest::of(documents);
        if whole && Digest::parse(&self.cache_version) != Some(manifest.cache_version) {
            wrong(CacheProblemKind::CacheVersion);
        }
        Some(manifest)
    }
}

impl StoredEntry {
    fn check(self, before: Option<&ManifestEntry>) -> Result<ManifestEntry, CacheProblemKind> {
        if let Some(before) = before {
            match before.id.as_bytes().cmp(self.id.as_bytes()) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Err(CacheProblemKind::Twice(self.id)),
                std::cmp::Ordering::Greater => return Err(CacheProblemKind::Order(self.id)),
            }
        }
        let Some(version) = Digest::parse(&self.version) else {
            return Err(CacheProblemKind::NoVersion(self.id));
        };
        let Some(name) = name_in_documents(&self.file) else {
            return Err(CacheProblemKind::Pointer(self.file));
        };
        Ok(ManifestEntry {
            version,
            name: name.to_owned(),
            id: self.id,
        })
    }
}

/// The most bytes of a file name.
const MAX_NAME: usize = 255;

/// Returns the name after `documents/`, if it is exactly one name.
fn name_in_documents(file: &str) -> Option<&str> {
    let name = file.strip_prefix(DOCUMENTS)?.strip_prefix('/')?;
    let one = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
    (one && name.len() <= MAX_NAME).then_some(name)
}

/// The pairs of `index.json`.
struct StoredIndex(Vec<(String, String)>);

impl<'de> Deserialize<'de> for StoredIndex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs {
            most: MAX_DOCUMENTS,
        })
    }
}

struct Pairs {
    most: usize,
}

impl<'de> Visitor<'de> for Pairs {
    type Value = StoredIndex;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "an object of ids and files, at most {}", self.most)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StoredIndex, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            if pairs.len() == self.most {
                return Err(serde::de::Error::invalid_length(pairs.len() + 1, &self));
            }
            pairs.push(pair);
        }
        Ok(StoredIndex(pairs))
    }
}

impl StoredIndex {
    /// Compares the ids and files with the manifest. The order of members is irrelevant.
    fn compare(mut self, manifest: &Manifest, problems: &mut Vec<CacheProblem>) {
        let mut wrong = |what| {
            // There may be millions of problems: only those that are reported are kept.
            if problems.len() < MAX_PROBLEMS {
                problems.push(CacheProblem::new(INDEX, what));
            }
        };
        self.0.sort();
        let mut pairs = self.0.into_iter().peekable();
        for one in &manifest.documents {
            while let Some((id, _)) = pairs.next_if(|(id, _)| *id < one.id) {
                wrong(CacheProblemKind::IndexSurplus(id));
            }
            match pairs.next_if(|(id, _)| *id == one.id) {
                Some((_, file)) if name_in_documents(&file) == Some(&one.name) => {}
                _ => wrong(CacheProblemKind::IndexDiffers(one.id.clone())),
            }
            while let Some((id, _)) = pairs.next_if(|(id, _)| *id == one.id) {
                wrong(CacheProblemKind::Twice(id));
            }
        }
        for (id, _) in pairs {
            wrong(CacheProblemKind::IndexSurplus(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listed(id: &str, content: &str) -> ManifestEntry {
        let version = Digest::of(content.as_bytes());
        ManifestEntry {
            id: id.to_owned(),
            version,
            name: format!("{}.json", version.short()),
        }
    }

    #[test]
    fn manifest_and_index_have_their_exact_bytes() {
        let manifest = Manifest::of(vec![listed("a.md", "one"), listed("b.md", "")]);
        let at = Timestamp::from_second(1_700_000_000).unwrap();
        insta::assert_snapshot!(String::from_utf8(manifest.manifest_bytes(at)).unwrap(), @r#"
        {
          "cache_version": "sha256:315332eab5c3840d0b250c4316682f64f5615aa19a7b993f811c421d9c2e26d1",
          "build_config": {
            "version": "1",
            "hash_algorithm": "sha256"
          },
          "created_at": "2023-11-14T22:13:20Z",
          "document_count": 2,
          "documents": [
            {
              "id": "a.md",
              "version": "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
              "file": "documents/7692c3ad3540.json"
            },
            {
              "id": "b.md",
              "version": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
              "file": "documents/e3b0c44298fc.json"
            }
          ]
        }
        "#);
        insta::assert_snapshot!(String::from_utf8(manifest.index_bytes()).unwrap(), @r#"
        {
          "a.md": "documents/7692c3ad3540.json",
          "b.md": "documents/e3b0c44298fc.json"
        }
        "#);
        let none = Manifest::of(Vec::new());
        assert_eq!(none.index_bytes(), b"{}");
    }

    /// The manifest as `serde_json` writes it.
    #[derive(Serialize)]
    struct PlainManifest<'a> {
        cache_version: Digest,
        build_config: BuildConfig,
        created_at: &'a str,
        document_count: usize,
        documents: Vec<PlainEntry<'a>>,
    }

    #[derive(Serialize)]
    struct PlainEntry<'a> {
        id: &'a str,
        version: Digest,
        file: String,
    }

    proptest! {
        #[test]
        fn lists_are_written_like_serde(
            ids in proptest::collection::btree_set("(\\PC|[\"\\\\\n]){0,12}", 0..5),
        ) {
            let manifest = Manifest::of(ids.iter().map(|id| listed(id, id)).collect());
            let file = |one: &ManifestEntry| format!("documents/{}", one.name);
            let plain = PlainManifest {
                cache_version: manifest.cache_version,
                build_config: BuildConfig::ours(),
                created_at: "1970-01-01T00:00:00Z",
                document_count: ids.len(),
                documents: manifest
                    .documents
                    .iter()
                    .map(|one| PlainEntry { id: &one.id, version: one.version, file: file(one) })
                    .collect(),
            };
            let expected = serde_json::to_vec_pretty(&plain).unwrap();
            prop_assert_eq!(manifest.manifest_bytes(Timestamp::UNIX_EPOCH), expected);
            let documents = manifest.documents.iter();
            let pairs: std::collections::BTreeMap<_, _> =
                documents.map(|one| (&one.id, file(one))).collect();
            let expected = serde_json::to_vec_pretty(&pairs).unwrap();
            prop_assert_eq!(manifest.index_bytes(), expected);
        }
    }

    #[test]
    fn stated_count_is_read_from_the_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let handle = std::fs::File::open(directory.path()).unwrap();
        let handle = DirHandle::new(handle.into());
        assert_eq!(stated_count(&handle), None);
        let manifest = Manifest::of(vec![listed("a.md", "one"), listed("b.md", "")]);
        for (text, expected) in [
            (manifest.manifest_bytes(Timestamp::UNIX_EPOCH), Some(2)),
            (b"{}".to_vec(), None),
            (br#"{"document_count":7"#.to_vec(), None),
            (br#"{"document_count":7,"documents":[]}"#.to_vec(), Some(7)),
            (
                br#"{"documents":[{"id":"\"document_count\":9"}],"document_count":1}"#.to_vec(),
                None,
            ),
        ] {
            std::fs::write(directory.path().join(MANIFEST), text).unwrap();
            assert_eq!(stated_count(&handle), expected);
        }
    }

    #[test]
    fn file_outside_documents_is_refused() {
        assert_eq!(name_in_documents("documents/a.json"), Some("a.json"));
        for wrong in [
            "",
            "a.json",
            "documents",
            "documents/",
            "documents/.",
            "documents/..",
            "documents/../manifest.json",
            "/documents/a",
            "documents//a",
            "documents/a/b",
            "documents/a\0b",
            "documents\\a",
        ] {
            assert_eq!(name_in_documents(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn entries_beyond_the_limit_are_refused() {
        let read = |text: &str| {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            (&mut deserializer).deserialize_seq(ManifestEntriesVisitor { most: 2 })
        };
        let entry = r#"{"id":"a","version":"b","file":"c"}"#;
        let entries = read(&format!("[{entry},{entry}]"));
        assert_eq!(entries.unwrap_or_default().count, 2);
        assert!(read(&format!("[{entry},{entry},{entry}]")).is_err());
        let read = |text: &str| {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            (&mut deserializer).deserialize_map(Pairs { most: 1 })
        };
        assert_eq!(read(r#"{"a":"b"}"#).unwrap().0.len(), 1);
        assert!(read(r#"{"a":"b","a":"b"}"#).is_err());
    }

    #[test]
    fn oversized_manifest_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(directory.path().join(MANIFEST)).unwrap();
        // Without a block on the disk: nothing of it must be read.
        file.set_len(MAX_LIST_FILE + 1).unwrap();
        let handle = std::fs::File::open(directory.path()).unwrap();
        let lists = read(&DirHandle::new(handle.into()));
        assert_eq!(
            lists.problems[0],
            CacheProblem::new(MANIFEST, CacheProblemKind::Large)
        );
    }
}
