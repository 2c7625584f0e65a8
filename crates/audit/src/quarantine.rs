//! Quarantine: the owner moves all files of a broken log aside, and a new chain starts whose first
//! line reports that. `NAME.quarantining` exists until the quarantine is complete; nothing is
//! appended meanwhile, and another attempt continues where the last one stopped.

use crate::append::AppendReceipt;
use crate::canonical::NotCanonical;
use crate::checkpoint::{Checkpoint, LogPosition};
use crate::checkpoint_file::Replaces;
use crate::checkpoint_thread::CheckpointWriter;
use crate::hash::Hash;
use crate::line;
use crate::log_files::{LogFiles, MODE};
use crate::verify::{LogFlaw, verify_locked};
use candor_disk::{Disk, DiskFile, Open};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::time::Duration;

/// A log that was moved aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantinedLog {
    /// The number of the quarantine, counted from 1.
    pub number: u32,
    /// The new names of its files.
    pub files: Vec<String>,
    /// The last intact line.
    pub last: Option<AppendReceipt>,
    /// The flaw of the line after it.
    pub flaw: Option<LogFlaw>,
}

/// The reason why a quarantine is not complete. Another attempt continues where this one stopped.
#[derive(Debug)]
pub enum QuarantineError {
    /// Another process held the lock for too long.
    Locked,
    /// The first line of the new chain has no canonical form.
    NotCanonical(NotCanonical),
    /// The first line of the new chain is longer than a line may be.
    TooLong,
    Failed(io::Error),
    /// The log was moved aside and a new chain has started, but a checkpoint of the old chain could
    /// not be replaced.
    Checkpoint(io::Error),
}

impl fmt::Display for QuarantineError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuarantineError::Locked => out.write_str("another process holds the log's lock"),
            QuarantineError::NotCanonical(why) => why.fmt(out),
            QuarantineError::TooLong => out.write_str("the new first line is too long"),
            QuarantineError::Failed(error) => write!(out, "the log could not be moved: {error}"),
            QuarantineError::Checkpoint(error) => {
                write!(out, "the log was moved, but not its checkpoint: {error}")
            }
        }
    }
}

impl std::error::Error for QuarantineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            QuarantineError::Failed(error) | QuarantineError::Checkpoint(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for QuarantineError {
    fn from(error: io::Error) -> Self {
        QuarantineError::Failed(error)
    }
}

/// Moves the log of this name aside and starts a new chain whose first line `first_line` returns.
/// Checkpoints of the old chain are replaced; their counters continue.
pub fn quarantine<D: Disk>(
    disk: D,
    name: &str,
    patience: Duration,
    checkpoints: Option<&CheckpointWriter>,
    first_line: &dyn Fn(&QuarantinedLog) -> Map<String, Value>,
) -> Result<(QuarantinedLog, AppendReceipt), QuarantineError> {
    let files = LogFiles::new(disk, name);
    let lock = files.lock_within(patience)?;
    let _lock = lock.ok_or(QuarantineError::Locked)?;
    let state = match read_marker(&files)? {
        Some(state) => {
            // Names whose sync failed are never certain to be durable: all moves are repeated.
            for (from, to) in state.moves(&files, MoveDirection::Back)? {
                files.disk.rename(from, to)?;
            }
            state
        }
        None => start(&files, checkpoints)?,
    };
    write_marker(&files, &state)?;
    for (from, to) in state.moves(&files, MoveDirection::Aside)? {
        files.disk.rename_new(from, to)?;
    }
    files.disk.sync_dir("")?;
    let quarantined = state.quarantined_log(&files)?;
    let first = line::write(first_line(&quarantined), 1, Hash::NONE);
    let first = first.map_err(QuarantineError::NotCanonical)?;
    if first.bytes.len() > line::MAX_LINE {
        return Err(QuarantineError::TooLong);
    }
    let receipt = AppendReceipt {
        seq: 1,
        hash: first.hash,
    };
    create_file(&files, &draft_name(name), &first.bytes)?;
    files.disk.rename(draft_name(name), name)?;
    files.disk.sync_dir("")?;
    if let Some(checkpoints) = checkpoints {
        let mark = LogPosition {
            chain: receipt.hash,
            last: receipt,
        };
        let written = checkpoints.write(name, mark, Replaces::Any);
        written.map_err(QuarantineError::Checkpoint)?;
    }
    files.disk.unlink(marker_name(name))?;
    if let Err(error) = files.disk.sync_dir("") {
        // The marker may reappear after a crash: appends stay blocked until its removal is durable.
        write_marker(&files, &state)?;
        return Err(error.into());
    }
    Ok((quarantined, receipt))
}

/// Writes the marker.
fn write_marker<D: Disk>(files: &LogFiles<D>, state: &QuarantineState) -> io::Result<()> {
    let draft = draft_name(&files.name);
    create_file(files, &draft, &serde_json::to_vec(state)?)?;
    files.disk.rename(draft, marker_name(&files.name))?;
    files.disk.sync_dir("")
}

fn marker_name(name: &str) -> String {
    format!("{name}.quarantining")
}

fn draft_name(name: &str) -> String {
    format!("{name}.quarantining.first")
}

/// Returns true if a quarantine was started and not finished.
pub(crate) fn is_unfinished<D: Disk>(files: &LogFiles<D>) -> io::Result<bool> {
    match files.disk.open(marker_name(&files.name), Open::Read) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The content of the marker, with which another attempt continues.
#[derive(Serialize, Deserialize)]
struct QuarantineState {
    number: u32,
    /// True if there was a current file.
    current: bool,
    last: Option<AppendReceipt>,
    flaw: Option<LogFlaw>,
}

/// The most bytes of a marker.
const MAX_MARKER: usize = 4096;

fn read_marker<D: Disk>(files: &LogFiles<D>) -> io::Result<Option<QuarantineState>> {
    let file = match files.disk.open(marker_name(&files.name), Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let bytes = file.read_all(MAX_MARKER)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// Verifies the log and chooses a number for the quarantine.
fn start<D: Disk>(
    files: &LogFiles<D>,
    checkpoints: Option<&CheckpointWriter>,
) -> io::Result<QuarantineState> {
    let checkpoint_files = checkpoints.map_or(&[][..], |checkpoints| &checkpoints.files);
    // An unreadable checkpoint does not prevent a quarantine.
    let seen: Vec<Checkpoint> = checkpoint_files
        .iter()
        .filter_map(|file| file.read().ok().flatten())
        .collect();
    let verified = verify_locked(files, &seen)?;
    Ok(QuarantineState {
        number: free_number(files)?,
        current: files.open_current_for_reading()?.is_some(),
        last: verified.last,
        flaw: verified.flaw,
    })
}

/// Creates a file with these bytes. Its content is durable, its name is not yet.
fn create_file<D: Disk>(files: &LogFiles<D>, name: &str, bytes: &[u8]) -> io::Result<()> {
    match files.disk.unlink(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        gone => gone?,
    }
    let file = files.disk.open(name, Open::CreateNew(MODE))?;
    file.append_all(bytes)?;
    file.sync_all()
}

/// Returns the first number that no quarantine has.
fn free_number<D: Disk>(files: &LogFiles<D>) -> io::Result<u32> {
    let names = files.disk.list("")?;
    let taken = |number: u32| {
        let own = format!("{}.quarantined.{number}", files.name);
        let deeper = format!("{own}.");
        names.iter().any(|name| {
            let name = name.to_string_lossy();
            name == own || name.starts_with(&deeper)
        })
    };
    let free = (1..u32::MAX).find(|number| !taken(*number));
    free.ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

#[derive(Clone, Copy)]
enum MoveDirection {
    Aside,
    Back,
}

/// Returns true if the name of a full file, or of a file of torn bytes, ends like this.
fn is_log_file_suffix(end: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match end.strip_prefix(".torn.") {
        Some(number) => !number.is_empty() && digits(number),
        None => end
            .strip_prefix('.')
            .is_some_and(|number| number.len() >= 6 && digits(number)),
    }
}

impl QuarantineState {
    fn name(&self, files: &str) -> String {
        format!("{files}.quarantined.{}", self.number)
    }

    /// Lists the files that have to be moved, with their new names.
    fn moves<D: Disk>(
        &self,
        files: &LogFiles<D>,
        way: MoveDirection,
    ) -> io::Result<Vec<(String, String)>> {
        let (own, aside) = (files.name.clone(), self.name(&files.name));
        let (from, to) = match way {
            MoveDirection::Aside => (own, aside),
            MoveDirection::Back => (aside, own),
        };
        let mut moves = Vec::new();
        for name in files.disk.list("")? {
            let state = name.to_str().and_then(|name| {
                let end = name.strip_prefix(&from)?;
                is_log_file_suffix(end).then(|| (name.to_owned(), format!("{to}{end}")))
            });
            moves.extend(state);
        }
        let there = files.disk.list("")?;
        // The current file is moved last: without it there is no log.
        if self.current && there.contains(&OsString::from(&from)) {
            moves.push((from, to));
        }
        Ok(moves)
    }

    /// Returns the log as it was moved aside.
    fn quarantined_log<D: Disk>(&self, files: &LogFiles<D>) -> io::Result<QuarantinedLog> {
        let own = self.name(&files.name);
        let deeper = format!("{own}.");
        let names = files.disk.list("")?.into_iter();
        let names = names.filter_map(|name| name.into_string().ok());
        Ok(QuarantinedLog {
            number: self.number,
            files: names
                .filter(|name| *name == own || name.starts_with(&deeper))
                .collect(),
            last: self.last,
            flaw: self.flaw,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::{AppendError, LogWriter, TornBytes};
    use crate::checkpoint_file::CheckpointFile;
    use crate::verify::verify;
    use candor_sim_disk::{SimDisk, Trials};
    use serde_json::json;

    fn members(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn writer(disk: &SimDisk) -> LogWriter<SimDisk> {
        let files = LogFiles::new(disk.clone(), "log");
        let torn = |torn: TornBytes| members(json!({ "torn": torn.bytes }));
        LogWriter::new(files, 500, Duration::ZERO, Box::new(torn))
    }

    fn aside(disk: &SimDisk) -> Result<(QuarantinedLog, AppendReceipt), QuarantineError> {
        quarantine(disk.clone(), "log", Duration::ZERO, None, &|aside| {
            members(json!({ "kind": "quarantine", "files": aside.files }))
        })
    }

    /// A log of three files whose last line was changed.
    fn broken() -> SimDisk {
        let disk = SimDisk::new(1);
        let mut writer = writer(&disk);
        for n in 0..5 {
            let text = "x".repeat(200);
            writer.append(vec![members(json!({ "n": n, "text": text }))])[0]
                .as_ref()
                .unwrap();
        }
        let file = disk.open("log", Open::Edit).unwrap();
        let text = String::from_utf8(file.read_all(9999).unwrap()).unwrap();
        let at = text.find("\"n\":").unwrap() as u64 + 4;
        file.write_all_at(b"9", at).unwrap();
        file.sync_all().unwrap();
        disk
    }

    fn text(disk: &SimDisk, name: &str) -> String {
        let file = disk.open(name, Open::Read).unwrap();
        String::from_utf8(file.read_all(1 << 20).unwrap()).unwrap()
    }

    #[test]
    fn broken_log_is_moved_aside_and_reported_by_the_new_chain() {
        let disk = broken();
        let old = (text(&disk, "log.000001"), text(&disk, "log.000002"));
        let (aside, first) = aside(&disk).unwrap();
        let names = [
            "log.quarantined.1",
            "log.quarantined.1.000001",
            "log.quarantined.1.000002",
        ];
        assert_eq!(aside.files, names);
        assert_eq!(aside.flaw, Some(LogFlaw::Changed(5)));
        assert_eq!(aside.last.unwrap().seq, 4);
        assert_eq!((text(&disk, names[1]), text(&disk, names[2])), old);
        let new = text(&disk, "log");
        assert!(new.contains("\"kind\":\"quarantine\""), "{new}");
        let next = writer(&disk).append(vec![members(json!({}))]);
        assert_eq!(next[0].as_ref().unwrap().seq, first.seq + 1);
        assert_eq!(verify(disk.clone(), "log").unwrap().flaw, None);
        let (again, _) = super::tests::aside(&disk).unwrap();
        assert_eq!((again.number, again.flaw), (2, None));
        assert_eq!(again.files, ["log.quarantined.2"]);
    }

    /// After any failure the old log is complete, nothing is appended to its rest, and another
    /// attempt finishes.
    #[test]
    fn quarantine_survives_any_fault() {
        let start = broken();
        let old = ["log.000001", "log.000002", "log"].map(|name| text(&start, name));
        let workload = |disk: &SimDisk| {
            for _ in 0..2 {
                if aside(disk).is_ok() {
                    disk.mark("done");
                    break;
                }
            }
        };
        let check = |disk: &SimDisk, acknowledged: &[String]| {
            if acknowledged.is_empty() {
                let refused = writer(disk).append(vec![members(json!({}))]).remove(0);
                match refused {
                    Err(AppendError::Quarantined) => _ = aside(disk).unwrap(),
                    // The quarantine was not started, and the changed line looks like a torn one.
                    Ok(receipt) if receipt.seq > 2 => return,
                    Ok(receipt) => assert_eq!(receipt.seq, 2),
                    other => panic!("{other:?}"),
                }
            }
            let names = disk.list("").unwrap().into_iter();
            let names = names.filter_map(|name| name.into_string().ok());
            let names: Vec<_> = names
                .filter(|name| name.contains(".quarantined."))
                .collect();
            let all: String = names.iter().map(|name| text(disk, name)).collect();
            for old in &old {
                assert!(all.contains(old.as_str()), "{names:?}");
            }
            let verified = verify(disk.clone(), "log").unwrap();
            assert_eq!(verified.flaw, None);
        };
        let trials = Trials::new().starting_from(&start).crash_after_faults();
        trials.run(workload, check).unwrap();
    }

    #[test]
    fn checkpoints_continue_with_the_new_chain() {
        let (disk, elsewhere) = (broken(), SimDisk::new(2));
        let checkpoints = CheckpointWriter {
            files: vec![CheckpointFile::new(elsewhere, "checkpoint")],
            signer: None,
            now: Box::new(|| String::from("now")),
        };
        let mark = LogPosition {
            chain: Hash::NONE,
            last: AppendReceipt {
                seq: 9,
                hash: Hash::NONE,
            },
        };
        checkpoints.write("log", mark, Replaces::Earlier).unwrap();
        let first_line = |_: &QuarantinedLog| Map::new();
        let state = quarantine(disk, "log", Duration::ZERO, Some(&checkpoints), &first_line);
        let (_, first) = state.unwrap();
        let there = checkpoints.files[0].read().unwrap().unwrap();
        assert_eq!((there.counter, there.receipt()), (2, first));
    }

    #[test]
    fn missing_log_gets_a_new_chain() {
        let disk = SimDisk::new(1);
        let (aside, first) = aside(&disk).unwrap();
        assert_eq!((aside.files.len(), aside.last, first.seq), (0, None, 1));
    }
}
