//! `kill -9` at any moment of a build leaves no cache or a complete one and no lock, and leftovers are
//! removed by the next build.

use crate::context::fixture::ContextFixture;
use candor_testkit::is_long;
use rustix::fs::{FlockOperation, flock};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const FILES: usize = 300;

/// Returns the number of kills of each drill.
fn kills() -> usize {
    if is_long() { 250 } else { 34 }
}

/// A fixture with sources in one of two states.
struct BuildFixture {
    fixture: ContextFixture,
    random: fastrand::Rng,
}

impl BuildFixture {
    fn new(seed: u64) -> BuildFixture {
        let fixture = ContextFixture::empty();
        for number in 0..FILES {
            let content = format!("document {number}\n").repeat(1 + number % 50);
            fixture.write(format!("docs/{}/{number}.md", number % 7), content);
        }
        let random = fastrand::Rng::with_seed(seed);
        let builder = BuildFixture { fixture, random };
        builder.set_state("old");
        builder
    }

    /// Changes some of the sources.
    fn set_state(&self, state: &str) {
        for number in (0..FILES).step_by(9) {
            let content = format!("document {number} is {state}\n").repeat(3);
            self.fixture
                .write(format!("docs/{}/{number}.md", number % 7), content);
        }
    }

    fn run(&self, arguments: &[&str]) {
        self.fixture.run_ok(arguments);
    }

    /// Returns the duration of a command that is not killed.
    fn duration(&self, arguments: &[&str]) -> Duration {
        let start = Instant::now();
        self.run(arguments);
        start.elapsed()
    }

    /// Kills a command at some moment.
    fn kill(&mut self, arguments: &[&str], within: Duration) {
        let mut command: Command = self.fixture.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // The sleep chooses the moment of the kill.
        thread::sleep(within.mul_f64(self.random.f64() * 1.1));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Returns the version of the cache, which must be complete.
    fn version(&self) -> String {
        let report = self.fixture.run_ok(&["verify", "--cache", "cache"]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["document_count"], FILES);
        report["cache_version"].as_str().unwrap().to_owned()
    }

    /// Checks that no lock has outlived its process. The file may be there, but nobody holds it.
    fn check_lock(&self) {
        if let Ok(file) = fs::File::open(self.fixture.path(".cache.lock")) {
            flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
        }
    }

    /// Returns the names of everything beside the sources.
    fn entries(&self) -> Vec<String> {
        let names = fs::read_dir(self.fixture.root()).unwrap();
        let mut names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            // Files that an update stores for the next update are not leftovers.
            .filter(|name| name != "docs" && name != ".cache.spare")
            .collect();
        names.sort();
        names
    }
}

const BUILD: &[&str] = &["build", "--sources", "docs", "--cache", "cache"];
const FORCE: &[&str] = &["build", "--sources", "docs", "--cache", "cache", "--force"];
const UPDATE: &[&str] = &["update", "--sources", "docs", "--cache", "cache"];

#[test]
fn killed_first_build_leaves_no_cache_or_a_complete_one() {
    let mut builder = BuildFixture::new(1);
    let within = builder.duration(BUILD);
    let version = builder.version();
    let (mut nothing, mut drafts) = (0, 0);
    for _ in 0..kills() {
        if builder.fixture.path("cache").exists() {
            fs::remove_dir_all(builder.fixture.path("cache")).unwrap();
        }
        builder.kill(BUILD, within);
        match builder.fixture.path("cache").exists() {
            true => assert_eq!(builder.version(), version),
            false => nothing += 1,
        }
        drafts += usize::from(
            builder
                .entries()
                .iter()
                .any(|name| name.starts_with(".cache.tmp-")),
        );
    }
    assert!(
        nothing > 0 && drafts > 0,
        "{nothing} without a cache, {drafts} with a draft"
    );
    builder.run(FORCE);
    assert_eq!(builder.version(), version);
    assert_eq!(builder.entries(), ["cache"]);
}

/// Kills builds that replace a cache. Each time the cache is the old or the new one. Returns how often
/// something was left beside it.
fn replaced(seed: u64, command: &[&str]) -> usize {
    let mut builder = BuildFixture::new(seed);
    builder.run(BUILD);
    let old = builder.version();
    builder.set_state("new");
    let within = builder.duration(command);
    let new = builder.version();
    assert_ne!(old, new);
    let mut drafts = 0;
    for round in 0..kills() {
        builder.set_state(["old", "new"][round % 2]);
        builder.kill(command, within);
        builder.check_lock();
        let version = builder.version();
        assert!(version == old || version == new, "{version}");
        drafts += usize::from(builder.entries().len() > 1);
        // After one kill, and after several.
        if round % 10 >= 6 {
            builder.run(command);
            assert_eq!(builder.version(), [&old, &new][round % 2].as_str());
            assert_eq!(builder.entries(), ["cache"]);
        }
    }
    assert!(drafts > 0);
    builder.set_state("old");
    builder.run(command);
    assert_eq!(builder.version(), old);
    assert_eq!(builder.entries(), ["cache"]);
    drafts
}

#[test]
fn killed_forced_build_leaves_the_old_or_the_new_cache() {
    let left = replaced(2, FORCE);
    println!(
        "{} kills, {left} with something left beside the cache",
        kills()
    );
}

#[test]
fn killed_update_leaves_the_old_or_the_new_cache() {
    let left = replaced(3, UPDATE);
    println!(
        "{} kills, {left} with something left beside the cache",
        kills()
    );
}

/// Kills a program that follows the sources, during its first update, in the quiet time, or in an update
/// after a change. Returns how often something was left beside the cache.
fn killed_follower(seed: u64, arguments: &[&str]) -> usize {
    let mut builder = BuildFixture::new(seed);
    builder.run(BUILD);
    let old = builder.version();
    builder.set_state("new");
    let within = builder.duration(UPDATE) + Duration::from_millis(300);
    let new = builder.version();
    let mut leftovers = 0;
    for round in 0..kills() {
        let mut command: Command = builder.fixture.command(arguments);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // The sleeps choose the moments of the change and of the kill.
        thread::sleep(within.mul_f64(builder.random.f64() * 0.7));
        builder.set_state(["old", "new"][round % 2]);
        thread::sleep(within.mul_f64(builder.random.f64() * 1.1));
        child.kill().unwrap();
        child.wait().unwrap();
        builder.check_lock();
        // The sources are changed file by file, so that an update may find a mixture of both states.
        let version = builder.version();
        leftovers += usize::from(builder.entries().len() > 1);
        if round % 10 >= 6 {
            builder.run(UPDATE);
            assert_eq!(
                builder.version(),
                [&old, &new][round % 2].as_str(),
                "{version}"
            );
            assert_eq!(builder.entries(), ["cache"]);
        }
    }
    assert!(leftovers > 0);
    builder.set_state("old");
    builder.run(UPDATE);
    assert_eq!(builder.version(), old);
    assert_eq!(builder.entries(), ["cache"]);
    leftovers
}

#[test]
fn killed_watch_leaves_a_complete_cache() {
    let left = killed_follower(6, &["update", "--watch", "--cache", "cache"]);
    println!(
        "{} kills, {left} with something left beside the cache",
        kills()
    );
}

#[test]
fn killed_server_leaves_a_complete_cache() {
    let left = killed_follower(7, &["serve", "cache", "--update"]);
    println!(
        "{} kills, {left} with something left beside the cache",
        kills()
    );
}

/// The draft of an update shares its documents with the cache.
#[test]
fn update_after_a_killed_update_works() {
    let builder = BuildFixture::new(5);
    builder.run(BUILD);
    let old = builder.version();
    let draft = builder
        .fixture
        .path(".cache.tmp-1-0000000000000000/documents");
    fs::create_dir_all(&draft).unwrap();
    for entry in fs::read_dir(builder.fixture.path("cache/documents")).unwrap() {
        let entry = entry.unwrap();
        fs::hard_link(entry.path(), draft.join(entry.file_name())).unwrap();
    }
    builder.set_state("new");
    builder.run(UPDATE);
    assert_ne!(builder.version(), old);
    assert_eq!(builder.entries(), ["cache"]);
}

#[test]
fn killed_seal_leaves_the_cache_unchanged() {
    let mut builder = BuildFixture::new(4);
    builder.run(BUILD);
    let version = builder.version();
    const SEAL: &[&str] = &["seal", "--cache", "cache"];
    let within = builder.duration(SEAL);
    let arguments = [
        "resolve",
        "--cache",
        "cache",
        "--query",
        "document",
        "--budget",
        "99",
        "--error-format",
        "json",
    ];
    let expected = builder.fixture.run_ok(&arguments);
    for _ in 0..kills() / 2 {
        builder.kill(SEAL, within);
        assert_eq!(builder.version(), version);
        assert_eq!(builder.fixture.run_ok(&arguments), expected);
    }
    builder.run(SEAL);
    let names = fs::read_dir(builder.fixture.path("cache")).unwrap();
    let hidden = |name: &String| name.starts_with('.');
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.find(hidden), None);
    // Leftovers of a killed command inside a cache do not prevent its replacement.
    builder.fixture.write("cache/.accelerator.idx.tmp", "half");
    builder.run(FORCE);
    assert_eq!(builder.entries(), ["cache"]);
}

/// A build removes only directories that have the name of a build.
#[test]
fn directories_of_others_are_left_alone() {
    let fixture = ContextFixture::with_docs();
    let mine = [
        ".cache.tmp-mine",
        ".cache.tmp-1-2",
        ".cache.tmp-1-0000000000000000-mine",
        ".cache.old-mine",
        ".cachet.tmp-1-0000000000000000",
    ];
    let entries = [
        ".cache.tmp-1-0000000000000000",
        ".cache.old-.cache.tmp-1-00000000deadbeef",
    ];
    for name in mine.iter().chain(&entries) {
        fixture.write(format!("{name}/manifest.json"), "mine");
    }
    fixture.build("docs", "cache");
    for name in mine {
        assert_eq!(
            fixture.read(format!("{name}/manifest.json")),
            b"mine",
            "{name}"
        );
    }
    for name in entries {
        assert!(!fixture.path(name).exists(), "{name}");
    }
}
