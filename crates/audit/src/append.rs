//! Appends batches of lines, with one sync for each batch.

use crate::canonical::NotCanonical;
use crate::chain::ChainEnd;
use crate::checkpoint::LogPosition;
use crate::checkpoint_thread::CheckpointWriter;
use crate::file_end::{self, FileEnd, MAX_BATCH};
use crate::hash::Hash;
use crate::line::{self, MAX_LINE};
use crate::log_files::{LogFiles, read_range};
use crate::move_log;
use crate::quarantine;
use crate::verify::contains_checkpoint;
use candor_disk::{Disk, DiskFile};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are reserved ahead of a log, so that a line about a full disk can still be written.
pub(crate) const RESERVE: u64 = 256 * 1024;

/// Space is reserved in multiples of this many bytes.
const RESERVE_STEP: u64 = 1024 * 1024;

/// Number and hash of a line that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendReceipt {
    pub seq: u64,
    pub hash: Hash,
}

/// The reason why a line is not in the log.
#[derive(Debug, Clone)]
pub enum AppendError {
    /// Another process held the lock for too long.
    Locked,
    /// The line has no canonical form.
    NotCanonical(NotCanonical),
    /// The line is longer than [`MAX_LINE`].
    TooLong,
    /// The log is broken after the line with this number, or ends there although a checkpoint names
    /// a later line, or the next line is not the one that a checkpoint names.
    Broken(u64),
    /// A quarantine of the log was started and not finished; it has to be finished first.
    Quarantined,
    /// The log was moved to another directory.
    Moved,
    /// The disk failed, and the line is not in the log.
    Failed(Arc<io::Error>),
    /// The disk failed. It is not known whether the line is in the log until the log is opened
    /// again.
    Unsure(Arc<io::Error>),
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
            AppendError::Moved => out.write_str("the log was moved to another directory"),
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

/// Bytes that a crash left after the last complete line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornBytes {
    /// Their number. They are kept in a file of their own.
    pub bytes: u64,
    /// Their SHA-256.
    pub hash: Hash,
}

/// Returns the entry that reports torn bytes in the log.
pub(crate) type TornEntry = dyn Fn(TornBytes) -> Map<String, Value> + Send + Sync;

/// Appends to the files of a log.
pub(crate) struct LogWriter<D: Disk> {
    pub(crate) files: LogFiles<D>,
    pub(crate) rotate_at: u64,
    pub(crate) patience: Duration,
    pub(crate) torn_entry: Box<TornEntry>,
    /// A log that ends before one of its checkpoints is broken.
    pub(crate) checkpoints: Option<Arc<CheckpointWriter>>,
    /// The lock file, while this writer does not hold the lock.
    lock_file: Option<D::File>,
    known: FileEnd,
    /// The hash of the first line, once it has been read.
    chain: Option<Hash>,
    /// The hash of a first line that was moved away.
    pub(crate) retired_chain: Option<Hash>,
    reserved: u64,
    /// Torn bytes that were moved aside and are not reported in the log yet.
    unreported: Option<TornBytes>,
    /// A sync has failed: the state of the disk is unknown, so no further receipt is returned.
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
            lock_file: None,
            known: FileEnd::UNKNOWN,
            chain: None,
            retired_chain: None,
            reserved: 0,
            unreported: None,
            unsure: false,
        }
    }

    /// Appends these lines. All of them are durable when this returns; each has its own result.
    pub(crate) fn append(
        &mut self,
        batch: Vec<Map<String, Value>>,
    ) -> Vec<Result<AppendReceipt, AppendError>> {
        let count = batch.len();
        let written = self.with_lock(|writer| writer.write(batch));
        written.unwrap_or_else(|error| vec![Err(error); count])
    }

    /// Runs `work` while the log's lock is held.
    pub(crate) fn with_lock<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, AppendError>,
    ) -> Result<T, AppendError> {
        let lock = match self.lock_file.take() {
            // A lock file that was unlinked is not the one that other processes lock.
            Some(lock) if lock.try_lock()? && lock.is_named()? => lock,
            _ => {
                let lock = self.files.lock_within(self.patience)?;
                lock.ok_or(AppendError::Locked)?
            }
        };
        let done = work(self);
        // Dropping the file releases a lock that `unlock` could not release.
        self.lock_file = lock.unlock().is_ok().then_some(lock);
        done
    }

    /// Returns the position of the log, or `None` if it has no lines.
    pub(crate) fn position(&mut self) -> io::Result<Option<LogPosition>> {
        let ChainEnd { seq, hash } = self.known.end;
        if seq == 0 {
            return Ok(None);
        }
        if self.chain.is_none() {
            let first = self.files.first_line()?;
            let first = first.and_then(|text| line::read(&text));
            self.chain = match first {
                Some(fields) if fields.seq > 1 => self.retired_chain,
                first => first.map(|fields| fields.hash),
            };
        }
        let last = AppendReceipt { seq, hash };
        Ok(self.chain.map(|chain| LogPosition { chain, last }))
    }

    pub(crate) fn write(
        &mut self,
        batch: Vec<Map<String, Value>>,
    ) -> Result<Vec<Result<AppendReceipt, AppendError>>, AppendError> {
        if self.unsure {
            let unsure = "what an earlier write left is not known";
            return Err(io::Error::other(unsure).into());
        }
        if quarantine::is_unfinished(&self.files)? {
            return Err(AppendError::Quarantined);
        }
        if move_log::is_moved(&self.files)? {
            return Err(AppendError::Moved);
        }
        let mut file = self.files.open_current()?;
        let mut end = match file_end::find_appended::<D>(&file, &self.known)? {
            Some(end) => end,
            None => self.recover(&file)?,
        };
        if end.length >= self.rotate_at {
            self.files.rotate()?;
            file = self.files.open_current()?;
            end = FileEnd {
                end: end.end,
                ..FileEnd::UNKNOWN
            };
            self.reserved = 0;
        }
        self.known = end;
        let mut pending = Batch::after(&end);
        if let Some(torn) = self.unreported {
            pending.push((self.torn_entry)(torn))?;
        }
        let count = batch.len();
        let (mut results, mut acknowledged) = (Vec::with_capacity(count), 0);
        let mut failed = None;
        for members in batch {
            if pending.bytes.len() > MAX_BATCH - MAX_LINE {
                failed = self.commit(&file, &pending).err();
                if failed.is_some() {
                    break;
                }
                pending = Batch::after(&self.known);
                acknowledged = results.len();
            }
            results.push(pending.push(members));
        }
        if failed.is_none() && !pending.bytes.is_empty() {
            failed = self.commit(&file, &pending).err();
        }
        if let Some(error) = failed {
            // Lines of earlier commits keep their receipts.
            results.truncate(acknowledged);
            results.resize(count, Err(error));
        }
        Ok(results)
    }

    /// Appends a batch to a file and syncs it.
    fn commit(&mut self, file: &D::File, pending: &Batch) -> Result<(), AppendError> {
        let before = self.known.length;
        let length = before + pending.bytes.len() as u64;
        let needed = length + RESERVE;
        if needed > self.reserved {
            let up_to = needed.next_multiple_of(RESERVE_STEP);
            // If no more space can be reserved, the space reserved earlier is used up.
            if file.reserve(up_to).is_ok() {
                self.reserved = up_to;
            }
        }
        let appended = file
            .append_all(&pending.bytes)
            .and_then(|()| file.sync_data());
        if let Err(error) = appended {
            // It is unknown what a failed sync wrote, but a file that was truncated and synced has
            // none of it.
            let undone = file.set_len(before).and_then(|()| file.sync_data());
            self.unsure = undone.is_err();
            self.reserved = 0;
            return Err(match self.unsure {
                true => AppendError::Unsure(Arc::new(error)),
                false => error.into(),
            });
        }
        self.unreported = None;
        self.known = FileEnd {
            end: pending.end,
            line: pending.line,
            whole: length,
            lacks_line_break: false,
            length,
        };
        Ok(())
    }

    /// Finds the end of a log that may have been torn, and repairs it. Checks the log against its
    /// checkpoints.
    fn recover(&mut self, file: &D::File) -> Result<FileEnd, AppendError> {
        if let Some(chain) = self.chain.take() {
            // If the first line is moved away meanwhile, the chain is still known.
            self.retired_chain = Some(chain);
        }
        let found = file_end::find(&self.files, file)?;
        let mut end = found.map_err(|end| AppendError::Broken(end.seq))?;
        // A line that a checkpoint names was durable: a crash cannot remove it.
        let named = match &self.checkpoints {
            Some(checkpoints) => checkpoints.read()?,
            None => Vec::new(),
        };
        if named.iter().any(|named| named.seq > end.end.seq) {
            return Err(AppendError::Broken(end.end.seq));
        }
        self.repair(file, &mut end)?;
        for named in &named {
            if !contains_checkpoint(&self.files, named)? {
                return Err(AppendError::Broken(named.seq - 1));
            }
        }
        Ok(end)
    }

    /// Moves torn bytes aside, or completes a last line that lacks only its line break.
    fn repair(&mut self, file: &D::File, end: &mut FileEnd) -> Result<(), AppendError> {
        if end.lacks_line_break {
            self.unsure = true;
            file.append_all(b"\n")?;
            file.sync_data()?;
            self.unsure = false;
            (end.whole, end.length, end.lacks_line_break) = (end.whole + 1, end.length + 1, false);
        }
        if end.whole == end.length {
            return Ok(());
        }
        let bytes = read_range(file, end.whole, end.length)?;
        self.files.store_torn(&bytes)?;
        file.set_len(end.whole)?;
        self.unsure = true;
        file.sync_data()?;
        self.unsure = false;
        self.reserved = 0;
        end.length = end.whole;
        self.unreported = Some(TornBytes {
            bytes: bytes.len() as u64,
            hash: Hash::of(&[&bytes]),
        });
        Ok(())
    }

    /// Repairs what a crash left. Every line that can be read afterwards is durable.
    pub(crate) fn settle(&mut self) -> Result<Option<AppendReceipt>, AppendError> {
        self.with_lock(|writer| {
            writer.write(Vec::new())?;
            // The process that wrote the last lines may have died before it synced them.
            writer.unsure = true;
            writer.files.open_current()?.sync_data()?;
            writer.unsure = false;
            Ok(())
        })?;
        let ChainEnd { seq, hash } = self.known.end;
        Ok((seq > 0).then_some(AppendReceipt { seq, hash }))
    }
}

/// Lines that are to be written together.
struct Batch {
    end: ChainEnd,
    /// The length of the last line in bytes.
    line: u64,
    bytes: Vec<u8>,
}

impl Batch {
    fn after(end: &FileEnd) -> Batch {
        Batch {
            end: end.end,
            line: end.line,
            bytes: Vec::new(),
        }
    }

    /// Adds one line.
    fn push(&mut self, members: Map<String, Value>) -> Result<AppendReceipt, AppendError> {
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

    /// Appends two batches of two lines, opens the log again, and repeats that.
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

    /// Checks that every acknowledged line is in the log, and that the log can be appended to.
    fn check(disk: &SimDisk, acknowledged: &[String]) {
        let mut writer = writer(disk, u64::MAX);
        writer.settle().unwrap();
        let next = writer
            .append(vec![members(json!({ "next": true }))])
            .remove(0);
        let verified = verify(disk.clone(), "log").unwrap();
        assert_eq!(verified.flaw, None);
        assert_eq!(verified.last, Some(next.unwrap()));
        let text = whole_text(disk);
        for line in acknowledged {
            let (seq, hash) = line.split_once(' ').unwrap();
            assert!(
                text.contains(&format!("\"hash\":\"{hash}\"")),
                "{seq} {text}"
            );
        }
    }

    fn whole_text(disk: &SimDisk) -> String {
        let files = LogFiles::new(disk.clone(), "log");
        let full = files
            .full_numbers()
            .unwrap()
            .into_iter()
            .map(|number| files.open_full(number).unwrap());
        let all = full.chain(files.open_current_for_reading().unwrap());
        all.map(|file| String::from_utf8(file.read_all(1 << 20).unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn acknowledged_lines_survive_any_fault() {
        let trials = Trials::new().crash_after_faults();
        trials.run(|disk| workload(disk, u64::MAX), check).unwrap();
    }

    #[test]
    fn acknowledged_lines_survive_rotation() {
        Trials::new()
            .run(|disk| workload(disk, 500), check)
            .unwrap();
    }

    #[test]
    fn torn_bytes_are_stored_and_reported() {
        let disk = SimDisk::new(1);
        let mut first = writer(&disk, u64::MAX);
        first.append(vec![members(json!({ "a": 1 }))]);
        let file = disk.open("log", Open::Edit).unwrap();
        file.append_all(b"{\"half\":").unwrap();
        let receipts = first.append(vec![members(json!({ "a": 2 }))]);
        assert_eq!(receipts[0].as_ref().unwrap().seq, 3);
        assert!(whole_text(&disk).contains("\"seq\":2,\"torn\":8"));
        let torn = disk.open("log.torn.1", Open::Read).unwrap();
        assert_eq!(torn.read_all(99).unwrap(), b"{\"half\":");
        assert_eq!(verify(disk, "log").unwrap().flaw, None);
    }

    /// Torn bytes are reported even if the disk fails in between.
    #[test]
    fn torn_bytes_are_reported_after_a_failed_write() {
        let mut receipts = 0;
        for number in 0..20 {
            let disk = SimDisk::new(1);
            let mut first = writer(&disk, u64::MAX);
            first.append(vec![members(json!({ "a": 1 }))]);
            let file = disk.open("log", Open::Edit).unwrap();
            file.append_all(b"{\"half\":").unwrap();
            disk.fail_at(disk.operations() + number, DiskFault::Eio);
            first.append(vec![members(json!({ "a": 2 }))]);
            // After a failed sync no receipt is returned.
            if first.append(vec![members(json!({ "a": 3 }))])[0].is_ok() {
                assert!(
                    whole_text(&disk).contains("\"torn\":8"),
                    "{}",
                    whole_text(&disk)
                );
                assert_eq!(verify(disk, "log").unwrap().flaw, None);
                receipts += 1;
            }
        }
        assert!(receipts > 10, "{receipts}");
    }

    /// The line may have been acknowledged, so it stays.
    #[test]
    fn last_line_without_line_break_is_completed() {
        let disk = SimDisk::new(1);
        let mut first = writer(&disk, u64::MAX);
        first.append((1..3).map(|n| members(json!({ "a": n }))).collect());
        let text = whole_text(&disk);
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
            let now = whole_text(&disk);
            assert_eq!(now.strip_prefix(&text).unwrap().lines().count(), 1);
            assert_eq!(verify(disk.clone(), "log").unwrap().flaw, None);
        }
        assert!(disk.open("log.torn.1", Open::Read).is_err());
    }

    /// A crash tears lines; it does not reorder complete ones.
    #[test]
    fn complete_lines_out_of_order_break_the_log() {
        let disk = SimDisk::new(1);
        writer(&disk, u64::MAX).append((1..5).map(|n| members(json!({ "a": n }))).collect());
        let text = whole_text(&disk);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (numbers, good) in [
            (&[1, 2, 3][..], 0),
            (&[0, 1, 3], 2),
            (&[0, 0], 1),
            (&[0, 2, 1], 1),
        ] {
            let disk = SimDisk::new(1);
            let file = disk.open("log", Open::Create(0o600)).unwrap();
            for number in numbers {
                file.append_all(lines[*number].as_bytes()).unwrap();
            }
            let refused = writer(&disk, u64::MAX).settle();
            assert!(
                matches!(refused, Err(AppendError::Broken(seq)) if seq == good),
                "{refused:?} {numbers:?}"
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
    fn locked_log_is_not_written() {
        let disk = SimDisk::new(1);
        let mut one = writer(&disk, u64::MAX);
        let _held = one.files.lock_within(Duration::ZERO).unwrap().unwrap();
        let refused = one.append(vec![members(json!({}))]).remove(0);
        assert!(matches!(refused, Err(AppendError::Locked)));
    }

    #[test]
    fn changed_lines_are_detected() {
        let disk = SimDisk::new(1);
        let mut log_writer = writer(&disk, u64::MAX);
        let batch = (0..5).map(|n| members(json!({ "n": n }))).collect();
        log_writer.append(batch);
        let text = whole_text(&disk);
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
