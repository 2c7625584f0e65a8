//! Retiring the oldest files of a log: they are copied to another directory and removed here. The anchor
//! records the last line that was moved, so that the rest can still be verified; it must be stored where
//! checkpoints are, out of reach of those who can change the log.
//!
//! The order makes every step repeatable: first the copies are durable, then the line about them, then the
//! anchor, and only then are the files removed. After a crash, files that the anchor covers are ignored,
//! and another attempt removes them.

use crate::append::{AppendError, AppendReceipt, LogWriter};
use crate::chain::ChainEnd;
use crate::hash::Hash;
use crate::line::{self, MAX_LINE};
use crate::log_files::{LogFile, LogFiles, MODE, read_range};
use candor_disk::{Disk, DiskFile, Open};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes that are copied at once.
const CHUNK: usize = 1024 * 1024;

/// The last line of the files that were moved away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogAnchor {
    /// The version of this form.
    pub v: u64,
    /// The hash of the log's first line, which identifies the chain.
    pub chain: Hash,
    pub seq: u64,
    pub hash: Hash,
    /// The directory of the files.
    pub directory: PathBuf,
}

impl LogAnchor {
    /// Returns number and hash of the last line that was moved.
    pub fn receipt(&self) -> AppendReceipt {
        AppendReceipt {
            seq: self.seq,
            hash: self.hash,
        }
    }

    pub(crate) fn end(&self) -> ChainEnd {
        ChainEnd {
            seq: self.seq,
            hash: self.hash,
        }
    }
}

/// The files that a retirement moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetiredFiles {
    /// Their names.
    pub files: Vec<String>,
    /// The number of the first line in them.
    pub first: u64,
    /// The last line in them.
    pub last: AppendReceipt,
}

/// The parameters of a retirement.
pub struct Retirement<'a, E> {
    /// The directory that the files are moved to.
    pub disk: &'a E,
    /// The path of that directory, for the anchor.
    pub path: PathBuf,
    /// The anchor of an earlier retirement.
    pub anchor: Option<LogAnchor>,
    /// Returns true if a file with this last line has to stay.
    pub keeps: &'a dyn Fn(&[u8]) -> bool,
    /// Stores the new anchor durably.
    pub save_anchor: &'a dyn Fn(&LogAnchor) -> io::Result<()>,
    /// Returns the line that records the move.
    pub line: &'a dyn Fn(&RetiredFiles) -> Map<String, Value>,
    /// The longest time to wait for another process that holds the lock.
    pub patience: Duration,
}

/// Moves the oldest full files of the log of this name away; the newest full file always stays. Returns
/// `None` if there is nothing to move. After an error, another attempt continues.
pub fn retire<D: Disk, E: Disk>(
    disk: D,
    name: &str,
    retirement: &Retirement<'_, E>,
) -> Result<Option<RetiredFiles>, AppendError> {
    let files = LogFiles::new(disk, name);
    let torn = Box::new(|torn: crate::append::TornBytes| {
        let mut members = Map::new();
        members.insert(String::from("kind"), Value::from("torn"));
        members.insert(String::from("bytes"), Value::from(torn.bytes));
        members
    });
    let mut writer = LogWriter::new(files, u64::MAX, retirement.patience, torn);
    writer.settle()?;
    writer.with_lock(|writer| retire_locked(writer, retirement))
}

fn retire_locked<D: Disk, E: Disk>(
    writer: &mut LogWriter<D>,
    retirement: &Retirement<'_, E>,
) -> Result<Option<RetiredFiles>, AppendError> {
    let anchored = retirement.anchor.as_ref().map_or(0, |anchor| anchor.seq);
    let mut numbers = writer.files.full_numbers()?;
    numbers.pop();
    let mut leftover = Vec::new();
    let mut chosen: Vec<(u32, FileRange)> = Vec::new();
    for number in numbers {
        let file = writer.files.open_full(number)?;
        let (range, last) = range_of(&file)?;
        if range.last.seq <= anchored {
            // An earlier attempt has moved it and could not remove it.
            leftover.push(number);
            continue;
        }
        if (retirement.keeps)(&last) {
            break;
        }
        chosen.push((number, range));
    }
    let retired = match (chosen.first(), chosen.last()) {
        (Some((_, first)), Some((_, last))) => {
            let chain = match (&retirement.anchor, first.first) {
                (Some(anchor), _) => anchor.chain,
                (None, AppendReceipt { seq: 1, hash }) => hash,
                (None, _) => return Err(AppendError::Broken(0)),
            };
            let names = chosen
                .iter()
                .map(|(number, _)| writer.files.full_name(*number));
            let retired = RetiredFiles {
                files: names.collect(),
                first: first.first.seq,
                last: last.last,
            };
            for name in &retired.files {
                copy(&writer.files.disk, name, retirement)?;
            }
            retirement.disk.sync_dir("")?;
            let line = (retirement.line)(&retired);
            for appended in writer.write(vec![line])? {
                appended?;
            }
            (retirement.save_anchor)(&LogAnchor {
                v: 1,
                chain,
                seq: retired.last.seq,
                hash: retired.last.hash,
                directory: retirement.path.clone(),
            })?;
            Some(retired)
        }
        _ => None,
    };
    if let (Some(anchor), None, false) = (&retirement.anchor, &retired, leftover.is_empty()) {
        // An anchor whose sync failed is never certain to be durable.
        (retirement.save_anchor)(anchor)?;
    }
    let moved = chosen.iter().map(|(number, _)| *number);
    for number in leftover.iter().copied().chain(moved) {
        let name = writer.files.full_name(number);
        writer.files.disk.unlink(name)?;
    }
    if retired.is_some() || !leftover.is_empty() {
        writer.files.disk.sync_dir("")?;
    }
    Ok(retired)
}

/// The first and the last line of a file.
struct FileRange {
    first: AppendReceipt,
    last: AppendReceipt,
}

/// Reads the first and the last line of a full file. Returns the text of the last one too.
fn range_of(file: &impl DiskFile) -> Result<(FileRange, Vec<u8>), AppendError> {
    let receipt = |text: &[u8]| {
        let end = ChainEnd::from_line(text).map_err(|_| AppendError::Broken(0))?;
        let ChainEnd { seq, hash } = end;
        Ok::<_, AppendError>(AppendReceipt { seq, hash })
    };
    let length = file.len()?;
    let head = read_range(file, 0, length.min(MAX_LINE as u64))?;
    let tail = read_range(file, length.saturating_sub(MAX_LINE as u64), length)?;
    let first = line::lines(&head).map(|(text, _)| text).next();
    let last = line::lines(&tail).map(|(text, _)| text).last();
    let (Some(first), Some(last)) = (first, last) else {
        return Err(AppendError::Broken(0));
    };
    let range = FileRange {
        first: receipt(first)?,
        last: receipt(last)?,
    };
    Ok((range, last.to_vec()))
}

/// Copies a file. A copy of an earlier attempt is replaced, because a name whose sync failed is never certain
/// to be durable; another file of that name is an error.
fn copy<D: Disk, E: Disk>(from: &D, name: &str, retirement: &Retirement<'_, E>) -> io::Result<()> {
    let source = from.open(name, Open::Read)?;
    match retirement.disk.open(name, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        existing => {
            if !is_same(&source, &existing?)? {
                let other = "the directory has another file of that name";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, other));
            }
        }
    }
    let draft = format!("{name}.copying");
    match retirement.disk.unlink(&draft) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    let copied = retirement.disk.open(&draft, Open::CreateNew(MODE))?;
    let mut offset = 0;
    loop {
        let bytes = read_range(&source, offset, offset + CHUNK as u64)?;
        if bytes.is_empty() {
            break;
        }
        copied.append_all(&bytes)?;
        offset += bytes.len() as u64;
    }
    copied.sync_all()?;
    retirement.disk.rename(&draft, name)
}

fn is_same(one: &impl DiskFile, other: &impl DiskFile) -> io::Result<bool> {
    let length = one.len()?;
    if length != other.len()? {
        return Ok(false);
    }
    let mut offset = 0;
    while offset < length {
        let end = length.min(offset + CHUNK as u64);
        if read_range(one, offset, end)? != read_range(other, offset, end)? {
            return Ok(false);
        }
        offset = end;
    }
    Ok(true)
}

impl<D: Disk> LogFiles<D> {
    /// Lists the files after an anchor. Files that it covers are left out, even if they still exist.
    pub(crate) fn list_after(&self, anchor: Option<&LogAnchor>) -> io::Result<Vec<LogFile<D>>> {
        let mut parts = self.list()?;
        let Some(anchor) = anchor else {
            return Ok(parts);
        };
        let mut covered = 0;
        for (index, part) in parts.iter().enumerate() {
            if covered > 0 {
                break;
            }
            let head = part.with(self, |file| {
                let length = file.len()?.min(MAX_LINE as u64);
                read_range(file, 0, length)
            })?;
            let first = line::lines(&head).find_map(|(text, _)| line::seq(text));
            if first == Some(anchor.seq + 1) {
                covered = index;
            }
        }
        parts.drain(..covered);
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::TornBytes;
    use crate::verify::{verify_after, verify_retired};
    use candor_sim_disk::{SimDisk, Subdirectory, Trials};
    use serde_json::json;

    fn members(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    /// A log of this many lines, two in each file.
    fn log_of_lines(lines: u64) -> SimDisk {
        let disk = SimDisk::new(1);
        disk.create_dir("away", 0o700).unwrap();
        let files = LogFiles::new(disk.clone(), "log");
        let torn = |_: TornBytes| Map::new();
        let mut writer = LogWriter::new(files, 300, Duration::ZERO, Box::new(torn));
        for n in 0..lines {
            writer
                .append(vec![members(json!({ "n": n }))])
                .remove(0)
                .unwrap();
        }
        disk.sync_dir("").unwrap();
        disk
    }

    fn anchor(disk: &SimDisk) -> Option<LogAnchor> {
        let file = disk.open("anchor", Open::Read).ok()?;
        Some(serde_json::from_slice(&file.read_all(9999).unwrap()).unwrap())
    }

    fn retire_to_away(disk: &SimDisk, keep: u64) -> Result<Option<RetiredFiles>, AppendError> {
        let save = |anchor: &LogAnchor| {
            disk.unlink("anchor.new").ok();
            let file = disk.open("anchor.new", Open::CreateNew(MODE))?;
            file.append_all(&serde_json::to_vec(anchor)?)?;
            file.sync_all()?;
            disk.rename("anchor.new", "anchor")?;
            disk.sync_dir("")
        };
        let retirement = Retirement {
            disk: &Subdirectory(disk.clone(), "away"),
            path: PathBuf::from("/away"),
            anchor: anchor(disk),
            keeps: &|last| line::seq(last).is_none_or(|seq| seq > keep),
            save_anchor: &save,
            line: &|retired| members(json!({ "kind": "retire", "last": retired.last })),
            patience: Duration::ZERO,
        };
        retire(disk.clone(), "log", &retirement)
    }

    /// Checks that both parts verify, and returns the numbers of the lines in each.
    fn check_both(disk: &SimDisk) -> (u64, u64) {
        let anchor = anchor(disk);
        let kept = verify_after(disk.clone(), "log", &[], anchor.as_ref()).unwrap();
        assert_eq!(kept.flaw, None, "{anchor:?}");
        let Some(anchor) = anchor else {
            return (0, kept.last.unwrap().seq);
        };
        let away = verify_retired(Subdirectory(disk.clone(), "away"), "log", &anchor, &[]).unwrap();
        assert_eq!(away.flaw, None);
        (anchor.seq, kept.last.unwrap().seq)
    }

    #[test]
    fn oldest_files_are_moved_and_both_parts_verify() {
        let disk = log_of_lines(12);
        let retired = retire_to_away(&disk, 6).unwrap().unwrap();
        assert_eq!((retired.first, retired.last.seq), (1, 6));
        assert!(disk.open("log.000001", Open::Read).is_err());
        assert_eq!(check_both(&disk), (6, 13));
        // A second one continues; the newest full file stays.
        let retired = retire_to_away(&disk, 99).unwrap().unwrap();
        assert_eq!(retired.first, 7);
        assert_eq!(
            LogFiles::new(disk.clone(), "log")
                .full_numbers()
                .unwrap()
                .len(),
            1
        );
        let (anchored, last) = check_both(&disk);
        assert!(anchored > 6 && last == 14);
        assert_eq!(retire_to_away(&disk, 99).unwrap(), None);
    }

    #[test]
    fn forged_and_missing_parts_are_noticed() {
        let disk = log_of_lines(12);
        retire_to_away(&disk, 6).unwrap();
        let anchor = anchor(&disk).unwrap();
        let without = verify_after(disk.clone(), "log", &[], None).unwrap();
        assert!(
            without.flaw.is_some(),
            "without the anchor lines are missing"
        );
        disk.unlink("away/log.000001").unwrap();
        let away = verify_retired(Subdirectory(disk.clone(), "away"), "log", &anchor, &[]).unwrap();
        assert!(away.flaw.is_some());
        let forged = LogAnchor {
            hash: Hash::NONE,
            ..anchor
        };
        let kept = verify_after(disk.clone(), "log", &[], Some(&forged)).unwrap();
        assert!(kept.flaw.is_some());
    }

    /// After any failure both parts verify, no line is lost, and another attempt finishes.
    #[test]
    fn retirement_survives_any_fault() {
        let start = log_of_lines(5);
        let workload = |disk: &SimDisk| {
            for _ in 0..2 {
                if retire_to_away(disk, 2).is_ok() {
                    disk.mark("done");
                    break;
                }
            }
        };
        let check = |disk: &SimDisk, acknowledged: &[String]| {
            // A torn end is put aside by the next writer.
            let files = LogFiles::new(disk.clone(), "log");
            let torn = |_: TornBytes| Map::new();
            let mut writer = LogWriter::new(files, 300, Duration::ZERO, Box::new(torn));
            let last = writer.settle().unwrap().unwrap();
            assert!(last.seq >= 5 + acknowledged.len() as u64);
            check_both(disk);
            retire_to_away(disk, 2).unwrap();
            let (anchored, _) = check_both(disk);
            assert_eq!(anchored, 2);
            let left = LogFiles::new(disk.clone(), "log").list().unwrap();
            let kept = LogFiles::new(disk.clone(), "log")
                .list_after(anchor(disk).as_ref())
                .unwrap();
            assert_eq!(left.len(), kept.len(), "no covered file is left");
        };
        let trials = Trials::new().starting_from(&start).crash_after_faults();
        trials.run(workload, check).unwrap();
    }
}
