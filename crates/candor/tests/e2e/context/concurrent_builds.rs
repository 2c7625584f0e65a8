//! Concurrent builds of one cache: one of them succeeds completely, and leaves no other files.

use crate::context::fixture::{CommandOutput, ContextFixture, error_object, run_command};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the same command several times at once.
fn run_concurrently(fixture: &ContextFixture, arguments: &[&str]) -> Vec<CommandOutput> {
    std::thread::scope(|scope| {
        let run = |_| scope.spawn(|| run_command(fixture.command(arguments)));
        let running: Vec<_> = (0..6).map(run).collect();
        running
            .into_iter()
            .map(|build| build.join().unwrap())
            .collect()
    })
}

fn check_complete(fixture: &ContextFixture) {
    fixture.run_ok(&["verify", "--cache", "cache"]);
    let names = fs::read_dir(fixture.root()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    // Files that an update stores for the next update are not leftovers.
    names.retain(|name| name != ".cache.spare");
    names.sort();
    assert_eq!(names, ["cache", "docs"]);
}

#[test]
fn one_of_several_first_builds_wins() {
    let fixture = ContextFixture::with_docs();
    let build = [
        "build",
        "--sources",
        "docs",
        "--cache",
        "cache",
        "--error-format",
        "json",
    ];
    let ends = run_concurrently(&fixture, &build);
    assert_eq!(
        ends.iter().filter(|output| output.code == 0).count(),
        1,
        "{ends:?}"
    );
    for lost in ends.iter().filter(|output| output.code != 0) {
        assert_eq!(
            (lost.code, lost.stderr.as_str()),
            (6, error_object("io_error").as_str())
        );
    }
    check_complete(&fixture);
}

#[test]
fn replacing_builds_do_not_disturb_each_other() {
    let fixture = ContextFixture::with_cache();
    let force = ["build", "--sources", "docs", "--cache", "cache", "--force"];
    let update = [
        "update",
        "--sources",
        "docs",
        "--cache",
        "cache",
        "--error-format",
        "json",
    ];
    for round in 0..4 {
        fixture.write("docs/fox.md", format!("the fox of round {round}\n"));
        for end in run_concurrently(&fixture, &force) {
            assert_eq!((end.code, end.stderr.as_str()), (0, ""));
        }
        check_complete(&fixture);
        fixture.write(
            "docs/fox.md",
            format!("the fox of round {round} and a half\n"),
        );
        // Updates share documents with the existing cache, which may be replaced meanwhile.
        let ends = run_concurrently(&fixture, &update);
        assert!(ends.iter().any(|end| end.code == 0), "{ends:?}");
        for end in ends.iter().filter(|end| end.code != 0) {
            assert_eq!(
                (end.code, end.stderr.as_str()),
                (6, error_object("io_error").as_str())
            );
        }
        fixture.run_ok(&["verify", "--cache", "cache"]);
        // The next build removes files that this one could not remove.
        fixture.run_ok(&["update", "--sources", "docs", "--cache", "cache"]);
        check_complete(&fixture);
    }
}

/// Set when the builder has ended, even after a panic.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Readers do not notice that the replaced cache is removed file by file.
#[test]
fn readers_do_not_see_a_cache_go() {
    let fixture = ContextFixture::empty();
    for number in 0..400 {
        fixture.write(format!("docs/{number}.md"), format!("fox {number}\n"));
    }
    fixture.build("docs", "cache");
    let expected = fixture.resolve("cache", "fox", "9").stdout;
    let verified = fixture.run_ok(&["verify", "--cache", "cache"]);
    let inspected = fixture.run_ok(&["inspect", "--cache", "cache"]);
    let building = AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _done = Done(&building);
            for _ in 0..12 {
                fixture.run_ok(&["build", "--sources", "docs", "--cache", "cache", "--force"]);
            }
        });
        scope.spawn(|| {
            let mut server = fixture.serve(&["--no-watch"]);
            while building.load(Ordering::Relaxed) {
                assert_eq!(server.resolve("cache", "fox", "9").text(), expected);
            }
        });
        while building.load(Ordering::Relaxed) {
            assert_eq!(fixture.resolve("cache", "fox", "9").text(), expected);
            assert_eq!(fixture.run_ok(&["verify", "--cache", "cache"]), verified);
            assert_eq!(fixture.run_ok(&["inspect", "--cache", "cache"]), inspected);
        }
    });
}
