//! Who writes checkpoints while a log is open: a thread of its own, so that no line waits for one.

use crate::append::AppendReceipt;
use crate::checkpoint::{Checkpoint, LogPosition, Signer};
use crate::checkpoint_file::{CheckpointFile, NewCheckpoint};
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// After how many lines a checkpoint is written.
pub const CHECKPOINT_LINES: u64 = 256;

/// How long after the last checkpoint the next is written, where there are new lines.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

/// How checkpoints of a log are made.
pub struct CheckpointWriter {
    /// Where they are kept.
    pub files: Vec<CheckpointFile>,
    /// What signs them.
    pub signer: Option<Signer>,
    /// What time it is, as it stands in them.
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
    /// Those that are there.
    pub(crate) fn read(&self) -> io::Result<Vec<Checkpoint>> {
        let there = self.files.iter().map(CheckpointFile::read);
        there.filter_map(Result::transpose).collect()
    }

    /// Says at every place how far the log has come; the first failure, after all were tried.
    pub(crate) fn say(&self, log: &str, mark: LogPosition, anew: bool) -> io::Result<()> {
        let said = NewCheckpoint {
            log,
            mark,
            signer: self.signer.as_ref(),
            now: &*self.now,
            anew,
        };
        let mut failed = Ok(());
        for place in &self.files {
            failed = failed.and(place.put(&said).map(|_| ()));
        }
        failed
    }
}

/// The thread that writes checkpoints.
pub(crate) struct CheckpointThread {
    shared: Arc<Shared>,
    keeping: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How far the log has come since the last checkpoint.
    newest: Option<LogPosition>,
    closing: bool,
    trouble: Option<Arc<io::Error>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells a keeper how far the log has come.
#[derive(Clone)]
pub(crate) struct PositionSender(Arc<Shared>);

impl PositionSender {
    /// The log has come so far, if that is known.
    pub(crate) fn tell(&self, mark: io::Result<Option<LogPosition>>) {
        let mut state = self.0.state();
        match mark {
            Ok(Some(mark)) => state.newest = Some(mark),
            Ok(None) => {}
            Err(error) => state.trouble = Some(Arc::new(error)),
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// Why the last checkpoint could not be written at some place.
    pub(crate) fn trouble(&self) -> Option<Arc<io::Error>> {
        self.0.state().trouble.clone()
    }
}

impl CheckpointThread {
    pub(crate) fn start(
        log: &str,
        last: Option<AppendReceipt>,
        how: Arc<CheckpointWriter>,
    ) -> io::Result<CheckpointThread> {
        let last = last.map_or(0, |last| last.seq);
        let shared = Arc::new(Shared::default());
        let (own, log) = (shared.clone(), log.to_owned());
        let keeping = std::thread::Builder::new()
            .name(String::from("checkpoints"))
            .spawn(move || keep(&own, &log, last, &how))?;
        Ok(CheckpointThread {
            shared,
            keeping: Some(keeping),
        })
    }

    pub(crate) fn teller(&self) -> PositionSender {
        PositionSender(self.shared.clone())
    }
}

impl Drop for CheckpointThread {
    /// Writes the last checkpoint.
    fn drop(&mut self) {
        self.shared.state().closing = true;
        self.shared.changed.notify_one();
        if let Some(keeping) = self.keeping.take() {
            // One that panicked has left a checkpoint that is older, which is no harm.
            let _ = keeping.join();
        }
    }
}

/// Writes a checkpoint whenever one is due, until the log is closed.
fn keep(shared: &Shared, log: &str, last: u64, how: &CheckpointWriter) {
    let (mut seq, mut when) = (last, Instant::now());
    while let Some(mark) = due(shared, seq, when) {
        let said = how.say(log, mark, false);
        shared.state().trouble = said.err().map(Arc::new);
        (seq, when) = (mark.last.seq, Instant::now());
    }
}

/// How far the log has come, once that is to be said; nothing when it is closed and all is said.
fn due(shared: &Shared, seq: u64, when: Instant) -> Option<LogPosition> {
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

    fn mark(seq: u64) -> LogPosition {
        let hash = Hash::of(&[&seq.to_le_bytes()]);
        LogPosition {
            chain: Hash::NONE,
            last: AppendReceipt { seq, hash },
        }
    }

    /// What is due with so many new lines, so long after the last checkpoint.
    fn due_with(lines: u64, waited: Duration, closing: bool) -> Option<LogPosition> {
        let shared = Arc::new(Shared::default());
        let teller = PositionSender(shared.clone());
        if lines > 0 {
            teller.tell(Ok(Some(mark(1000 + lines))));
        }
        shared.state().closing = closing;
        due(&shared, 1000, Instant::now().checked_sub(waited).unwrap())
    }

    #[test]
    fn a_checkpoint_is_due_after_many_lines_or_a_while_or_at_the_end() {
        let none = Duration::ZERO;
        assert_eq!(due_with(CHECKPOINT_LINES, none, false), Some(mark(1256)));
        assert_eq!(due_with(1, CHECKPOINT_EVERY, false), Some(mark(1001)));
        assert_eq!(due_with(1, none, true), Some(mark(1001)));
        assert_eq!(due_with(0, CHECKPOINT_EVERY, true), None);
        // One that is not due yet is once its time has come.
        let shortly = CHECKPOINT_EVERY - Duration::from_millis(20);
        assert_eq!(due_with(1, shortly, false), Some(mark(1001)));
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

    /// A crash never leaves a checkpoint of lines that are not there: the log goes on.
    #[test]
    fn a_checkpoint_is_never_ahead_of_its_log() {
        let workload = |disk: &SimDisk| {
            let mut writer = writer(disk);
            if writer.settle().is_err() {
                return;
            }
            for n in 0..4 {
                writer.append(vec![members(json!({ "n": n, "text": "x".repeat(200) }))]);
                if let Ok(Some(mark)) = writer.mark()
                    && checkpoints(disk).say("log", mark, false).is_ok()
                {
                    disk.mark(mark.last.seq);
                }
            }
        };
        let check = |disk: &SimDisk, said: &[String]| {
            let mut writer = writer(disk);
            let last = writer.settle().unwrap().map_or(0, |last| last.seq);
            let said = said.last().map_or(0, |seq| seq.parse().unwrap());
            let there = checkpoints(disk).files[0].read().unwrap();
            let seen = there.as_ref().map_or(0, |checkpoint| checkpoint.seq);
            assert!(said <= seen && seen <= last, "{said} {seen} {last}");
            let there: Vec<_> = there.into_iter().collect();
            let verified = verify_against(disk.clone(), "log", &there).unwrap();
            assert_eq!(verified.flaw, None);
        };
        Trials::new().run(workload, check).unwrap();
    }
}
