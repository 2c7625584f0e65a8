//! `update --watch`: a line for each update and each failure, signals, and kills.

use crate::context::fixture::ContextFixture;
use candor_testkit::{Exit, Process, is_long};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Stdio};
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
fn killed_watch_leaves_a_whole_cache_and_no_lock() {
    let fixture = ContextFixture::empty();
    for number in 0..100 {
        fixture.write(format!("docs/{number}.md"), format!("document {number}\n"));
    }
    fixture.build("docs", "cache");
    let mut random = fastrand::Rng::with_seed(14);
    let kills = if is_long() { 250 } else { 12 };
    let mut unfinished = 0;
    for kill in 0..kills {
        let mut command = fixture.command(&["update", "--watch", "--cache", "cache"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        fixture.write("docs/0.md", format!("kill {kill}\n"));
        // The sleep chooses the moment of the kill: during the first update, the quiet time or the second.
        std::thread::sleep(Duration::from_millis(random.u64(0..400)));
        fixture.write("docs/1.md", format!("kill {kill}\n"));
        std::thread::sleep(Duration::from_millis(random.u64(0..400)));
        child.kill().unwrap();
        child.wait().unwrap();
        let names = fs::read_dir(fixture.root()).unwrap();
        unfinished += usize::from(names.count() > 3);
        fixture.run_ok(&["verify", "--cache", "cache"]);
        if kill % 4 == 3 {
            fixture.run_ok(&["update", "--cache", "cache"]);
            fixture.run_ok(&["status", "--cache", "cache", "--exit-code"]);
            assert!(!fixture.path(".cache.lock").exists());
        }
    }
    println!("{kills} kills, {unfinished} with something left beside the cache");
}
