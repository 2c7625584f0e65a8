//! The log of writes: one line for every attempt and one for its outcome. Each is on the disk before
//! anything is done or answered. The lines are a hash chain.

use crate::dialect::Github;
use crate::token_digest::caller_name;
use candor_audit::{AppendError, Log, LogOptions, TornBytes};
use candor_disk::{Disk, DiskFile, Open};
use candor_fault::{
    Cause, Effect, Fault, MAX_VALUE_BYTES, Timestamp, ToolOutput, excerpt, iso_millis,
};
use candor_street::{CallOutcome, CallRecord, ClientInfo, Clock, JsonKind, JsonRef, Peer};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fmt;
use std::io;
use std::sync::Arc;

/// The version of the lines. Lines of version 1 were not chained.
const VERSION: u32 = 2;

/// A durable log of writes. A trait because tests replace the log by one that fails on demand, and the
/// generator of documents by one that writes nowhere.
pub trait WriteLog: Send + Sync + 'static {
    /// Appends a line with these members and returns its number. The line is durable then. Blocks.
    fn append(&self, members: Map<String, Value>) -> io::Result<u64>;
}

impl WriteLog for Log {
    fn append(&self, members: Map<String, Value>) -> io::Result<u64> {
        let receipt = self.append_blocking(members);
        receipt.map(|receipt| receipt.seq).map_err(as_io)
    }
}

/// Converts an error of the log. Keeps the code of the operating system if there is one.
fn as_io(error: AppendError) -> io::Error {
    let code = match &error {
        AppendError::Failed(error) => error.raw_os_error(),
        _ => None,
    };
    match code {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::other(error),
    }
}

/// The first line of every log of version 1.
const HEADER_1: &[u8] = b"{\"v\":1,\"n\":0,\"kind\":\"log\",\"of\":\"github-writes\"}\n";

/// The reason why the log of writes cannot be opened.
#[derive(Debug)]
pub enum WriteLogError {
    /// The file is not a log of writes. It is not changed.
    NotALog,
    /// An older program still writes the log of version 1.
    OldInUse,
    /// There is a log of version 1, and the name for keeping it is taken.
    OldInTheWay(String),
    Log(AppendError),
    Failed(io::Error),
}

impl fmt::Display for WriteLogError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteLogError::NotALog => out.write_str("the file is not a log of writes"),
            WriteLogError::OldInUse => {
                out.write_str("an older version of candor is writing this log")
            }
            WriteLogError::OldInTheWay(name) => {
                write!(
                    out,
                    "the log of an older version must be kept as {name}, but that file already exists"
                )
            }
            WriteLogError::Log(error) => error.fmt(out),
            WriteLogError::Failed(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for WriteLogError {}

impl From<io::Error> for WriteLogError {
    fn from(error: io::Error) -> Self {
        WriteLogError::Failed(error)
    }
}

/// Opens or creates the log of writes. Several processes may have it open. A log of version 1 is kept
/// unchanged under another name.
pub fn open_writes<D: Disk>(
    disk: D,
    name: &str,
    clock: Arc<dyn Clock>,
) -> Result<Log, WriteLogError> {
    keep_old(&disk, name)?;
    let torn_entry = move |torn: TornBytes| {
        let members = json!({
            "v": VERSION,
            "at": iso_millis(clock.now()),
            "kind": "torn",
            "bytes": torn.bytes,
            "sha256": torn.hash,
        });
        object(members)
    };
    let options = LogOptions {
        torn_entry: Box::new(torn_entry),
        ..LogOptions::default()
    };
    Log::open(disk, name, options).map_err(WriteLogError::Log)
}

/// The number of bytes that identify a file.
const BEGINNING: usize = HEADER_1.len();

/// Renames a log of version 1.
fn keep_old<D: Disk>(disk: &D, name: &str) -> Result<(), WriteLogError> {
    let file = match disk.open(name, Open::Edit) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    match beginning(&file)?.as_slice() {
        HEADER_1 => {}
        other if is_text(other) => return Err(WriteLogError::NotALog),
        _ => return Ok(()),
    }
    if !file.try_lock()? {
        return Err(WriteLogError::OldInUse);
    }
    // Another process may have renamed it meanwhile and started a new log under this name.
    let there = disk.open(name, Open::Read)?;
    if beginning(&there)? != HEADER_1 {
        return Ok(());
    }
    let kept = match name.strip_suffix(".jsonl") {
        Some(stem) => format!("{stem}.v1.jsonl"),
        None => format!("{name}.v1"),
    };
    match disk.rename_new(name, &kept) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(WriteLogError::OldInTheWay(kept));
        }
        renamed => renamed?,
    }
    if let Err(error) = disk.sync_dir("") {
        // A rename whose sync failed may be lost, so the next start repeats it.
        disk.rename_new(&kept, name)?;
        return Err(error.into());
    }
    Ok(())
}

/// Returns true if the beginning of a file is text of another program. A crash leaves zeros, garbage or
/// the beginning of a line.
fn is_text(bytes: &[u8]) -> bool {
    let broken = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_some());
    let strange = |byte: &u8| byte.is_ascii_control() && !b"\n\r\t".contains(byte);
    let first = bytes.first();
    first.is_some_and(|first| *first != b'{') && !broken && !bytes.iter().any(strange)
}

/// Reads the first bytes of a file.
fn beginning(file: &impl DiskFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; BEGINNING];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Converts a value to the members of a line.
fn object(value: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

#[derive(Serialize)]
struct Attempt<'a> {
    v: u32,
    at: String,
    kind: &'static str,
    tool: &'a str,
    credential: Option<&'a str>,
    /// The caller, if callers have tokens of their own: the beginning of the token's digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    client: Option<String>,
    arguments: &'a Value,
}

/// The maximum number of characters of a client's name in the log.
const CLIENT_CHARS: usize = 64;

/// Returns the line of an attempt.
pub(crate) fn attempt(
    at: Timestamp,
    tool: &str,
    peer: &Peer,
    client: &ClientInfo,
    shown: &Value,
) -> Map<String, Value> {
    let name = client.name.as_ref();
    object(Attempt {
        v: VERSION,
        at: iso_millis(at),
        kind: "attempt",
        tool,
        credential: peer.credential.as_deref(),
        by: peer.token.as_ref().map(|token| caller_name(token.secret())),
        client: name.map(|name| name.chars().take(CLIENT_CHARS).collect()),
        arguments: shown,
    })
}

/// The tool and the client of a merge that the local backend makes by itself.
const AUTO_MERGE_TOOL: &str = "merge_pull_request";
const AUTO_MERGE_CLIENT: &str = "auto-merge";

/// Returns the line of the attempt to merge without a call.
pub(crate) fn auto_merge_attempt(at: Timestamp, arguments: &Value) -> Map<String, Value> {
    object(Attempt {
        v: VERSION,
        at: iso_millis(at),
        kind: "attempt",
        tool: AUTO_MERGE_TOOL,
        credential: None,
        by: None,
        client: Some(String::from(AUTO_MERGE_CLIENT)),
        arguments,
    })
}

/// Returns the outcome of a merge without a call.
pub(crate) fn auto_merge_outcome(
    at: Timestamp,
    effect: Effect,
    outcome: Result<Value, Fault<Github>>,
) -> WriteOutcome {
    let (answer, fault) = match outcome {
        Ok(answer) => (serde_json::value::to_raw_value(&answer).ok(), None),
        Err(fault) => (None, Some(fault)),
    };
    let fault = fault.as_ref();
    WriteOutcome {
        at: iso_millis(at),
        tool: String::from(AUTO_MERGE_TOOL),
        effect,
        code: fault.map(|fault| fault.row().code.number()),
        message: fault.map(Github::message),
        cause: fault.and_then(Fault::cause).map(Cause::normalised),
        answer,
    }
}

/// The outcome of a call in the log.
#[derive(Serialize)]
pub(crate) struct WriteOutcome {
    at: String,
    tool: String,
    effect: Effect,
    code: Option<i32>,
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Value>,
    answer: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct OutcomeLine<'a> {
    v: u32,
    kind: &'static str,
    of: u64,
    #[serde(flatten)]
    ended: &'a WriteOutcome,
}

impl WriteOutcome {
    /// Returns the outcome of a call.
    pub(crate) fn of<N>(entry: &CallRecord<'_, Github, N>) -> WriteOutcome {
        let (code, message, answer) = match &entry.outcome {
            CallOutcome::Done(ToolOutput::Json(json)) => (None, None, Some(json.clone())),
            CallOutcome::Done(_) => (None, None, None),
            CallOutcome::Failed(fault) => (Some(fault.row()), Some(Github::message(fault)), None),
            CallOutcome::Refused(fault) => {
                (Some(fault.row()), Some(fault.message().to_owned()), None)
            }
        };
        WriteOutcome {
            at: iso_millis(entry.at),
            tool: entry.tool.unwrap_or("-").to_owned(),
            effect: entry.effect,
            code: code.map(|row| row.code.number()),
            message,
            cause: match &entry.outcome {
                CallOutcome::Failed(fault) => fault.cause().map(Cause::normalised),
                _ => None,
            },
            answer,
        }
    }

    /// Returns the line of an attempt's outcome.
    pub(crate) fn line(&self, of: u64) -> Map<String, Value> {
        let kind = "outcome";
        object(OutcomeLine {
            v: VERSION,
            kind,
            of,
            ended: self,
        })
    }
}

/// Returns the arguments for the log: contents and long texts are replaced by their size.
pub(crate) fn summary(arguments: JsonRef<'_>) -> Value {
    let mut shown = Map::new();
    for (name, value) in arguments.members() {
        shown.insert(name.into_owned(), short(value));
    }
    Value::Object(shown)
}

fn short(value: JsonRef<'_>) -> Value {
    match (value.kind(), value.as_str()) {
        (JsonKind::Array, _) => Value::Array(value.items().map(short_file).collect()),
        (_, Some(text)) if text.len() > MAX_VALUE_BYTES => {
            json!({ "omitted": "string", "bytes": text.len() })
        }
        _ => serde_json::from_str(excerpt(&value.to_value()).get()).unwrap_or(Value::Null),
    }
}

/// Returns the path of a file and the length of its content; of a change also its operation and target, of a
/// comment its line. A name stays as it is.
fn short_file(file: JsonRef<'_>) -> Value {
    if file.as_str().is_some() {
        return short(file);
    }
    let member = |name: &str| file.get(name).map(|value| value.to_value());
    let length = |name: &str| file.get_or_null(name).as_str().map(|text| text.len());
    match (member("op"), member("line")) {
        (None, None) => json!({ "path": member("path"), "bytes": length("content") }),
        (None, Some(line)) => {
            json!({ "path": member("path"), "line": line, "bytes": length("body") })
        }
        (Some(op), _) => json!({
            "op": op,
            "path": member("path"),
            "to": member("to"),
            "bytes": length("content").or_else(|| length("new_text")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_sim_disk::{SimDisk, Trials};
    use candor_street::IndexedText;

    fn opened(disk: &SimDisk) -> Result<Log, WriteLogError> {
        open_writes(
            disk.clone(),
            "log.jsonl",
            Arc::new(|| Timestamp::UNIX_EPOCH),
        )
    }

    fn file(disk: &SimDisk, bytes: &[u8]) {
        let file = disk.open("log.jsonl", Open::Create(0o600)).unwrap();
        file.append_all(bytes).unwrap();
        file.sync_all().unwrap();
        disk.sync_dir("").unwrap();
    }

    fn text(disk: &SimDisk, name: &str) -> String {
        let file = disk.open(name, Open::Read).unwrap();
        String::from_utf8(file.read_all(1 << 20).unwrap()).unwrap()
    }

    fn old() -> Vec<u8> {
        [HEADER_1, b"{\"v\":1,\"n\":1,\"kind\":\"attempt\"}\n"].concat()
    }

    /// The log of version 1 stays unchanged under one of its names, no matter what fails.
    #[test]
    fn old_log_is_kept_as_it_was() {
        let start = SimDisk::new(1);
        file(&start, &old());
        let workload = |disk: &SimDisk| {
            let lines = [json!({ "a": 1 }), json!({ "a": 2 })].map(object);
            for line in lines {
                if let Ok(number) = opened(disk).map(|log| WriteLog::append(&log, line)) {
                    disk.mark(number.is_ok());
                }
            }
        };
        let check = |disk: &SimDisk, _: &[String]| {
            drop(opened(disk).unwrap());
            assert_eq!(text(disk, "log.v1.jsonl").as_bytes(), old());
            let verified = candor_audit::verify(disk.clone(), "log.jsonl").unwrap();
            assert_eq!(verified.flaw, None);
        };
        let trials = Trials::new().starting_from(&start);
        trials.run(workload, check).unwrap();
    }

    #[test]
    fn file_that_is_something_else_is_left_alone() {
        let disk = SimDisk::new(1);
        file(&disk, b"precious\n");
        assert!(matches!(opened(&disk), Err(WriteLogError::NotALog)));
        assert_eq!(text(&disk, "log.jsonl"), "precious\n");
    }

    #[test]
    fn old_log_that_is_in_use_or_in_the_way_stops_the_start() {
        let disk = SimDisk::new(1);
        file(&disk, &old());
        let held = disk.open("log.jsonl", Open::Edit).unwrap();
        assert!(held.try_lock().unwrap());
        assert!(matches!(opened(&disk), Err(WriteLogError::OldInUse)));
        drop(held);
        disk.open("log.v1.jsonl", Open::Create(0o600)).unwrap();
        assert!(
            matches!(opened(&disk), Err(WriteLogError::OldInTheWay(name)) if name == "log.v1.jsonl")
        );
    }

    #[test]
    fn outcome_may_come_from_another_process() {
        let disk = SimDisk::new(1);
        let (one, other) = (opened(&disk).unwrap(), opened(&disk).unwrap());
        let line = |n: u64| object(json!({ "line": n }));
        assert_eq!(WriteLog::append(&one, line(1)).unwrap(), 1);
        assert_eq!(WriteLog::append(&other, line(2)).unwrap(), 2);
        assert_eq!(WriteLog::append(&one, line(3)).unwrap(), 3);
    }

    #[test]
    fn contents_and_long_texts_are_recorded_by_their_size() {
        let arguments = json!({
            "repo": "a/b",
            "body": "x".repeat(600),
            "files": [{ "path": "a", "content": "secret" }],
            "comments": [{ "path": "a", "line": 3, "body": "secret" }],
            "labels": ["bug"],
        });
        let wanted = json!({
            "repo": "a/b",
            "body": { "omitted": "string", "bytes": 600 },
            "files": [{ "path": "a", "bytes": 6 }],
            "comments": [{ "path": "a", "line": 3, "bytes": 6 }],
            "labels": ["bug"],
        });
        assert_eq!(summary(IndexedText::from(&arguments).root()), wanted);
    }
}
