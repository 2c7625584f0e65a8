//! `kill -9` at any moment of a build leaves no cache or a complete one, and leftovers are removed by
//! the next build.

use crate::context::fixture::ContextFixture;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const FILES: usize = 300;
const KILLS: usize = 34;

/// A fixture with sources in one of two states.
struct Workshop {
    fixture: ContextFixture,
    random: fastrand::Rng,
}

impl Workshop {
    fn new(seed: u64) -> Workshop {
        let fixture = ContextFixture::empty();
        for number in 0..FILES {
            let content = format!("document {number}\n").repeat(1 + number % 50);
            fixture.write(format!("docs/{}/{number}.md", number % 7), content);
        }
        let random = fastrand::Rng::with_seed(seed);
        let workshop = Workshop { fixture, random };
        workshop.turn("old");
        workshop
    }

    /// Changes some of the sources.
    fn turn(&self, state: &str) {
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
        // The moment is the point of the test; nothing waits for anything here.
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

    /// Everything beside the sources.
    fn left(&self) -> Vec<String> {
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
fn a_first_build_leaves_nothing_or_everything() {
    let mut workshop = Workshop::new(1);
    let within = workshop.duration(BUILD);
    let version = workshop.version();
    let (mut nothing, mut drafts) = (0, 0);
    for _ in 0..KILLS {
        if workshop.fixture.path("cache").exists() {
            fs::remove_dir_all(workshop.fixture.path("cache")).unwrap();
        }
        workshop.kill(BUILD, within);
        match workshop.fixture.path("cache").exists() {
            true => assert_eq!(workshop.version(), version),
            false => nothing += 1,
        }
        drafts += usize::from(
            workshop
                .left()
                .iter()
                .any(|name| name.starts_with(".cache.tmp-")),
        );
    }
    assert!(
        nothing > 0 && drafts > 0,
        "{nothing} without a cache, {drafts} with a draft"
    );
    workshop.run(FORCE);
    assert_eq!(workshop.version(), version);
    assert_eq!(workshop.left(), ["cache"]);
}

/// Kills replacing builds; the cache is the old or the new one each time.
fn replaced(seed: u64, command: &[&str]) {
    let mut workshop = Workshop::new(seed);
    workshop.run(BUILD);
    let old = workshop.version();
    workshop.turn("new");
    let within = workshop.duration(command);
    let new = workshop.version();
    assert_ne!(old, new);
    let mut drafts = 0;
    for round in 0..KILLS {
        workshop.turn(["old", "new"][round % 2]);
        workshop.kill(command, within);
        let version = workshop.version();
        assert!(version == old || version == new, "{version}");
        drafts += usize::from(workshop.left().len() > 1);
        if round % 10 == 9 {
            workshop.run(command);
            assert_eq!(workshop.version(), [&old, &new][round % 2].as_str());
            assert_eq!(workshop.left(), ["cache"]);
        }
    }
    assert!(drafts > 0);
    workshop.turn("old");
    workshop.run(command);
    assert_eq!(workshop.version(), old);
    assert_eq!(workshop.left(), ["cache"]);
}

#[test]
fn a_replacing_build_leaves_the_old_or_the_new() {
    replaced(2, FORCE);
}

#[test]
fn an_update_leaves_the_old_or_the_new() {
    replaced(3, UPDATE);
}

/// The draft of an update shares its documents with the cache.
#[test]
fn update_after_a_killed_update_works() {
    let workshop = Workshop::new(5);
    workshop.run(BUILD);
    let old = workshop.version();
    let draft = workshop
        .fixture
        .path(".cache.tmp-1-0000000000000000/documents");
    fs::create_dir_all(&draft).unwrap();
    for entry in fs::read_dir(workshop.fixture.path("cache/documents")).unwrap() {
        let entry = entry.unwrap();
        fs::hard_link(entry.path(), draft.join(entry.file_name())).unwrap();
    }
    workshop.turn("new");
    workshop.run(UPDATE);
    assert_ne!(workshop.version(), old);
    assert_eq!(workshop.left(), ["cache"]);
}

#[test]
fn a_sealing_leaves_the_cache_as_it_was() {
    let mut workshop = Workshop::new(4);
    workshop.run(BUILD);
    let version = workshop.version();
    const SEAL: &[&str] = &["seal", "--cache", "cache"];
    let within = workshop.duration(SEAL);
    let ask = [
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
    let right = workshop.fixture.run_ok(&ask);
    for _ in 0..KILLS / 2 {
        workshop.kill(SEAL, within);
        assert_eq!(workshop.version(), version);
        assert_eq!(workshop.fixture.run_ok(&ask), right);
    }
    workshop.run(SEAL);
    let names = fs::read_dir(workshop.fixture.path("cache")).unwrap();
    let hidden = |name: &String| name.starts_with('.');
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.find(hidden), None);
    // Whatever a killed one leaves inside does not keep a cache from being replaced.
    workshop.fixture.write("cache/.accelerator.idx.tmp", "half");
    workshop.run(FORCE);
    assert_eq!(workshop.left(), ["cache"]);
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
    let left = [
        ".cache.tmp-1-0000000000000000",
        ".cache.old-.cache.tmp-1-00000000deadbeef",
    ];
    for name in mine.iter().chain(&left) {
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
    for name in left {
        assert!(!fixture.path(name).exists(), "{name}");
    }
}
