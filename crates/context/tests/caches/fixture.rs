//! The fixture of tests: sources, a cache, and ways to build and to query it.

use candor_context::{
    Build, BuildOutcome, Digest, Document, Failure, Location, Query, Reader, SourceFilter,
    TokenBudget, Tokenizer, oracle,
};
use candor_fault::Timestamp;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The `created_at` of every build.
pub(crate) const CREATED: i64 = 1_700_000_000;

/// A temporary directory with `sources` and, once it is built, `cache`.
pub(crate) struct CacheFixture {
    folder: TempDir,
    pub(crate) filter: SourceFilter,
    pub(crate) force: bool,
    pub(crate) skip_invalid: bool,
    pub(crate) passages: bool,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) clock: fn() -> Timestamp,
}

/// Returns the real time: stamps of recent files are not settled.
#[allow(
    clippy::disallowed_methods,
    reason = "signatures are compared with the file system's own times"
)]
pub(crate) fn real() -> Timestamp {
    Timestamp::try_from(std::time::SystemTime::now()).unwrap()
}

/// Returns a time in the future, at which all stamps are settled. For tests that change no file in
/// place.
pub(crate) fn ahead() -> Timestamp {
    Timestamp::from_second(real().as_second() + 3600).unwrap()
}

/// Waits until changes get new modification times.
pub(crate) fn tick() {
    std::thread::sleep(std::time::Duration::from_millis(12));
}

/// Returns a temporary directory, in memory if possible, because builds are synced.
pub(crate) fn open_dir() -> TempDir {
    let memory = Path::new("/dev/shm");
    let directory = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    directory.unwrap()
}

impl CacheFixture {
    /// Has no sources, and a clock in the future.
    pub(crate) fn new() -> CacheFixture {
        let folder = open_dir();
        fs::create_dir(folder.path().join("sources")).unwrap();
        CacheFixture {
            folder,
            filter: SourceFilter::default(),
            force: false,
            skip_invalid: false,
            passages: false,
            tokenizer: Tokenizer::Bytes4,
            clock: ahead,
        }
    }

    pub(crate) fn with(sources: &[(&str, &str)]) -> CacheFixture {
        let fixture = CacheFixture::new();
        for (path, content) in sources {
            fixture.put(path, content);
        }
        fixture
    }

    /// Has these sources and their cache, sealed in real time.
    pub(crate) fn sealed(sources: &[(&str, &str)]) -> CacheFixture {
        let mut fixture = CacheFixture::with(sources);
        fixture.clock = real;
        fixture.build().unwrap();
        assert!(!fixture.reader().unwrap().was_hashed(), "it is sealed");
        fixture
    }

    pub(crate) fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(inside)
    }

    pub(crate) fn sources(&self) -> PathBuf {
        self.path("sources")
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    /// Writes a source into a new file, so that its inode changes.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.sources().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let draft = self.path("draft");
        fs::write(&draft, content).unwrap();
        fs::rename(draft, path).unwrap();
    }

    pub(crate) fn build(&self) -> Result<BuildOutcome, Failure> {
        self.build_at("cache", self.force)
    }

    pub(crate) fn build_at(&self, cache: &str, force: bool) -> Result<BuildOutcome, Failure> {
        self.built(cache, force, |build| build.run())
    }

    /// Updates the cache, even if that removes most documents.
    pub(crate) fn update(&self) -> Result<BuildOutcome, Failure> {
        self.built("cache", true, |build| build.update())
    }

    /// Updates the cache, unless that removes most documents.
    pub(crate) fn update_carefully(&self) -> Result<BuildOutcome, Failure> {
        self.built("cache", false, |build| build.update())
    }

    /// Builds or updates the cache at a path.
    pub(crate) fn build_or_update(
        &self,
        cache: &str,
        update: bool,
    ) -> Result<BuildOutcome, Failure> {
        match update {
            true => self.built(cache, true, |build| build.update()),
            false => self.built(cache, false, |build| build.run()),
        }
    }

    fn built(
        &self,
        cache: &str,
        force: bool,
        how: impl FnOnce(&Build<'_>) -> Result<BuildOutcome, Failure>,
    ) -> Result<BuildOutcome, Failure> {
        how(&Build {
            location: &Location::Anywhere,
            sources: &self.sources(),
            cache: &self.path(cache),
            filter: &self.filter,
            skip_invalid: self.skip_invalid,
            passages: self.passages,
            tokenizer: self.tokenizer,
            force,
            created_at: Timestamp::from_second(CREATED).unwrap(),
            now: &self.clock,
            random: 0x5eed,
            progress: &(),
        })
    }

    pub(crate) fn reader(&self) -> Result<Reader<'_>, Failure> {
        Reader::open(&Location::Anywhere, &self.cache(), &self.clock)
    }

    /// Returns the bytes of a response from the cache.
    pub(crate) fn query(&self, query: &str, budget: u64) -> Result<Vec<u8>, Failure> {
        resolve_at(&self.cache(), query, budget)
    }

    /// Returns the names in the directory, to check that nothing is left behind.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Returns the bytes of a response from the cache at a path, in real time.
pub(crate) fn resolve_at(cache: &Path, query: &str, budget: u64) -> Result<Vec<u8>, Failure> {
    let query = Query::new(query)?;
    let mut reader = Reader::open(&Location::Anywhere, cache, &real)?;
    reader.resolve(&query, TokenBudget::new(budget)?)?.to_line()
}

/// Returns the bytes of the oracle's response.
pub(crate) fn oracle_response(documents: &[Document], query: &str, budget: u64) -> Vec<u8> {
    let query = Query::new(query).unwrap();
    let answer = oracle(documents, &query, TokenBudget::new(budget).unwrap());
    answer.to_line().unwrap()
}

/// Returns the document of a source.
pub(crate) fn document(path: &str, content: &str) -> Document {
    Document {
        id: path.to_lowercase(),
        version: Digest::of(content.as_bytes()),
        source: path.to_owned(),
        content: content.to_owned(),
    }
}

/// Returns the documents of sources.
pub(crate) fn documents(sources: &[(&str, &str)]) -> Vec<Document> {
    let one = |(path, content): &(&str, &str)| document(path, content);
    sources.iter().map(one).collect()
}

/// Returns the file of a document, if no other digest starts with the same digits.
pub(crate) fn file_of(content: &str) -> String {
    let digest = Digest::of(content.as_bytes()).to_string();
    format!("documents/{}.json", &digest[7..19])
}

/// Returns every file of a cache that depends on the sources alone: all but the stamps.
pub(crate) fn bytes_of(cache: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in ["", "documents/"] {
        for entry in fs::read_dir(cache.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let signatures = ["accelerator.sig", "accelerator.src"].contains(&name.as_str());
            if entry.file_type().unwrap().is_file() && !signatures {
                let bytes = fs::read(entry.path()).unwrap();
                files.insert(format!("{folder}{name}"), bytes);
            }
        }
    }
    files
}

/// Copies the files of a cache, as `cp -r` does.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let position = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &position),
            false => drop(fs::copy(entry.path(), position).unwrap()),
        }
    }
}

pub(crate) fn code(failure: &Failure) -> String {
    failure.fault().row().code.to_string()
}

/// Returns `done`, or the code and the message of a failure.
pub(crate) fn outcome_of<T>(result: Result<T, Failure>) -> String {
    match result {
        Ok(_) => String::from("done"),
        Err(failure) => format!("{}: {failure}", code(&failure)),
    }
}

pub(crate) fn make_fifo(path: &std::path::Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
}
