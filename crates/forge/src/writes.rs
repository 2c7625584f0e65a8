//! The log of writes: a JSON line for every attempt and one for its outcome, each on the disk before
//! anything is done or answered.

use candor_disk::{Disk, DiskFile, Open};
use candor_fault::dialects::Github;
use candor_fault::{Effect, Output, Timestamp, VALUE_MAX_BYTES, excerpt, iso_millis, to_json};
use candor_street::{Client, Entry, Outcome, Peer};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::io;
use std::sync::{Mutex, PoisonError};

/// The version of the lines.
const VERSION: u32 = 1;

/// How much of the log's end is looked at for its last line: more than any line has.
const TAIL: u64 = 256 * 1024;

/// A log that has a line for good once it says so.
pub trait WriteLog: Send + Sync + 'static {
    /// Appends the line that `make` makes of its number; durable when it returns. Blocks.
    fn append(&self, make: &dyn Fn(u64) -> String) -> io::Result<u64>;
}

/// A log in one file.
pub struct Journal<D: Disk> {
    file: D::File,
    end: Mutex<End>,
}

/// Where the next line goes.
#[derive(Clone, Copy)]
struct End {
    length: u64,
    last: u64,
    /// What stands behind `length` is not known, because a write failed and could not be undone.
    broken: bool,
}

/// The first line of every log. It is there before the log has its name, so a file that begins
/// otherwise is something else.
const HEADER: &str = "{\"v\":1,\"n\":0,\"kind\":\"log\",\"of\":\"github-writes\"}\n";

impl<D: Disk> Journal<D> {
    /// Opens the log with this name, or makes it. What was being written when the machine or the
    /// process died was never answered, and is removed.
    pub fn open(disk: &D, name: &str) -> io::Result<Self> {
        let file = match disk.open(name, Open::Edit) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => made(disk, name)?,
            opened => opened?,
        };
        if !file.try_lock()? {
            return Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "another process writes this log",
            ));
        }
        let length = file.len()?;
        // Whoever gave it its name may have died before that was on the disk.
        if let Err(error) = disk.sync_dir("") {
            // A name whose sync failed is never sure again: a log without lines is made anew.
            if length == HEADER.len() as u64 {
                disk.unlink(name)?;
            }
            return Err(error);
        }
        if !read_from(&file, 0, length.min(HEADER.len() as u64))?.starts_with(HEADER.as_bytes()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the file is no log of writes",
            ));
        }
        let start = length.saturating_sub(TAIL);
        let (whole, last) = last_line(&read_from(&file, start, length)?);
        let kept = start + whole as u64;
        if kept < length {
            file.set_len(kept)?;
            file.sync_data()?;
        }
        let end = End {
            length: kept,
            last,
            broken: false,
        };
        Ok(Journal {
            file,
            end: Mutex::new(end),
        })
    }
}

/// A new log: it gets its name once its first line is on the disk.
fn made<D: Disk>(disk: &D, name: &str) -> io::Result<D::File> {
    let draft = format!("{name}.new");
    let file = disk.open(&draft, Open::Create(0o600))?;
    file.set_len(0)?;
    file.append_all(HEADER.as_bytes())?;
    file.sync_all()?;
    disk.rename(&draft, name)?;
    Ok(file)
}

fn read_from(file: &impl DiskFile, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; (end - start) as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], start + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Where the last whole line ends, and its number. A crash can leave anything of the one line that
/// was being written, line breaks too.
fn last_line(bytes: &[u8]) -> (usize, u64) {
    #[derive(serde::Deserialize)]
    struct Numbered {
        n: u64,
    }
    let mut end = bytes.len();
    while let Some(at) = bytes[..end].iter().rposition(|byte| *byte == b'\n') {
        let begin = bytes[..at]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |before| before + 1);
        let numbered: Result<Numbered, _> = serde_json::from_slice(&bytes[begin..at]);
        if let Ok(numbered) = numbered {
            return (at + 1, numbered.n);
        }
        end = at;
    }
    (0, 0)
}

impl<D: Disk> WriteLog for Journal<D> {
    fn append(&self, make: &dyn Fn(u64) -> String) -> io::Result<u64> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.broken {
            return Err(io::Error::other("an earlier line could not be written"));
        }
        let number = end.last + 1;
        let mut line = make(number);
        line.push('\n');
        let written = self.file.append_all(line.as_bytes());
        match written.and_then(|()| self.file.sync_data()) {
            Ok(()) => {
                end.length += line.len() as u64;
                end.last = number;
                Ok(number)
            }
            Err(error) => {
                // After a sync that failed nobody knows what is there, so nothing more is promised.
                let undone = self
                    .file
                    .set_len(end.length)
                    .and_then(|()| self.file.sync_data());
                end.broken = undone.is_err();
                Err(error)
            }
        }
    }
}

#[derive(Serialize)]
struct Attempt<'a> {
    v: u32,
    n: u64,
    at: String,
    kind: &'static str,
    tool: &'a str,
    credential: Option<&'a str>,
    client: Option<String>,
    arguments: &'a Value,
}

/// How many characters of a client's own name the log has.
const CLIENT_CHARS: usize = 64;

/// The line of an attempt.
pub(crate) fn attempt(
    n: u64,
    at: Timestamp,
    tool: &str,
    peer: &Peer,
    client: &Client,
    shown: &Value,
) -> String {
    let name = client.name.as_ref();
    to_json(&Attempt {
        v: VERSION,
        n,
        at: iso_millis(at),
        kind: "attempt",
        tool,
        credential: peer.credential.as_deref(),
        client: name.map(|name| name.chars().take(CLIENT_CHARS).collect()),
        arguments: shown,
    })
}

/// How a call ended, as the log says it.
#[derive(Serialize)]
pub(crate) struct Ended {
    at: String,
    tool: String,
    effect: Effect,
    code: Option<i32>,
    message: Option<String>,
    answer: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Outcomes<'a> {
    v: u32,
    n: u64,
    kind: &'static str,
    of: u64,
    #[serde(flatten)]
    ended: &'a Ended,
}

impl Ended {
    /// What there is to say about a call.
    pub(crate) fn of(entry: &Entry<'_, Github>) -> Ended {
        let (code, message, answer) = match &entry.outcome {
            Outcome::Done(Output::Json(json)) => (None, None, Some(json.clone())),
            Outcome::Done(_) => (None, None, None),
            Outcome::Failed(fault) => (Some(fault.row()), Some(Github::message(fault)), None),
            Outcome::Refused(fault) => (Some(fault.row()), Some(fault.message().to_owned()), None),
        };
        Ended {
            at: iso_millis(entry.at),
            tool: entry.tool.unwrap_or("-").to_owned(),
            effect: entry.effect,
            code: code.map(|row| row.code.number()),
            message,
            answer,
        }
    }

    /// The line of the outcome of an attempt.
    pub(crate) fn line(&self, n: u64, of: u64) -> String {
        let kind = "outcome";
        to_json(&Outcomes {
            v: VERSION,
            n,
            kind,
            of,
            ended: self,
        })
    }
}

/// What the log shows of arguments: every member, contents and long texts as their size.
pub(crate) fn summary(arguments: &Value) -> Value {
    let Value::Object(members) = arguments else {
        return json!({});
    };
    let mut shown = Map::new();
    for (name, value) in members {
        shown.insert(name.clone(), short(value));
    }
    Value::Object(shown)
}

fn short(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(short_file).collect()),
        Value::String(text) if text.len() > VALUE_MAX_BYTES => {
            json!({ "omitted": "string", "bytes": text.len() })
        }
        other => serde_json::from_str(excerpt(other).get()).unwrap_or(Value::Null),
    }
}

/// A file by its path and the length of its content.
fn short_file(file: &Value) -> Value {
    let content = file.get("content").and_then(Value::as_str);
    json!({ "path": file.get("path"), "bytes": content.map(str::len) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_testkit::sim_disk::{SimDisk, for_every_operation};

    fn line(n: u64) -> String {
        format!("{{\"n\":{n}}}")
    }

    /// The whole log as the next process finds it.
    fn found(disk: &SimDisk) -> String {
        drop(Journal::open(disk, "log").unwrap());
        let file = disk.open("log", Open::Read).unwrap();
        String::from_utf8(file.read_all(1 << 20).unwrap()).unwrap()
    }

    #[test]
    fn every_line_that_was_promised_is_there_whatever_fails() {
        let workload = |disk: &SimDisk| {
            for _ in 0..2 {
                let Ok(log) = Journal::open(disk, "log") else {
                    continue;
                };
                for _ in 0..2 {
                    if let Ok(number) = log.append(&line) {
                        disk.mark(number);
                    }
                }
            }
        };
        let check = |disk: &SimDisk, promised: &[String]| {
            let text = found(disk);
            let rest = text.strip_prefix(HEADER).unwrap();
            for (number, line) in (1..).zip(rest.lines()) {
                assert_eq!(line, format!("{{\"n\":{number}}}"));
            }
            assert!(
                rest.lines().count() >= promised.len(),
                "{promised:?} {rest}"
            );
        };
        for_every_operation(workload, check).unwrap();
    }

    #[test]
    fn a_file_that_is_something_else_is_left_alone() {
        let disk = SimDisk::new(1);
        let file = disk.open("log", Open::Create(0o600)).unwrap();
        file.append_all(b"precious\n").unwrap();
        let refused = Journal::open(&disk, "log").err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        assert_eq!(file.read_all(99).unwrap(), b"precious\n");
    }

    #[test]
    fn one_process_at_a_time_writes_a_log() {
        let disk = SimDisk::new(1);
        let first = Journal::open(&disk, "log").unwrap();
        let second = Journal::open(&disk, "log").err().unwrap();
        assert_eq!(second.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(first.append(&line).unwrap(), 1);
    }

    #[test]
    fn contents_and_long_texts_are_told_by_their_size() {
        let arguments = json!({
            "repo": "a/b",
            "body": "x".repeat(600),
            "files": [{ "path": "a", "content": "secret" }],
        });
        let wanted = json!({
            "repo": "a/b",
            "body": { "omitted": "string", "bytes": 600 },
            "files": [{ "path": "a", "bytes": 6 }],
        });
        assert_eq!(summary(&arguments), wanted);
    }
}
