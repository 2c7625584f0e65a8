//! The cost of an update in `stat` calls, and a crash after every step of an update.

use crate::build::builder::{Build, BuildOutcome};
use crate::build::source_filter::SourceFilter;
use crate::files::dir_handle::STAT_CALLS;
use crate::files::disk_steps::{Step, recorded};
use crate::files::location::Location;
use candor_disk::{Disk, DiskFile, Open};
use candor_fault::Timestamp;
use candor_sim_disk::{DiskFault, SimDisk, Trials};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tempfile::TempDir;

/// A directory with sources, in which updates run one after another.
struct Fixture(TempDir);

impl Fixture {
    fn new(documents: usize) -> Fixture {
        let fixture = Fixture(tempfile::tempdir().unwrap());
        fs::create_dir(fixture.path("sources")).unwrap();
        for number in 0..documents {
            // As in large trees of documentation, every document has a directory of its own.
            fs::create_dir(fixture.path("sources").join(format!("{number:03}"))).unwrap();
            fixture.put(&path(number), &format!("document {number}"));
        }
        fixture.run(|build| build.run().unwrap());
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, content: &str) {
        fs::write(self.path("sources").join(name), content).unwrap();
    }

    fn run(&self, work: impl FnOnce(&Build<'_>) -> BuildOutcome) -> BuildOutcome {
        work(&Build {
            location: &Location::Anywhere,
            sources: &self.path("sources"),
            cache: &self.path("cache"),
            filter: &SourceFilter::default(),
            skip_invalid: false,
            passages: true,
            tokenizer: crate::Tokenizer::Bytes4,
            force: true,
            created_at: Timestamp::UNIX_EPOCH,
            // Later than everything that is written here.
            now: &|| Timestamp::MAX,
            random: 7,
            progress: &(),
        })
    }

    fn update(&self) -> BuildOutcome {
        self.run(|build| build.update().unwrap())
    }
}

#[test]
fn update_needs_two_stat_calls_a_document() {
    const DOCUMENTS: usize = 1_000;
    let fixture = Fixture::new(DOCUMENTS);
    // The first update makes the links that later ones find.
    fixture.put(&path(0), "changed");
    fixture.update();
    for round in 0..3 {
        fixture.put(&path(round), &format!("round {round}"));
        let before = STAT_CALLS.load(Ordering::Relaxed);
        let read = fixture.update().read;
        let calls = STAT_CALLS.load(Ordering::Relaxed) - before;
        assert!(read < 3, "{read} sources were read");
        assert!(
            calls * 10 <= DOCUMENTS * 21,
            "{calls} calls in round {round}"
        );
        // One for each source and one for each document: fewer would prove nothing.
        assert!(calls >= DOCUMENTS * 2, "{calls} calls in round {round}");
    }
}

fn path(number: usize) -> String {
    format!("{number:03}/index.md")
}

/// The files of a directory below the root, by their paths there.
type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn tree(root: &Path, directory: &str) -> Tree {
    let mut tree = Tree::new();
    let mut directories = vec![root.join(directory)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => {
                    let bytes = fs::read(&path).unwrap();
                    tree.insert(path.strip_prefix(root).unwrap().to_owned(), bytes);
                }
            }
        }
    }
    tree
}

/// Returns the files that must survive: torn index files are ignored.
fn protected(tree: Tree) -> Tree {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("accelerator.") || name == "passages.idx" || name.starts_with('.')
    };
    tree.into_iter()
        .filter(|(path, _)| !is_ours(path))
        .collect()
}

/// Writes a tree to a simulated disk and makes it durable.
fn store(disk: &SimDisk, tree: &Tree) {
    let mut directories = vec![PathBuf::new()];
    for (path, bytes) in tree {
        for directory in path
            .ancestors()
            .skip(1)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            if !directories.contains(&directory.to_owned()) {
                disk.create_dir(directory, 0o755).unwrap();
                directories.push(directory.to_owned());
            }
        }
        let file = disk.open(path, Open::CreateNew(0o644)).unwrap();
        file.append_all(bytes).unwrap();
        file.sync_all().unwrap();
    }
    for directory in directories {
        disk.sync_dir(directory).unwrap();
    }
}

/// Reads the cache of a simulated disk.
fn load(disk: &SimDisk) -> Tree {
    let mut tree = Tree::new();
    for directory in ["cache", "cache/documents"] {
        for name in disk.list(directory).unwrap() {
            let path = Path::new(directory).join(name);
            if let Ok(file) = disk.open(&path, Open::Read) {
                tree.insert(path, file.read_all(1 << 20).unwrap());
            }
        }
    }
    tree
}

/// Repeats a step on a simulated disk.
fn repeat(disk: &SimDisk, root: &Path, step: &Step) -> std::io::Result<()> {
    let inside = |path: &PathBuf| path.strip_prefix(root).unwrap().to_owned();
    match step {
        Step::Write(path, bytes) => {
            let file = disk.open(inside(path), Open::Create(0o644))?;
            file.set_len(0)?;
            file.append_all(bytes)
        }
        Step::MakeDir(path) => disk.create_dir(inside(path), 0o755),
        // The content of a linked file is durable already, its new name is not.
        Step::Link(from, to) => {
            let bytes = disk.open(inside(from), Open::Read)?.read_all(1 << 20)?;
            let file = disk.open(inside(to), Open::CreateNew(0o644))?;
            file.append_all(&bytes)?;
            file.sync_all()
        }
        Step::Rename(from, to) => disk.rename(inside(from), inside(to)),
        Step::Exchange(from, to) => disk.exchange(inside(from), inside(to)),
        Step::Unlink(path) => disk.unlink(inside(path)),
        Step::SyncFile(path) => disk.open(inside(path), Open::Read)?.sync_all(),
        Step::SyncDir(path) => disk.sync_dir(inside(path)),
        Step::SyncAll => panic!("an update waits for other programs"),
    }
}

/// Crashes after every step of an update, and checks that the cache is the old or the new one.
fn crash(fixture: &Fixture) {
    let root = fixture.path("");
    let mut start = tree(&root, "cache");
    if fixture.path(".cache.spare").exists() {
        start.extend(tree(&root, ".cache.spare"));
    }
    let old = protected(tree(&root, "cache"));
    let steps = recorded(|| drop(fixture.update()));
    // Other tests of this process may write at the same time.
    let ours = |step: &Step| match step {
        Step::Write(path, _) | Step::MakeDir(path) | Step::Unlink(path) => path.starts_with(&root),
        Step::Link(path, _) | Step::Rename(path, _) | Step::Exchange(path, _) => {
            path.starts_with(&root)
        }
        Step::SyncFile(path) | Step::SyncDir(path) => path.starts_with(&root),
        Step::SyncAll => true,
    };
    let steps: Vec<_> = steps.into_iter().filter(ours).collect();
    let new = protected(tree(&root, "cache"));
    assert_ne!(old, new);
    let exchanges = steps
        .iter()
        .filter(|step| matches!(step, Step::Exchange(..)));
    assert_eq!(exchanges.count(), 1);
    let disk = SimDisk::new(1);
    store(&disk, &start);
    let workload = |disk: &SimDisk| {
        // A process that has died cannot go on: what fails then is not of interest.
        let done = steps.iter().all(|step| repeat(disk, &root, step).is_ok());
        if done {
            disk.mark("updated");
        }
    };
    let check = |disk: &SimDisk, marks: &[String]| {
        let found = protected(load(disk));
        let is_new = found == new;
        assert!(is_new || found == old, "{:?}", found.keys());
        assert!(
            is_new || marks.is_empty(),
            "an update that has ended is lost"
        );
    };
    let trials = Trials::new()
        .starting_from(&disk)
        .faults(&[DiskFault::Crash]);
    let summary = trials.run(workload, check).unwrap();
    assert!(summary.runs as usize > steps.len() / 2, "{summary:?}");
}

#[test]
fn crash_during_an_update_leaves_the_old_or_the_new_cache() {
    let fixture = Fixture::new(6);
    // The first update has no spare.
    for round in 0..3 {
        fixture.put(&path(0), &format!("round {round}"));
        fixture.put(&format!("new-{round}.md"), "document 1");
        let removed = fixture.path("sources").join(path(round + 2));
        fs::remove_file(removed).unwrap();
        crash(&fixture);
    }
}
