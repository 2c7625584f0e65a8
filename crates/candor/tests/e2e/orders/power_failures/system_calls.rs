//! Runs a server under strace, and reads from the trace what it did with the files of its store and
//! which calls it answered.

use crate::fixture::LIMIT;
use candor_testkit::Process;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

/// The system calls that change files or send answers.
const CALLS: &str = "trace=openat,lseek,write,pwrite64,writev,sendto,sendmsg,ftruncate,fsync,fdatasync,unlink,unlinkat";

/// Longer than any write of the server, so that the trace contains all bytes.
const LONGEST: &str = "1000000";

/// The answer of a server starts with this, followed by the number of the call.
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":"#;

/// A step of a server that matters for its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Create {
        file: String,
    },
    Write {
        file: String,
        offset: u64,
        bytes: Vec<u8>,
    },
    SetLen {
        file: String,
        length: u64,
    },
    Sync {
        file: String,
    },
    SyncNames,
    Unlink {
        file: String,
    },
    /// The answer to the call with this number was sent.
    Answer(usize),
}

/// Returns true if strace works here. Otherwise the test is recorded as skipped.
pub(super) fn is_available() -> bool {
    let probe = Command::new("strace")
        .args(["-o", "/dev/null", "-e", "trace=openat", "true"])
        .output();
    match probe {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            candor_testkit::skip("strace was not found");
            false
        }
        Ok(probe) if !probe.status.success() => {
            candor_testkit::skip_for_kernel("the kernel does not permit strace here");
            false
        }
        probe => {
            probe.unwrap();
            true
        }
    }
}

/// Returns the arguments of strace, before those of the program. The program is the child of the
/// caller, as without strace.
pub(super) fn arguments(trace: &str) -> [&str; 10] {
    [
        "-D", "-f", "-y", "-xx", "-s", LONGEST, "-e", CALLS, "-o", trace,
    ]
}

/// Reads the trace of a killed server, once it is complete.
pub(super) fn read(trace: &Path, process: &Process, store: &Path) -> Vec<Step> {
    let pid = process.pid().to_string();
    // A short id is followed by more than one blank.
    let is_end = |line: &str| {
        let end = line.strip_prefix(pid.as_str()).map(str::trim_start);
        end == Some("+++ killed by SIGKILL +++")
    };
    let started = Instant::now();
    let text = loop {
        let text = fs::read_to_string(trace).unwrap();
        if text.lines().rev().any(is_end) {
            break text;
        }
        assert!(started.elapsed() < LIMIT, "the trace has no end");
        thread::yield_now();
    };
    let mut reader = TraceReader {
        store: store.to_str().unwrap().to_owned(),
        ..TraceReader::default()
    };
    text.lines().for_each(|line| reader.read_line(line));
    reader.steps
}

/// Reads the lines of a trace in turn.
#[derive(Default)]
struct TraceReader {
    /// The directory of the store.
    store: String,
    /// The offsets of open files, by their descriptors.
    offsets: BTreeMap<String, u64>,
    /// The syncs that have begun and not ended, by the ids of their threads.
    syncing: BTreeMap<String, Step>,
    steps: Vec<Step>,
}

impl TraceReader {
    /// Reads a line: the id of a thread and a call with its result. A call that takes long has two
    /// lines. A write counts from its first line on, because a part of it may be on the disk; a sync
    /// counts from its second one on, because nothing is promised before.
    fn read_line(&mut self, line: &str) {
        let Some((thread, call)) = line.split_once(' ') else {
            return;
        };
        let call = call.trim_start();
        if call.starts_with("<... ") {
            if let Some(step) = self.syncing.remove(thread) {
                assert!(call.ends_with(" = 0"), "{line}");
                self.steps.push(step);
            }
            return;
        }
        let Some((name, arguments)) = call.split_once('(') else {
            return;
        };
        match name {
            "fsync" | "fdatasync" => {
                let path = decode(between(arguments, '<', '>'));
                let Some(step) = self.sync(&path) else {
                    return;
                };
                match call.contains("<unfinished") {
                    true => drop(self.syncing.insert(thread.to_owned(), step)),
                    false => self.steps.push(step),
                }
            }
            "openat" | "unlink" | "unlinkat" => self.read_name(name, arguments),
            "lseek" | "write" | "pwrite64" | "ftruncate" => self.read_change(name, arguments),
            _ => {}
        }
        if ["write", "writev", "sendto", "sendmsg"].contains(&name) {
            self.read_answers(arguments);
        }
    }

    fn sync(&self, path: &str) -> Option<Step> {
        match path == self.store {
            true => Some(Step::SyncNames),
            false => self.file(path).map(|file| Step::Sync { file }),
        }
    }

    /// Returns the name of a file of the store. The shared memory is not one of them: it is built
    /// anew from the log after a crash.
    fn file(&self, path: &str) -> Option<String> {
        let name = path.strip_prefix(&self.store)?.strip_prefix('/')?;
        let is_file = name.starts_with("orders.db") && name != "orders.db-shm";
        is_file.then(|| name.to_owned())
    }

    fn read_name(&mut self, call: &str, arguments: &str) {
        let Some(file) = self.file(&decode(between(arguments, '"', '"'))) else {
            return;
        };
        match call == "openat" {
            true if arguments.contains("O_CREAT") => self.steps.push(Step::Create { file }),
            true => {}
            false => self.steps.push(Step::Unlink { file }),
        }
    }

    fn read_change(&mut self, call: &str, arguments: &str) {
        let Some(file) = self.file(&decode(between(arguments, '<', '>'))) else {
            return;
        };
        let descriptor = arguments.split('<').next().unwrap().to_owned();
        let text = between(arguments, '"', '"');
        let mut rest = arguments.rsplit('"').next().unwrap();
        if text.is_empty() {
            rest = arguments.split_once('>').unwrap().1;
        }
        let numbers = rest.split(|sign: char| !sign.is_ascii_digit());
        let numbers: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
        let bytes = bytes(text);
        match call {
            "lseek" => {
                assert!(arguments.contains("SEEK_SET"), "{arguments}");
                self.offsets.insert(descriptor, numbers[0]);
            }
            "ftruncate" => {
                let length = numbers[0];
                self.steps.push(Step::SetLen { file, length });
            }
            _ => {
                assert_eq!(bytes.len() as u64, numbers[0], "the trace has all bytes");
                let offset = match call {
                    "pwrite64" => numbers[1],
                    _ => {
                        let offset = self.offsets.entry(descriptor).or_default();
                        *offset += numbers[0];
                        *offset - numbers[0]
                    }
                };
                self.steps.push(Step::Write {
                    file,
                    offset,
                    bytes,
                });
            }
        }
    }

    /// Finds the answers in what was sent to a client.
    fn read_answers(&mut self, arguments: &str) {
        let texts = arguments.split('"').skip(1).step_by(2);
        for text in texts {
            let text = decode(text);
            for (start, _) in text.match_indices(ANSWER) {
                let digits = &text[start + ANSWER.len()..];
                let end = digits.find(|sign: char| !sign.is_ascii_digit()).unwrap();
                self.steps
                    .push(Step::Answer(digits[..end].parse().unwrap()));
            }
        }
    }
}

/// Returns the text between the first of these signs and the next one.
fn between(text: &str, first: char, next: char) -> &str {
    let after = text.split_once(first).map_or("", |(_, after)| after);
    after.split(next).next().unwrap()
}

/// Decodes a text that is written as `\x2f\x74`.
fn bytes(text: &str) -> Vec<u8> {
    let numbers = text.split("\\x").skip(1);
    let numbers = numbers.map(|number| u8::from_str_radix(number, 16));
    numbers.map(|number| number.unwrap()).collect()
}

fn decode(text: &str) -> String {
    String::from_utf8_lossy(&bytes(text)).into_owned()
}
