//! Large answers that nobody reads: they share a bounded part of the memory, and all of them arrive once
//! somebody reads.

use crate::context::fixture::ContextFixture;
use crate::context::server::arguments;
use crate::requests::call;
use candor_testkit::{Exit, Process, is_long};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command};
use std::time::Duration;

const MEGABYTE: usize = 1_000_000;

/// The number of calls, the bytes of their document, and the most memory.
struct Drill {
    calls: usize,
    document: usize,
    memory: u64,
}

fn drill() -> Drill {
    match is_long() {
        // The benchmark makes 64 calls, which takes minutes without optimisation.
        true => Drill {
            calls: 12,
            document: 60 * MEGABYTE,
            memory: 400 * MEGABYTE as u64,
        },
        // Fewer and smaller ones, which would still take more than this without a bound. Blocks below
        // 32 MiB are not returned to the system at once.
        false => Drill {
            calls: 4,
            document: 36 * MEGABYTE,
            memory: 300 * MEGABYTE as u64,
        },
    }
}

/// Builds a cache of one document with so many bytes.
fn cache_of_one(bytes: usize) -> ContextFixture {
    let fixture = ContextFixture::empty();
    let line = "The fox reads a line of forty characters\n";
    fixture.write("docs/large.md", line.repeat(bytes.div_ceil(line.len())));
    let build = ["build", "--sources", "docs", "--cache", "cache"];
    // Each call reads the document; the index of passages is not used.
    fixture.run_ok(&[&build[..], &["--no-passages"]].concat());
    fixture
}

fn serve_v0(fixture: &ContextFixture) -> Command {
    fixture.serve_command(&[])
}

fn serve_v1(fixture: &ContextFixture) -> Command {
    fixture.command(&["serve", "cache"])
}

fn resolve_all(id: usize) -> String {
    let all = arguments("cache", "fox", "9007199254740991");
    call(id.to_string(), "context.resolve", all)
}

fn get_all(id: usize) -> String {
    let all = json!({ "id": "large.md", "budget": 9_007_199_254_740_991_u64 });
    call(id.to_string(), "context_get", all.to_string())
}

fn get_lines(id: usize) -> String {
    let some = json!({ "id": "large.md", "lines": [1, 40] });
    call(id.to_string(), "context_get", some.to_string())
}

/// A server whose answers are read only when the test wants to.
struct UnreadServer {
    process: Process,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl UnreadServer {
    fn start(command: Command) -> Self {
        let (process, input, output) = Process::start(command);
        UnreadServer {
            process,
            input: Some(input),
            output: BufReader::new(output),
        }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    fn cpu_time(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.pid())).unwrap();
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// Waits until the server does nothing any more, because nobody reads.
    fn wait_until_stuck(&mut self) {
        let pause = Duration::from_millis(400);
        let mut quiet = 0;
        let mut before = self.cpu_time();
        // A busy machine may leave it no time for a moment.
        while quiet < 3 {
            assert_eq!(self.process.exit_within(pause), None);
            let now = self.cpu_time();
            // A sweep over the open cache takes less.
            quiet = if now <= before + 2 { quiet + 1 } else { 0 };
            before = now;
        }
    }

    /// Reads one answer. Returns its id and its size.
    fn read(&mut self) -> Option<(usize, usize)> {
        let mut line = Vec::new();
        self.output.read_until(b'\n', &mut line).unwrap();
        let start = std::str::from_utf8(line.get(..40)?).unwrap();
        let id = start.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).unwrap();
        let id = id.split(',').next().unwrap().parse().unwrap();
        assert!(line.ends_with(b"}\n"), "an answer was cut");
        assert!(!line.windows(14).any(|part| part == br#""isError":true"#));
        Some((id, line.len()))
    }
}

/// Sends all calls, reads nothing until the server is stuck, then reads all answers. Returns the peak of the
/// memory, and a summary.
fn check(
    drill: &Drill,
    command: Command,
    request: fn(usize) -> String,
    least: usize,
) -> (u64, String) {
    let mut server = UnreadServer::start(command);
    for id in 0..drill.calls {
        server.send(&request(id));
    }
    server.wait_until_stuck();
    let unread = server.process.peak_memory();
    let mut answered = BTreeSet::new();
    for _ in 0..drill.calls {
        let (id, size) = server.read().expect("an answer");
        assert!(size >= least, "{size}");
        assert!(answered.insert(id), "{id} was answered twice");
    }
    let peak = server.process.peak_memory();
    let summary = format!(
        "{} answers of at least {least} bytes: {} MB while unread, {} MB at most, {} answered",
        drill.calls,
        unread / MEGABYTE as u64,
        peak / MEGABYTE as u64,
        answered.len()
    );
    assert_eq!(answered.len(), drill.calls);
    server.input = None;
    assert_eq!(
        server.process.exit_within(Duration::from_secs(30)),
        Some(Exit::Code(0))
    );
    (peak, summary)
}

#[test]
fn unread_answers_of_version_0_share_bounded_memory() {
    let drill = drill();
    let fixture = cache_of_one(drill.document);
    let (peak, summary) = check(&drill, serve_v0(&fixture), resolve_all, drill.document);
    println!("{summary}");
    assert!(peak <= drill.memory, "{} MB", peak / MEGABYTE as u64);
}

#[test]
fn unread_answers_of_version_1_share_bounded_memory() {
    let drill = drill();
    let fixture = cache_of_one(drill.document);
    let (peak, summary) = check(&drill, serve_v1(&fixture), get_all, 2 * drill.document);
    println!("{summary}");
    assert!(peak <= drill.memory, "{} MB", peak / MEGABYTE as u64);
}

/// A part of a large document is small, but the whole document is read for it.
#[test]
fn parts_of_a_large_document_share_bounded_memory() {
    let drill = drill();
    let fixture = cache_of_one(drill.document);
    let (peak, summary) = check(&drill, serve_v1(&fixture), get_lines, 40);
    println!("{summary}");
    assert!(peak <= drill.memory, "{} MB", peak / MEGABYTE as u64);
}

/// A call that waits for room can be cancelled, and the others are answered.
#[test]
fn cancelled_call_gives_up_its_turn() {
    let fixture = cache_of_one(20 * MEGABYTE);
    let mut server = UnreadServer::start(serve_v1(&fixture));
    // Two answers of this size fit.
    for id in 0..2 {
        server.send(&get_all(id));
    }
    server.wait_until_stuck();
    for id in 2..4 {
        server.send(&get_all(id));
    }
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    let mut answered = BTreeSet::new();
    while answered.len() < 3 {
        let (id, _) = server.read().expect("an answer");
        assert!(answered.insert(id), "{id} was answered twice");
    }
    assert_eq!(answered, BTreeSet::from([0, 1, 3]));
    server.input = None;
    assert_eq!(server.read(), None);
    let exit = server.process.exit_within(Duration::from_secs(30));
    assert_eq!(exit, Some(Exit::Code(0)));
}

/// Calls that wait for room do not keep the process running.
#[test]
fn unread_answers_do_not_outlast_the_end() {
    let fixture = cache_of_one(20 * MEGABYTE);
    let mut server = UnreadServer::start(serve_v1(&fixture));
    for id in 0..4 {
        server.send(&get_all(id));
    }
    server.wait_until_stuck();
    server.process.signal("TERM");
    // Calls have ten seconds, and the last answers one more.
    assert_eq!(
        server.process.exit_within(Duration::from_secs(30)),
        Some(Exit::Code(0))
    );
}
