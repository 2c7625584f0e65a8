//! Quarantine: a person puts a broken log aside, every file of it, and a new chain begins whose first
//! line says so. `NAME.quarantining` stands for as long as that is not done; nobody writes meanwhile,
//! and whoever tries again goes on where it was left.

use crate::append::AppendReceipt;
use crate::canonical::NotCanonical;
use crate::checkpoint::{Checkpoint, LogPosition};
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

/// A log that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantinedLog {
    /// Which quarantine of the log it is.
    pub number: u32,
    /// The names that the files have now.
    pub files: Vec<String>,
    /// The last line that was right.
    pub last: Option<AppendReceipt>,
    /// What was wrong with the next one.
    pub flaw: Option<LogFlaw>,
}

/// Why a log was not put aside, or not to the end. Another try goes on where this one ended.
#[derive(Debug)]
pub enum QuarantineError {
    /// Another process has held the lock for too long.
    Locked,
    /// What the new chain should say has no canonical form.
    NotCanonical(NotCanonical),
    /// What the new chain should say is longer than a line may be.
    TooLong,
    /// The disk failed.
    Failed(io::Error),
    /// The log was put aside and a new chain begins, but a checkpoint could not be replaced: it is
    /// still of the old chain.
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

/// Puts the log of this name aside and begins a new chain with what `say` says about it. Checkpoints
/// of the old chain are replaced by ones of the new, whose counters go on.
pub fn quarantine<D: Disk>(
    disk: D,
    name: &str,
    patience: Duration,
    checkpoints: Option<&CheckpointWriter>,
    say: &dyn Fn(&QuarantinedLog) -> Map<String, Value>,
) -> Result<(QuarantinedLog, AppendReceipt), QuarantineError> {
    let files = LogFiles::new(disk, name);
    let lock = files.lock_within(patience)?;
    let _lock = lock.ok_or(QuarantineError::Locked)?;
    let moved = match begun(&files)? {
        Some(moved) => {
            // Names whose sync failed are never sure: all of it is done again.
            for (from, to) in moved.moves(&files, MoveDirection::Back)? {
                files.disk.rename(from, to)?;
            }
            moved
        }
        None => begin(&files, checkpoints)?,
    };
    mark(&files, &moved)?;
    for (from, to) in moved.moves(&files, MoveDirection::Aside)? {
        files.disk.rename_new(from, to)?;
    }
    files.disk.sync_dir("")?;
    let quarantined = moved.seen(&files)?;
    let first = line::write(say(&quarantined), 1, Hash::NONE);
    let first = first.map_err(QuarantineError::NotCanonical)?;
    if first.bytes.len() > line::MAX_LINE {
        return Err(QuarantineError::TooLong);
    }
    let receipt = AppendReceipt {
        seq: 1,
        hash: first.hash,
    };
    fresh(&files, &draft(name), &first.bytes)?;
    files.disk.rename(draft(name), name)?;
    files.disk.sync_dir("")?;
    if let Some(checkpoints) = checkpoints {
        let mark = LogPosition {
            chain: receipt.hash,
            last: receipt,
        };
        let said = checkpoints.say(name, mark, true);
        said.map_err(QuarantineError::Checkpoint)?;
    }
    files.disk.unlink(marker(name))?;
    if let Err(error) = files.disk.sync_dir("") {
        // The marker may come back after a crash: until it surely does not, nobody writes.
        mark(&files, &moved)?;
        return Err(error.into());
    }
    Ok((quarantined, receipt))
}

/// Puts the marker there.
fn mark<D: Disk>(files: &LogFiles<D>, moved: &QuarantineState) -> io::Result<()> {
    let draft = draft(&files.name);
    fresh(files, &draft, &serde_json::to_vec(moved)?)?;
    files.disk.rename(draft, marker(&files.name))?;
    files.disk.sync_dir("")
}

fn marker(name: &str) -> String {
    format!("{name}.quarantining")
}

fn draft(name: &str) -> String {
    format!("{name}.quarantining.first")
}

/// Whether somebody began to put the log aside and did not finish.
pub(crate) fn is_begun<D: Disk>(files: &LogFiles<D>) -> io::Result<bool> {
    match files.disk.open(marker(&files.name), Open::Read) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// What the marker says: enough to go on.
#[derive(Serialize, Deserialize)]
struct QuarantineState {
    number: u32,
    /// Whether there was a file that was being written.
    current: bool,
    last: Option<AppendReceipt>,
    flaw: Option<LogFlaw>,
}

/// How long a marker may be.
const MAX_MARKER: usize = 4096;

fn begun<D: Disk>(files: &LogFiles<D>) -> io::Result<Option<QuarantineState>> {
    let file = match files.disk.open(marker(&files.name), Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let bytes = file.read_all(MAX_MARKER)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// Looks at the log once more, and chooses where it goes.
fn begin<D: Disk>(
    files: &LogFiles<D>,
    checkpoints: Option<&CheckpointWriter>,
) -> io::Result<QuarantineState> {
    let places = checkpoints.map_or(&[][..], |checkpoints| &checkpoints.files);
    // A checkpoint that cannot be read is one more reason to begin anew.
    let seen: Vec<Checkpoint> = places
        .iter()
        .filter_map(|place| place.read().ok().flatten())
        .collect();
    let verified = verify_locked(files, &seen)?;
    Ok(QuarantineState {
        number: free_number(files)?,
        current: files.to_read()?.is_some(),
        last: verified.last,
        flaw: verified.flaw,
    })
}

/// A new file with these bytes, on the disk but for its name.
fn fresh<D: Disk>(files: &LogFiles<D>, name: &str, bytes: &[u8]) -> io::Result<()> {
    match files.disk.unlink(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        gone => gone?,
    }
    let file = files.disk.open(name, Open::CreateNew(MODE))?;
    file.append_all(bytes)?;
    file.sync_all()
}

/// The first number that no quarantine has.
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

/// Which way files are moved.
#[derive(Clone, Copy)]
enum MoveDirection {
    Aside,
    Back,
}

/// Whether this is how the name of a full file ends, or of one that keeps what was torn.
fn is_part(end: &str) -> bool {
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

    /// The files that have to be moved one way, and where.
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
            let moved = name.to_str().and_then(|name| {
                let end = name.strip_prefix(&from)?;
                is_part(end).then(|| (name.to_owned(), format!("{to}{end}")))
            });
            moves.extend(moved);
        }
        let there = files.disk.list("")?;
        // The file that was being written goes last: without it there is no log.
        if self.current && there.contains(&OsString::from(&from)) {
            moves.push((from, to));
        }
        Ok(moves)
    }

    /// What stands aside now.
    fn seen<D: Disk>(&self, files: &LogFiles<D>) -> io::Result<QuarantinedLog> {
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

    /// A log of three files, the last line of which was changed.
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
    fn a_broken_log_is_put_aside_and_a_new_chain_says_so() {
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

    /// Whatever fails on the way, nothing of the old log is lost, nobody takes what is left for a
    /// log, and another try ends it.
    #[test]
    fn a_quarantine_survives_whatever_fails() {
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
        let check = |disk: &SimDisk, promised: &[String]| {
            if promised.is_empty() {
                let refused = writer(disk).append(vec![members(json!({}))]).remove(0);
                match refused {
                    Err(AppendError::Quarantined) => _ = aside(disk).unwrap(),
                    // Nothing was begun, and what was changed looks like a line that was torn.
                    Ok(receipt) if receipt.seq > 2 => return,
                    Ok(receipt) => assert_eq!(receipt.seq, 2),
                    other => panic!("{other:?}"),
                }
            }
            let found = disk.list("").unwrap().into_iter();
            let found = found.filter_map(|name| name.into_string().ok());
            let found: Vec<_> = found
                .filter(|name| name.contains(".quarantined."))
                .collect();
            let all: String = found.iter().map(|name| text(disk, name)).collect();
            for old in &old {
                assert!(all.contains(old.as_str()), "{found:?}");
            }
            let verified = verify(disk.clone(), "log").unwrap();
            assert_eq!(verified.flaw, None);
        };
        let trials = Trials::new().starting_from(&start).crash_after_faults();
        trials.run(workload, check).unwrap();
    }

    #[test]
    fn checkpoints_go_on_with_the_new_chain() {
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
        checkpoints.say("log", mark, false).unwrap();
        let say = |_: &QuarantinedLog| Map::new();
        let moved = quarantine(disk, "log", Duration::ZERO, Some(&checkpoints), &say);
        let (_, first) = moved.unwrap();
        let there = checkpoints.files[0].read().unwrap().unwrap();
        assert_eq!((there.counter, there.receipt()), (2, first));
    }

    #[test]
    fn a_log_that_is_gone_is_begun_anew() {
        let disk = SimDisk::new(1);
        let (aside, first) = aside(&disk).unwrap();
        assert_eq!((aside.files.len(), aside.last, first.seq), (0, None, 1));
    }
}
