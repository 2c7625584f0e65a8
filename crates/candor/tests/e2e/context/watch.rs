//! `update --watch`: a line for each update and each failure, signals, lost events, and sources that are
//! replaced.

use crate::context::fixture::ContextFixture;
use candor_testkit::{Exit, Process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// A running `context update --watch`.
struct Watch {
    process: Process,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn start(fixture: &ContextFixture, more: &[&str]) -> Watch {
        let arguments = [&["update", "--watch", "--cache", "cache"], more].concat();
        let (process, _input, output) = Process::start(fixture.command(&arguments));
        let lines = BufReader::new(output);
        Watch { process, lines }
    }

    /// Returns the line of the next update.
    fn update(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}: {}", self.process.stderr()))
    }

    /// Waits for an update that has this many documents.
    fn until(&mut self, documents: u64) {
        while self.update()["document_count"] != documents {}
    }
}

#[test]
fn each_update_and_each_failure_is_a_line() {
    let fixture = ContextFixture::with_cache();
    for signal in ["TERM", "INT"] {
        let mut watch = Watch::start(&fixture, &[]);
        let first = watch.update();
        let members: Vec<_> = first.as_object().unwrap().keys().collect();
        assert_eq!(members, ["cache_version", "document_count", "read"]);
        fixture.write("docs/new.md", "new\n");
        watch.until(5);
        fixture.write("docs/bad.md", b"\xff");
        let line = watch.process.stderr_line("bad.md", LIMIT).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let expected = serde_json::json!({
            "error": {"code": "cache_invalid", "message": "Cache exists but is invalid"},
            "reason": "`bad.md` is not UTF-8 from byte 0 on",
        });
        assert_eq!(line, expected);
        fixture.remove("docs/bad.md");
        fixture.remove("docs/new.md");
        watch.until(4);
        watch.process.signal(signal);
        assert_eq!(watch.process.exit_within(LIMIT), Some(Exit::Code(0)));
        fixture.run_ok(&["status", "--cache", "cache", "--exit-code"]);
    }
}

#[test]
fn watch_of_a_cache_that_cannot_be_updated_ends() {
    let fixture = ContextFixture::with_cache();
    assert_eq!(fixture.run(&["update", "--watch", "--cache", "no"]).code, 4);
    fixture.remove("cache/build.json");
    let text = fixture.run_err(1, &["update", "--watch", "--cache", "cache"]);
    assert!(text.contains("does not record its sources"), "{text}");
    // The flags are recorded, and then followed.
    let mut watch = Watch::start(&fixture, &["--sources", "docs"]);
    watch.until(4);
    assert!(fixture.path("cache/build.json").exists());
    fixture.write("docs/new.md", "new\n");
    watch.until(5);
    watch.process.signal("TERM");
    assert_eq!(watch.process.exit_within(LIMIT), Some(Exit::Code(0)));
}

#[test]
fn sources_that_are_deleted_and_made_again_are_followed() {
    let fixture = ContextFixture::with_cache();
    let mut watch = Watch::start(&fixture, &[]);
    watch.until(4);
    for round in 0..2 {
        fs::rename(fixture.path("docs"), fixture.path("gone")).unwrap();
        let lost = format!(
            "cannot open the sources `{}",
            fixture.path("docs").display()
        );
        watch.process.stderr_line(&lost, LIMIT).unwrap();
        fs::remove_dir_all(fixture.path("gone")).unwrap();
        for number in 0..3 + round {
            fixture.write(format!("docs/{round}/{number}.md"), "again\n");
        }
        // The guard against emptying needs one old document.
        fixture.write("docs/fox.md", "the fox is back\n");
        watch.until(4 + round);
        fixture.write("docs/later.md", "later\n");
        watch.until(5 + round);
        fixture.remove("docs/later.md");
        watch.until(4 + round);
    }
    watch.process.signal("TERM");
    assert_eq!(watch.process.exit_within(LIMIT), Some(Exit::Code(0)));
    fixture.run_ok(&["status", "--cache", "cache", "--exit-code"]);
}

/// More events than the system keeps: the program is stopped while they happen.
#[test]
fn overflow_of_events_is_reported_once_and_the_sources_are_compared() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit > 200_000 {
        return candor_testkit::skip_for_kernel("the system keeps too many events");
    }
    let fixture = ContextFixture::with_cache();
    let mut watch = Watch::start(&fixture, &[]);
    watch.until(4);
    watch.process.signal("STOP");
    // Each write causes two events or more. Equal events in a row count once, so two files take turns.
    for number in 0..limit {
        fixture.write(format!("docs/{}.md", number % 2), format!("{number}\n"));
    }
    watch.process.signal("CONT");
    watch.until(6);
    let note =
        "note: the sources are compared every 2 seconds instead of being watched: events were lost";
    watch.process.stderr_line(note, LIMIT).unwrap();
    // Changes are found by comparing, and the note is not repeated.
    fixture.write("docs/new/deep.md", "new\n");
    watch.until(7);
    fixture.remove("docs/new/deep.md");
    watch.until(6);
    watch.process.signal("TERM");
    assert_eq!(watch.process.exit_within(LIMIT), Some(Exit::Code(0)));
    let stderr = watch.process.whole_stderr(LIMIT);
    assert_eq!(
        stderr.matches("instead of being watched").count(),
        1,
        "{stderr}"
    );
}

/// Sources that change while updates read them: every update is complete or says why it is not, and when
/// the sources are quiet, the cache is that of a build.
#[test]
fn sources_that_change_during_updates_are_followed() {
    let fixture = ContextFixture::with_cache();
    for number in 0..200 {
        fixture.write(
            format!("docs/many/{number}.md"),
            format!("document {number}\n"),
        );
    }
    let changing = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let change = |seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            while changing.load(Ordering::Relaxed) {
                let number = random.u32(0..200);
                let file = fixture.path(format!("docs/many/{number}.md"));
                let other = fixture.path(format!("docs/many/{number}-moved.md"));
                match random.u32(0..4) {
                    // Both files may be missing now.
                    0 => drop(fs::rename(&file, &other)),
                    1 => drop(fs::rename(&other, &file)),
                    2 => drop(fs::remove_file(&file)),
                    _ => fs::write(&file, "again\n".repeat(random.usize(1..3000))).unwrap(),
                }
            }
        };
        scope.spawn(move || change(1));
        let _ended = Ended(&changing);
        let mut succeeded = 0;
        for _ in 0..25 {
            let output = fixture.run(&["update", "--cache", "cache"]);
            match output.code {
                0 => succeeded += 1,
                code => {
                    assert_eq!(code, 6, "{}", output.stderr);
                    assert!(output.stderr.contains("source"), "{}", output.stderr);
                }
            }
            fixture.run_ok(&["verify", "--cache", "cache"]);
        }
        println!("{succeeded} of 25 updates succeeded");
    });
    fixture.run_ok(&["update", "--cache", "cache"]);
    fixture.run_ok(&["status", "--cache", "cache", "--exit-code"]);
    fixture.build("docs", "fresh");
    for file in [
        "index.json",
        "build.json",
        "accelerator.idx",
        "passages.idx",
    ] {
        let (one, other) = (format!("cache/{file}"), format!("fresh/{file}"));
        assert!(fixture.read(one) == fixture.read(other), "{file}");
    }
}

/// Ends the changes, even after a panic.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
