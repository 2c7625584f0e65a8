//! A small valid cache, for properties that change its files.

use candor_context::{
    Build, Document, Failure, Location, Query, Reader, SourceFilter, TokenBudget, inspect, oracle,
    to_json_line, verify,
};
use candor_fault::Timestamp;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Later than every file, so that no check waits until timestamps differ.
fn now() -> Timestamp {
    Timestamp::MAX
}

/// The queries for every cache here, with their budgets.
const ASKED: [(&str, u64); 3] = [("all beta", 9), ("", 4), ("w3 W3 gone all", 60)];

/// A cache, the built bytes of its files, and its expected answers.
pub(super) struct CacheFixture {
    folder: TempDir,
    built: BTreeMap<&'static str, Vec<u8>>,
    expected: Vec<Vec<u8>>,
    passages: Vec<u8>,
}

impl CacheFixture {
    /// Builds a cache of these sources, with passages, and remembers the bytes of these files.
    pub(super) fn new(sources: &[(String, String)], files: &[&'static str]) -> CacheFixture {
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let folder = folder.expect("there is room for a folder");
        let root = folder.path().join("sources");
        fs::create_dir(&root).expect("a new folder takes one");
        for (name, content) in sources {
            fs::write(root.join(name), content).expect("a source can be written");
        }
        let build = Build {
            location: &Location::Anywhere,
            sources: &root,
            cache: &folder.path().join("cache"),
            filter: &SourceFilter::default(),
            skip_invalid: false,
            passages: true,
            tokenizer: candor_context::Tokenizer::Bytes4,
            force: false,
            created_at: Timestamp::UNIX_EPOCH,
            now: &now,
            random: 0,
            progress: &(),
        };
        build.run().expect("the sources are right");
        let mut cache = CacheFixture {
            folder,
            built: BTreeMap::new(),
            expected: ASKED.iter().map(|asked| plainly(sources, *asked)).collect(),
            passages: Vec::new(),
        };
        let reader = Reader::open(&Location::Anywhere, &cache.path(""), &now);
        assert!(!reader.expect("a built cache is right").was_hashed());
        for name in files {
            let bytes = fs::read(cache.path(name)).expect("a built file can be read");
            cache.built.insert(name, bytes);
        }
        cache.passages = cache.passages_now().expect("a built cache answers");
        cache
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("cache").join(name)
    }

    /// Returns the built bytes of a file.
    pub(super) fn built(&self, name: &str) -> &[u8] {
        &self.built[name]
    }

    /// Replaces the bytes of a file.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("a file of the cache can be written");
    }

    /// Removes the proof that files are unchanged: they change faster than timestamps can show.
    pub(super) fn without_proof(self) -> CacheFixture {
        fs::remove_file(self.path("accelerator.sig")).expect("a built cache is sealed");
        self
    }

    fn answers(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let mut reader = Reader::open(&Location::Anywhere, &self.path(""), &now)?;
        let mut answers = Vec::new();
        for (query, budget) in ASKED {
            let query = Query::new(query)?;
            answers.push(
                reader
                    .resolve(&query, TokenBudget::new(budget)?)?
                    .to_line()?,
            );
        }
        Ok(answers)
    }

    /// Returns the passages that the cache answers with now.
    pub(super) fn passages_now(&self) -> Result<Vec<u8>, Failure> {
        let mut reader = Reader::open(&Location::Anywhere, &self.path(""), &now)?;
        let query = Query::new(ASKED[2].0)?;
        to_json_line(&reader.passages(&query, TokenBudget::new(ASKED[2].1)?)?)
    }

    /// Sends all queries and ignores the answers.
    pub(super) fn ask(&self) {
        drop((self.answers(), self.passages_now()));
    }

    /// Returns true if the cache is valid and gives the expected answers. Otherwise it must fail
    /// with `cache_invalid`, and `verify` and `inspect` must agree.
    pub(super) fn is_right(&self) -> bool {
        let right = match self.answers() {
            Ok(answers) => {
                assert!(answers == self.expected, "the answers are the plain ones");
                true
            }
            Err(failure @ Failure::Invalid { .. }) => {
                assert_eq!(failure.fault().row().code.to_string(), "cache_invalid");
                false
            }
            Err(other) => panic!("{other:?}"),
        };
        let report = verify(&Location::Anywhere, &self.path(""), &now).expect("it is there");
        assert_eq!(report.failure().is_none(), right, "verify agrees");
        let told = inspect(&Location::Anywhere, &self.path(""), &now).expect("it is there");
        let told = serde_json::to_value(&told).expect("an inspection is JSON");
        assert_eq!(told["valid"], right, "inspect agrees");
        right
    }

    /// Checks that the cache gives the answers that it gave when it was built.
    pub(super) fn answers_as_built(&self) {
        assert!(self.answers().expect("it answers") == self.expected);
        assert!(self.passages_now().expect("it answers") == self.passages);
    }
}

fn plainly(sources: &[(String, String)], (query, budget): (&str, u64)) -> Vec<u8> {
    let documents: Vec<_> = sources
        .iter()
        .map(|(name, content)| Document {
            id: name.to_lowercase(),
            version: candor_context::Digest::of(content.as_bytes()),
            source: name.clone(),
            content: content.clone(),
        })
        .collect();
    let query = Query::new(query).expect("a query");
    let budget = TokenBudget::new(budget).expect("a budget");
    let answer = oracle(&documents, &query, budget).to_line();
    answer.expect("a small answer")
}

/// Parses a file with serde_json. Returns `None` if only unknown members make it unreadable.
pub(super) fn said(bytes: &[u8]) -> Option<Value> {
    match serde_json::from_slice(bytes) {
        Ok(value) => Some(value),
        Err(_) => {
            // Too deep, too large a number, half a surrogate: it is still JSON.
            let ignored = serde_json::from_slice::<IgnoredAny>(bytes);
            ignored.expect("what a reader takes is JSON");
            None
        }
    }
}

/// Returns two sources, enough for the lists of a cache.
pub(super) fn two() -> Vec<(String, String)> {
    let own = |name: &str, content: &str| (name.to_owned(), content.to_owned());
    vec![own("A.md", "alpha beta all"), own("b.md", "")]
}
