//! Writes checkpoints on a thread of their own while a log is open, so that no append waits for
//! one.

use crate::append::AppendReceipt;
use crate::checkpoint::{Checkpoint, LogPosition, Signer};
use crate::checkpoint_file::{CheckpointFile, NewCheckpoint, Replaces};
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A checkpoint is written after this many lines.
pub const CHECKPOINT_LINES: u64 = 256;

/// The time from one checkpoint to the next, if there are new lines.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// Writes the checkpoints of a log.
pub struct CheckpointWriter {
    pub files: Vec<CheckpointFile>,
    pub signer: Option<Signer>,
    /// Returns the time that is written into a checkpoint.
    pub now: Box<dyn Fn() -> String + Send + Sync>,
}

impl fmt::Debug for CheckpointWriter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Checkpoints")
            .field("files", &self.files.len())
            .field("signer", &self.signer)
            .finish_non_exhaustive()
    }
}

impl CheckpointWriter {
    /// Reads the existing checkpoints.
    pub(crate) fn read(&self) -> io::Result<Vec<Checkpoint>> {
        let existing = self.files.iter().map(CheckpointFile::read);
        existing.filter_map(Result::transpose).collect()
    }

    /// Writes a checkpoint to every file. Returns the first error after all files were tried.
    pub(crate) fn write(
        &self,
        log: &str,
        position: LogPosition,
        replaces: Replaces,
    ) -> io::Result<()> {
        let written = NewCheckpoint {
            log,
            position,
            signer: self.signer.as_ref(),
            now: &*self.now,
            replaces,
        };
        let mut failed = Ok(());
        for file in &self.files {
            failed = failed.and(file.replace(&written).map(|_| ()));
        }
        failed
    }
}

pub(crate) struct CheckpointThread {
    shared: Arc<SharedPosition>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct SharedPosition {
    state: Mutex<CheckpointState>,
    changed: Condvar,
}

#[derive(Default)]
struct CheckpointState {
    /// The position of the log, if it has changed since the last checkpoint.
    newest: Option<LogPosition>,
    closing: bool,
    last_error: Option<Arc<io::Error>>,
}

impl SharedPosition {
    fn state(&self) -> MutexGuard<'_, CheckpointState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the position of the log to the thread.
#[derive(Clone)]
pub(crate) struct PositionSender(Arc<SharedPosition>);

impl PositionSender {
    /// Sends a position, or the error that occurred when it was determined.
    pub(crate) fn send(&self, position: io::Result<Option<LogPosition>>) {
        let mut state = self.0.state();
        match position {
            Ok(Some(position)) => state.newest = Some(position),
            Ok(None) => {}
            Err(error) => state.last_error = Some(Arc::new(error)),
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// Returns the reason why the last checkpoint could not be written to some file.
    pub(crate) fn last_error(&self) -> Option<Arc<io::Error>> {
        self.0.state().last_error.clone()
    }
}

impl CheckpointThread {
    pub(crate) fn start(
        log: &str,
        last: Option<AppendReceipt>,
        writer: Arc<CheckpointWriter>,
    ) -> io::Result<CheckpointThread> {
        let last = last.map_or(0, |last| last.seq);
        let shared = Arc::new(SharedPosition::default());
        let (shared_with_thread, log) = (shared.clone(), log.to_owned());
        let thread = std::thread::Builder::new()
            .name(String::from("checkpoints"))
            .spawn(move || write_checkpoints(&shared_with_thread, &log, last, &writer))?;
        Ok(CheckpointThread {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(crate) fn sender(&self) -> PositionSender {
        PositionSender(self.shared.clone())
    }

    /// Writes the last checkpoint and ends the thread.
    pub(crate) fn finish(&self) {
        self.shared.state().closing = true;
        self.shared.changed.notify_one();
        // Held while the thread ends: a second caller returns after the last checkpoint too.
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // After a panic the checkpoint is older than the log, which is harmless.
            let _ = thread.join();
        }
    }
}

impl Drop for CheckpointThread {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Writes a checkpoint whenever one is due, until the log is closed.
fn write_checkpoints(shared: &SharedPosition, log: &str, last: u64, writer: &CheckpointWriter) {
    let (mut seq, mut when) = (last, Instant::now());
    while let Some(position) = wait_until_due(shared, seq, when) {
        let written = writer.write(log, position, Replaces::Earlier);
        shared.state().last_error = written.err().map(Arc::new);
        (seq, when) = (position.last.seq, Instant::now());
    }
}

/// Waits until a checkpoint is due and returns its position. Returns `None` if the log is closed
/// and its position is written.
fn wait_until_due(shared: &SharedPosition, seq: u64, when: Instant) -> Option<LogPosition> {
    let mut state = shared.state();
    loop {
        let wait = match &state.newest {
            None if state.closing => return None,
            None => None,
            Some(newest) => {
                let waited = when.elapsed();
                let many = newest.last.seq.abs_diff(seq) >= CHECKPOINT_LINES;
                if many || state.closing || waited >= CHECKPOINT_EVERY {
                    return state.newest.take();
                }
                Some(CHECKPOINT_EVERY - waited)
            }
        };
        state = match wait {
            None => {
                let woken = shared.changed.wait(state);
                woken.unwrap_or_else(PoisonError::into_inner)
            }
            Some(wait) => {
                let woken = shared.changed.wait_timeout(state, wait);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::{LogWriter, TornBytes};
    use crate::hash::Hash;
    use crate::log_files::LogFiles;
    use crate::verify::verify_against;
    use candor_sim_disk::{SimDisk, Trials};
    use serde_json::{Map, Value, json};

    fn position(seq: u64) -> LogPosition {
        let hash = Hash::of(&[&seq.to_le_bytes()]);
        LogPosition {
            chain: Hash::NONE,
            last: AppendReceipt { seq, hash },
        }
    }

    /// Returns the checkpoint that is due with this many new lines, this long after the previous
    /// one.
    fn due_with(lines: u64, waited: Duration, closing: bool) -> Option<LogPosition> {
        let shared = Arc::new(SharedPosition::default());
        let sender = PositionSender(shared.clone());
        if lines > 0 {
            sender.send(Ok(Some(position(1000 + lines))));
        }
        shared.state().closing = closing;
        wait_until_due(&shared, 1000, Instant::now().checked_sub(waited).unwrap())
    }

    #[test]
    fn checkpoint_is_due_after_many_lines_or_some_time_or_at_the_end() {
        let none = Duration::ZERO;
        assert_eq!(
            due_with(CHECKPOINT_LINES, none, false),
            Some(position(1256))
        );
        assert_eq!(due_with(1, CHECKPOINT_EVERY, false), Some(position(1001)));
        assert_eq!(due_with(1, none, true), Some(position(1001)));
        assert_eq!(due_with(0, CHECKPOINT_EVERY, true), None);
        // A checkpoint that is not due yet becomes due with time.
        let shortly = CHECKPOINT_EVERY - Duration::from_millis(20);
        assert_eq!(due_with(1, shortly, false), Some(position(1001)));
    }

    fn members(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn checkpoints(disk: &SimDisk) -> Arc<CheckpointWriter> {
        Arc::new(CheckpointWriter {
            files: vec![CheckpointFile::new(disk.clone(), "checkpoint")],
            signer: None,
            now: Box::new(|| String::from("now")),
        })
    }

    fn writer(disk: &SimDisk) -> LogWriter<SimDisk> {
        let files = LogFiles::new(disk.clone(), "log");
        let torn = |torn: TornBytes| members(json!({ "torn": torn.bytes }));
        let mut writer = LogWriter::new(files, 500, Duration::ZERO, Box::new(torn));
        writer.checkpoints = Some(checkpoints(disk));
        writer
    }

    #[test]
    fn checkpoint_is_never_ahead_of_its_log() {
        let workload = |disk: &SimDisk| {
            let mut writer = writer(disk);
            if writer.settle().is_err() {
                return;
            }
            for n in 0..4 {
                writer.append(vec![members(json!({ "n": n, "text": "x".repeat(200) }))]);
                if let Ok(Some(position)) = writer.position()
                    && checkpoints(disk)
                        .write("log", position, Replaces::Earlier)
                        .is_ok()
                {
                    disk.mark(position.last.seq);
                }
            }
        };
        let check = |disk: &SimDisk, written: &[String]| {
            let mut writer = writer(disk);
            let last = writer.settle().unwrap().map_or(0, |last| last.seq);
            let written = written.last().map_or(0, |seq| seq.parse().unwrap());
            let existing = checkpoints(disk).files[0].read().unwrap();
            let stored = existing.as_ref().map_or(0, |checkpoint| checkpoint.seq);
            assert!(
                written <= stored && stored <= last,
                "{written} {stored} {last}"
            );
            let existing: Vec<_> = existing.into_iter().collect();
            let verified = verify_against(disk.clone(), "log", &existing).unwrap();
            assert_eq!(verified.flaw, None);
        };
        Trials::new().run(workload, check).unwrap();
    }
}
