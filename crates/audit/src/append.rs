//! Writing: one batch of lines, one sync. Everything that waits when a batch begins is in it.

use crate::canonical::NotCanonical;
use crate::chain::ChainEnd;
use crate::checkpoint::LogPosition;
use crate::checkpoint_thread::CheckpointWriter;
use crate::file_end::{self, FileEnd, MAX_BATCH};
use crate::hash::Hash;
use crate::line::{self, MAX_LINE};
use crate::log_files::{LogFiles, read_range};
use crate::quarantine;
use crate::verify::holds;
use candor_disk::{Disk, DiskFile};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How much room is kept ahead of a log, so that a line about a full disk can be written.
pub(crate) const RESERVE: u64 = 256 * 1024;

/// In what steps room is taken.
const STEP: u64 = 1024 * 1024;

/// Where a line stands: proof that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendReceipt {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
}

/// Why a line is not in the log.
#[derive(Debug, Clone)]
pub enum AppendError {
    /// Another process has held the lock for too long.
    Locked,
    /// The line has no canonical form.
    NotCanonical(NotCanonical),
    /// The line is longer than a line may be.
    TooLong,
    /// The log is broken behind the line of this number, or ends there though a checkpoint has seen
    /// more, or the next line is not the one that a checkpoint has seen.
    Broken(u64),
    /// Somebody began to put the log aside and did not finish: that has to be done first.
    Quarantined,
    /// The disk failed, and the line is not in the log.
    Failed(Arc<io::Error>),
    /// The disk failed, and whether the line is in the log is not known until the log is opened anew.
    Unsure(Arc<io::Error>),
    /// The log is closed.
    Closed,
}

impl fmt::Display for AppendError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppendError::Locked => out.write_str("another process holds the log's lock"),
            AppendError::NotCanonical(why) => why.fmt(out),
            AppendError::TooLong => out.write_str("the line is too long"),
            AppendError::Broken(seq) => write!(out, "the log is broken behind its line {seq}"),
            AppendError::Quarantined => out.write_str("the log is being put into quarantine"),
            AppendError::Failed(error) => write!(out, "the log could not be written: {error}"),
            AppendError::Unsure(error) => {
                write!(out, "whether the log was written is not known: {error}")
            }
            AppendError::Closed => out.write_str("the log is closed"),
        }
    }
}

impl std::error::Error for AppendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AppendError::Failed(error) | AppendError::Unsure(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl From<io::Error> for AppendError {
    fn from(error: io::Error) -> Self {
        AppendError::Failed(Arc::new(error))
    }
}

/// What a crash left behind the last whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornBytes {
    /// How many bytes it is; they are kept in a file of their own.
    pub bytes: u64,
    /// Their SHA-256.
    pub hash: Hash,
}

/// What is said in the log about what a crash left.
pub(crate) type TornEntry = dyn Fn(TornBytes) -> Map<String, Value> + Send + Sync;

/// The one who writes.
pub(crate) struct LogWriter<D: Disk> {
    pub(crate) files: LogFiles<D>,
    pub(crate) rotate_at: u64,
    pub(crate) patience: Duration,
    pub(crate) torn_entry: Box<TornEntry>,
    /// What is kept elsewhere: a log that ends before a checkpoint is broken.
    pub(crate) checkpoints: Option<Arc<CheckpointWriter>>,
    /// The file of the lock, while nobody here has it.
    idle: Option<D::File>,
    known: FileEnd,
    /// The hash of the first line, once it was looked for.
    chain: Option<Hash>,
    reserved: u64,
    /// What a crash left and was put aside, and no line says so yet.
    unsaid: Option<TornBytes>,
    /// A sync has failed: what is on the disk is not known, so nothing more is promised.
    unsure: bool,
}

impl<D: Disk> LogWriter<D> {
    pub(crate) fn new(
        files: LogFiles<D>,
        rotate_at: u64,
        patience: Duration,
        torn_entry: Box<TornEntry>,
    ) -> Self {
        LogWriter {
            files,
            rotate_at,
            patience,
            torn_entry,
            checkpoints: None,
            idle: None,
            known: FileEnd::UNKNOWN,
            chain: None,
            reserved: 0,
            unsaid: None,
            unsure: false,
        }
    }

    /// Appends these lines, all of them durable when this returns; each has a result of its own.
    pub(crate) fn append(
        &mut self,
        batch: Vec<Map<String, Value>>,
    ) -> Vec<Result<AppendReceipt, AppendError>> {
        let count = batch.len();
        let written = self.locked(|own| own.write(batch));
        written.unwrap_or_else(|error| vec![Err(error); count])
    }

    /// Does something with the log's lock.
    fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, AppendError>,
    ) -> Result<T, AppendError> {
        let lock = match self.idle.take() {
            // One without a name is not the one that others take.
            Some(lock) if lock.try_lock()? && lock.is_named()? => lock,
            _ => {
                let lock = self.files.lock_within(self.patience)?;
                lock.ok_or(AppendError::Locked)?
            }
        };
        let done = work(self);
        // One that cannot be given back is, by dropping it.
        self.idle = lock.unlock().is_ok().then_some(lock);
        done
    }

    /// How far the log has come; nothing where it has no lines.
    pub(crate) fn mark(&mut self) -> io::Result<Option<LogPosition>> {
        let ChainEnd { seq, hash } = self.known.end;
        if seq == 0 {
            return Ok(None);
        }
        if self.chain.is_none() {
            let first = self.files.first_line()?;
            let first = first.and_then(|text| line::read(&text));
            self.chain = first.map(|placed| placed.hash);
        }
        let last = AppendReceipt { seq, hash };
        Ok(self.chain.map(|chain| LogPosition { chain, last }))
    }

    fn write(
        &mut self,
        batch: Vec<Map<String, Value>>,
    ) -> Result<Vec<Result<AppendReceipt, AppendError>>, AppendError> {
        if self.unsure {
            let unsure = "what an earlier write left is not known";
            return Err(io::Error::other(unsure).into());
        }
        if quarantine::is_begun(&self.files)? {
            return Err(AppendError::Quarantined);
        }
        let mut file = self.files.current()?;
        let mut tail = match file_end::glance::<D>(&file, &self.known)? {
            Some(tail) => tail,
            None => self.recovered(&file)?,
        };
        if tail.length >= self.rotate_at {
            self.files.rotate()?;
            file = self.files.current()?;
            tail = FileEnd {
                end: tail.end,
                ..FileEnd::UNKNOWN
            };
            self.reserved = 0;
        }
        self.known = tail;
        let mut built = Batch::after(&tail);
        if let Some(torn) = self.unsaid {
            built.put((self.torn_entry)(torn))?;
        }
        let count = batch.len();
        let (mut results, mut promised) = (Vec::with_capacity(count), 0);
        let mut failed = None;
        for members in batch {
            if built.bytes.len() > MAX_BATCH - MAX_LINE {
                failed = self.commit(&file, &built).err();
                if failed.is_some() {
                    break;
                }
                built = Batch::after(&self.known);
                promised = results.len();
            }
            results.push(built.put(members));
        }
        if failed.is_none() && !built.bytes.is_empty() {
            failed = self.commit(&file, &built).err();
        }
        if let Some(error) = failed {
            // What was promised before stays promised.
            results.truncate(promised);
            results.resize(count, Err(error));
        }
        Ok(results)
    }

    /// Puts bytes at the end of a file, on the disk when this returns.
    fn commit(&mut self, file: &D::File, built: &Batch) -> Result<(), AppendError> {
        let before = self.known.length;
        let length = before + built.bytes.len() as u64;
        let needed = length + RESERVE;
        if needed > self.reserved {
            let up_to = needed.next_multiple_of(STEP);
            // Where there is no more room to reserve, what was reserved before is used up.
            if file.reserve(up_to).is_ok() {
                self.reserved = up_to;
            }
        }
        let appended = file
            .append_all(&built.bytes)
            .and_then(|()| file.sync_data());
        if let Err(error) = appended {
            // What a failed sync left is not known, but a file that was cut off for good has none of it.
            let undone = file.set_len(before).and_then(|()| file.sync_data());
            self.unsure = undone.is_err();
            self.reserved = 0;
            return Err(match self.unsure {
                true => AppendError::Unsure(Arc::new(error)),
                false => error.into(),
            });
        }
        self.unsaid = None;
        self.known = FileEnd {
            end: built.end,
            line: built.line,
            whole: length,
            unended: false,
            length,
        };
        Ok(())
    }

    /// The end of a log that does not end with a whole line: what a crash left is put aside.
    fn recovered(&mut self, file: &D::File) -> Result<FileEnd, AppendError> {
        self.chain = None;
        let found = file_end::find(&self.files, file)?;
        let mut tail = found.map_err(|end| AppendError::Broken(end.seq))?;
        // What a checkpoint has seen was on the disk: no crash takes it.
        let seen = match &self.checkpoints {
            Some(checkpoints) => checkpoints.read()?,
            None => Vec::new(),
        };
        if seen.iter().any(|seen| seen.seq > tail.end.seq) {
            return Err(AppendError::Broken(tail.end.seq));
        }
        self.settled(file, &mut tail)?;
        for seen in &seen {
            if !holds(&self.files, seen)? {
                return Err(AppendError::Broken(seen.seq - 1));
            }
        }
        Ok(tail)
    }

    /// Puts aside what stands behind the last whole line, or ends that line.
    fn settled(&mut self, file: &D::File, tail: &mut FileEnd) -> Result<(), AppendError> {
        if tail.unended {
            self.unsure = true;
            file.append_all(b"\n")?;
            file.sync_data()?;
            self.unsure = false;
            (tail.whole, tail.length, tail.unended) = (tail.whole + 1, tail.length + 1, false);
        }
        if tail.whole == tail.length {
            return Ok(());
        }
        let bytes = read_range(file, tail.whole, tail.length)?;
        self.files.keep_torn(&bytes)?;
        file.set_len(tail.whole)?;
        self.unsure = true;
        file.sync_data()?;
        self.unsure = false;
        self.reserved = 0;
        tail.length = tail.whole;
        self.unsaid = Some(TornBytes {
            bytes: bytes.len() as u64,
            hash: Hash::of(&[&bytes]),
        });
        Ok(())
    }

    /// Looks at the log as it is, and settles what a crash left: whatever can be read afterwards stays.
    pub(crate) fn settle(&mut self) -> Result<Option<AppendReceipt>, AppendError> {
        self.locked(|own| {
            own.write(Vec::new())?;
            // Whoever wrote the last lines may have died before they were on the disk.
            own.unsure = true;
            own.files.current()?.sync_data()?;
            own.unsure = false;
            Ok(())
        })?;
        let ChainEnd { seq, hash } = self.known.end;
        Ok((seq > 0).then_some(AppendReceipt { seq, hash }))
    }
}

/// Lines that are to be written.
struct Batch {
    end: ChainEnd,
    /// The length of the last line.
    line: u64,
    bytes: Vec<u8>,
}

impl Batch {
    fn after(tail: &FileEnd) -> Batch {
        Batch {
            end: tail.end,
            line: tail.line,
            bytes: Vec::new(),
        }
    }

    /// Puts one line behind those that are there.
    fn put(&mut self, members: Map<String, Value>) -> Result<AppendReceipt, AppendError> {
        let seq = self.end.seq + 1;
        let line = line::write(members, seq, self.end.hash).map_err(AppendError::NotCanonical)?;
        let length = line.bytes.len();
        if length > MAX_LINE {
            return Err(AppendError::TooLong);
        }
        self.bytes.extend_from_slice(&line.bytes);
        self.line = length as u64;
        let hash = line.hash;
        self.end = ChainEnd { seq, hash };
        Ok(AppendReceipt { seq, hash })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{LogFlaw, verify};
    use candor_disk::Open;
    use candor_sim_disk::{DiskFault, SimDisk, Trials};
    use serde_json::json;

    fn writer(disk: &SimDisk, rotate_at: u64) -> LogWriter<SimDisk> {
        let files = LogFiles::new(disk.clone(), "log");
        let torn = |torn: TornBytes| members(json!({ "torn": torn.bytes }));
        LogWriter::new(files, rotate_at, Duration::ZERO, Box::new(torn))
    }

    fn members(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    /// Appends two batches of two lines, opens the log anew, and does it again.
    fn workload(disk: &SimDisk, rotate_at: u64) {
        for _ in 0..2 {
            let mut writer = writer(disk, rotate_at);
            if writer.settle().is_err() {
                continue;
            }
            for _ in 0..2 {
                let batch = (0..2).map(|n| members(json!({ "text": "x".repeat(300), "n": n })));
                for receipt in writer.append(batch.collect()).into_iter().flatten() {
                    disk.mark(format!("{} {}", receipt.seq, receipt.hash));
                }
            }
        }
    }

    /// Every promised line is there, and the log goes on behind whatever is found.
    fn check(disk: &SimDisk, promised: &[String]) {
        let mut writer = writer(disk, u64::MAX);
        writer.settle().unwrap();
        let next = writer
            .append(vec![members(json!({ "next": true }))])
            .remove(0);
        let verified = verify(disk.clone(), "log").unwrap();
        assert_eq!(verified.flaw, None);
        assert_eq!(verified.last, Some(next.unwrap()));
        let text = whole(disk);
        for line in promised {
            let (seq, hash) = line.split_once(' ').unwrap();
            assert!(
                text.contains(&format!("\"hash\":\"{hash}\"")),
                "{seq} {text}"
            );
        }
    }

    fn whole(disk: &SimDisk) -> String {
        let files = LogFiles::new(disk.clone(), "log");
        let full = files
            .full()
            .unwrap()
            .into_iter()
            .map(|number| files.open_full(number).unwrap());
        let all = full.chain(files.to_read().unwrap());
        all.map(|file| String::from_utf8(file.read_all(1 << 20).unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn every_promised_line_is_there_whatever_fails() {
        let trials = Trials::new().crash_after_faults();
        trials.run(|disk| workload(disk, u64::MAX), check).unwrap();
    }

    #[test]
    fn every_promised_line_is_there_across_files() {
        Trials::new()
            .run(|disk| workload(disk, 500), check)
            .unwrap();
    }

    #[test]
    fn what_a_crash_left_is_kept_and_said() {
        let disk = SimDisk::new(1);
        let mut first = writer(&disk, u64::MAX);
        first.append(vec![members(json!({ "a": 1 }))]);
        let file = disk.open("log", Open::Edit).unwrap();
        file.append_all(b"{\"half\":").unwrap();
        let receipts = first.append(vec![members(json!({ "a": 2 }))]);
        assert_eq!(receipts[0].as_ref().unwrap().seq, 3);
        assert!(whole(&disk).contains("\"seq\":2,\"torn\":8"));
        let torn = disk.open("log.torn.1", Open::Read).unwrap();
        assert_eq!(torn.read_all(99).unwrap(), b"{\"half\":");
        assert_eq!(verify(disk, "log").unwrap().flaw, None);
    }

    /// A disk that fails on the way does not make it forget what it put aside.
    #[test]
    fn what_a_crash_left_is_said_later_if_not_at_once() {
        let mut said = 0;
        for number in 0..20 {
            let disk = SimDisk::new(1);
            let mut first = writer(&disk, u64::MAX);
            first.append(vec![members(json!({ "a": 1 }))]);
            let file = disk.open("log", Open::Edit).unwrap();
            file.append_all(b"{\"half\":").unwrap();
            disk.fail_at(disk.operations() + number, DiskFault::Eio);
            first.append(vec![members(json!({ "a": 2 }))]);
            // After a sync that failed nothing more is promised.
            if first.append(vec![members(json!({ "a": 3 }))])[0].is_ok() {
                assert!(whole(&disk).contains("\"torn\":8"), "{}", whole(&disk));
                assert_eq!(verify(disk, "log").unwrap().flaw, None);
                said += 1;
            }
        }
        assert!(said > 10, "{said}");
    }

    /// A last line that lacks nothing but its line break was promised perhaps: it stays.
    #[test]
    fn a_missing_line_break_glues_nothing() {
        let disk = SimDisk::new(1);
        let mut first = writer(&disk, u64::MAX);
        first.append((1..3).map(|n| members(json!({ "a": n }))).collect());
        let text = whole(&disk);
        let file = disk.open("log", Open::Edit).unwrap();
        file.set_len(text.len() as u64 - 1).unwrap();
        assert_eq!(
            verify(disk.clone(), "log").unwrap().flaw,
            Some(LogFlaw::Torn(2))
        );
        for mut writer in [first, writer(&disk, u64::MAX)] {
            file.set_len(text.len() as u64 - 1).unwrap();
            let receipts = writer.append(vec![members(json!({ "a": 3 }))]);
            assert_eq!(receipts[0].as_ref().unwrap().seq, 3);
            let now = whole(&disk);
            assert_eq!(now.strip_prefix(&text).unwrap().lines().count(), 1);
            assert_eq!(verify(disk.clone(), "log").unwrap().flaw, None);
        }
        assert!(disk.open("log.torn.1", Open::Read).is_err());
    }

    /// A whole line of another place was not torn by a crash.
    #[test]
    fn a_log_without_its_beginning_is_broken() {
        let disk = SimDisk::new(1);
        writer(&disk, u64::MAX).append((1..5).map(|n| members(json!({ "a": n }))).collect());
        let text = whole(&disk);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (kept, good) in [
            (&[1, 2, 3][..], 0),
            (&[0, 1, 3], 2),
            (&[0, 0], 1),
            (&[0, 2, 1], 1),
        ] {
            let disk = SimDisk::new(1);
            let file = disk.open("log", Open::Create(0o600)).unwrap();
            for number in kept {
                file.append_all(lines[*number].as_bytes()).unwrap();
            }
            let refused = writer(&disk, u64::MAX).settle();
            assert!(
                matches!(refused, Err(AppendError::Broken(seq)) if seq == good),
                "{refused:?} {kept:?}"
            );
        }
    }

    #[test]
    fn two_writers_leave_no_gap() {
        let disk = SimDisk::new(1);
        let (mut one, mut other) = (writer(&disk, 2000), writer(&disk, 2000));
        for round in 0..20 {
            let batch = || vec![members(json!({ "round": round, "text": "x".repeat(200) }))];
            assert_eq!(one.append(batch())[0].as_ref().unwrap().seq, 2 * round + 1);
            assert_eq!(
                other.append(batch())[0].as_ref().unwrap().seq,
                2 * round + 2
            );
        }
        let verified = verify(disk, "log").unwrap();
        assert_eq!((verified.lines, verified.flaw), (40, None));
        assert!(verified.files > 3);
    }

    #[test]
    fn a_log_that_is_held_is_not_written() {
        let disk = SimDisk::new(1);
        let mut one = writer(&disk, u64::MAX);
        let _held = one.files.lock_within(Duration::ZERO).unwrap().unwrap();
        let refused = one.append(vec![members(json!({}))]).remove(0);
        assert!(matches!(refused, Err(AppendError::Locked)));
    }

    /// Every way to change a log is found, with the first line that is not what it was.
    #[test]
    fn changes_are_found() {
        let disk = SimDisk::new(1);
        let mut own = writer(&disk, u64::MAX);
        let batch = (0..5).map(|n| members(json!({ "n": n }))).collect();
        own.append(batch);
        let text = whole(&disk);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let after = |lines: &[&str]| {
            let disk = SimDisk::new(2);
            let file = disk.open("log", Open::Create(0o600)).unwrap();
            file.append_all(lines.concat().as_bytes()).unwrap();
            verify(disk, "log").unwrap().flaw
        };
        assert_eq!(after(&lines), None);
        let edited = lines[2].replace("\"n\":2", "\"n\":3");
        assert_eq!(
            after(&[lines[0], lines[1], &edited, lines[3]]),
            Some(LogFlaw::Changed(3))
        );
        assert_eq!(after(&[lines[0], lines[2]]), Some(LogFlaw::Missing(2)));
        assert_eq!(after(&[lines[1], lines[2]]), Some(LogFlaw::Missing(1)));
        assert_eq!(
            after(&[lines[0], lines[2], lines[1]]),
            Some(LogFlaw::Missing(2))
        );
        assert_eq!(after(&[lines[0], lines[0]]), Some(LogFlaw::Missing(2)));
        assert_eq!(after(&[lines[0], "\n"]), Some(LogFlaw::NotALine(2)));
        assert_eq!(after(&[lines[0], &lines[1][..20]]), Some(LogFlaw::Torn(2)));
    }
}
