//! The turn to write: one call at a time writes in a workspace, across processes, from its first look
//! at the files until it is recorded.

use super::apply::{self, dir_of};
use super::journal::{self, ChangeOrigin, EntryState, JournalEntry, JournalStep};
use super::settle::{self, SettleError, Settlement};
use super::{ChangeKind, FileChange};
use candor_disk::{Disk, DiskFile, Open};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The lock file of the writer.
const LOCK: &str = "write.lock";

const MODE: u32 = 0o600;

/// The interval between attempts to lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The maximum number of directories for which it is recorded that removed files may reappear after
/// a crash; the next directory is synced at once.
const MAX_SWEPT_DIRS: usize = 64;

/// The writing of one workspace: its files below `root`, the journal below `state`.
#[derive(Debug)]
pub(crate) struct WriteQueue<D: Disk> {
    root: D,
    state: D,
    memory: Arc<Mutex<TurnMemory>>,
}

/// The state of the queue that this process remembers.
#[derive(Debug, Default)]
struct TurnMemory {
    /// The number of the last entry that this process has brought to its end.
    settled: Option<u64>,
    /// Removed files by directory, if the removal may not be durable yet.
    swept: BTreeMap<String, Vec<String>>,
}

impl TurnMemory {
    /// Removes the files that an ended entry had put aside.
    fn settle(&mut self, entry: &JournalEntry) {
        self.settled = Some(entry.number);
        for step in &entry.steps {
            let dir = self.swept.entry(dir_of(&step.path).to_owned());
            dir.or_default().push(step.aside.clone());
        }
    }
}

/// The reason why the turn to write could not be acquired.
#[derive(Debug)]
pub(crate) enum TurnError {
    /// Another process is writing.
    Busy,
    /// The disk failed.
    Io(io::Error),
}

/// The reason why a write failed.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The disk failed, and everything is as it was.
    Undone(io::Error),
    /// The disk failed, and so did the undo; the next turn tries again.
    Stuck(io::Error),
}

impl<D: Disk> WriteQueue<D> {
    pub(crate) fn new(root: D, state: D) -> Self {
        WriteQueue {
            root,
            state,
            memory: Arc::default(),
        }
    }

    /// Waits for its turn. Blocks, so it must not be called on an async thread.
    pub(crate) fn take_turn(
        self: &Arc<Self>,
        patience: Duration,
    ) -> Result<UnsettledTurn<D>, TurnError> {
        let memory = Arc::clone(&self.memory).blocking_lock_owned();
        let file = self.state.open(LOCK, Open::Create(MODE));
        let file = file.map_err(TurnError::Io)?;
        let since = Instant::now();
        while !file.try_lock().map_err(TurnError::Io)? {
            if since.elapsed() >= patience {
                return Err(TurnError::Busy);
            }
            std::thread::sleep(LOCK_RETRY_INTERVAL);
        }
        let mut newest = [0; 8];
        let read = file.read_at(&mut newest, 0).map_err(TurnError::Io)?;
        Ok(UnsettledTurn {
            writing: Arc::clone(self),
            memory,
            // The writer of an entry notes its number here first.
            noted: (read == newest.len()).then(|| u64::from_le_bytes(newest)),
            lock: file,
        })
    }
}

/// A turn before the changes of a dead process are settled.
pub(crate) struct UnsettledTurn<D: Disk> {
    writing: Arc<WriteQueue<D>>,
    memory: OwnedMutexGuard<TurnMemory>,
    noted: Option<u64>,
    lock: D::File,
}

impl<D: Disk> UnsettledTurn<D> {
    /// Settles the changes of a dead process. `recorded` returns true if the log has the line of a
    /// call; `record` records the settlement.
    pub(crate) fn settle(
        mut self,
        recorded: impl FnOnce(&ChangeOrigin) -> Result<bool, SettleError>,
        record: impl FnOnce(&Settlement) -> Result<(), SettleError>,
    ) -> Result<WriteTurn<D>, SettleError> {
        let WriteQueue { root, state, .. } = &*self.writing;
        let mut newest = 0;
        if let (Some(noted), true) = (self.noted, self.noted == self.memory.settled) {
            // No process has begun an entry since this process ended its last one.
            newest = noted;
        } else if let Some((entry, fate)) = journal::newest(state)? {
            newest = entry.number;
            if self.memory.settled != Some(newest) {
                let settled = settle::settle(root, &entry, fate, recorded)?;
                if let Some(settled) = settled {
                    record(&settled)?;
                    settle::close(state, &entry, settled.finished)?;
                }
                self.memory.settled = Some(newest);
            }
        }
        Ok(WriteTurn {
            writing: self.writing,
            memory: self.memory,
            newest,
            lock: self.lock,
        })
    }
}

/// The turn of one call.
pub(crate) struct WriteTurn<D: Disk> {
    writing: Arc<WriteQueue<D>>,
    memory: OwnedMutexGuard<TurnMemory>,
    /// The number of the newest entry.
    newest: u64,
    lock: D::File,
}

impl<D: Disk> WriteTurn<D> {
    /// Makes changes, all of them or none. They are in place when this returns, and must be kept or
    /// undone.
    pub(crate) fn apply(
        mut self,
        about: ChangeOrigin,
        changes: &[FileChange],
        id: &str,
    ) -> Result<AppliedChanges<D>, WriteError> {
        let WriteQueue { root, state, .. } = &*self.writing;
        let entry = self.entry(about, changes, id);
        let number = entry.number.to_le_bytes();
        let noted = self.lock.write_all_at(&number, 0);
        noted
            .and_then(|()| journal::write(state, &entry))
            .map_err(WriteError::Undone)?;
        if let Err(error) = apply::forward(root, &entry, changes) {
            return Err(match undo(root, state, &entry) {
                Ok(()) => {
                    self.memory.settle(&entry);
                    WriteError::Undone(error)
                }
                Err(_) => WriteError::Stuck(error),
            });
        }
        // The files that were removed in these directories before are removed for good.
        for step in &entry.steps {
            self.memory.swept.remove(dir_of(&step.path));
        }
        Ok(AppliedChanges { turn: self, entry })
    }

    fn entry(&self, about: ChangeOrigin, changes: &[FileChange], id: &str) -> JournalEntry {
        let steps = changes
            .iter()
            .enumerate()
            .map(|(index, change)| JournalStep {
                path: change.path.clone(),
                aside: aside(&change.path, id, index),
                before: change.what.before().map(String::from),
                after: change.after.clone(),
                modes: match change.what {
                    ChangeKind::Modify {
                        before_mode, mode, ..
                    } if before_mode != mode => Some([before_mode, mode]),
                    _ => None,
                },
            });
        let made_dirs = changes.iter().flat_map(|change| &change.made_dirs);
        JournalEntry {
            number: self.newest + 1,
            about,
            steps: steps.collect(),
            made_dirs: made_dirs.cloned().collect(),
            sweep: self.memory.swept.values().flatten().cloned().collect(),
        }
    }
}

/// Returns a name beside a file, for a file that is not there yet or no longer.
fn aside(path: &str, id: &str, index: usize) -> String {
    match dir_of(path) {
        "" => format!(".candor-{id}-{index}"),
        dir => format!("{dir}/.candor-{id}-{index}"),
    }
}

fn undo<D: Disk>(root: &D, state: &D, entry: &JournalEntry) -> io::Result<()> {
    apply::undo(root, entry)?;
    journal::note(state, entry, EntryState::Undone, true)
}

/// Changes that are in place, but not yet final.
pub(crate) struct AppliedChanges<D: Disk> {
    turn: WriteTurn<D>,
    entry: JournalEntry,
}

impl<D: Disk> AppliedChanges<D> {
    /// Makes the changes final, because they are on record. The part of this that a crash loses is
    /// done again.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        let WriteQueue { root, state, .. } = &*self.turn.writing;
        journal::note(state, &self.entry, EntryState::Kept, false)?;
        apply::remove_aside(root, &self.entry)?;
        self.turn.memory.settle(&self.entry);
        let swept = &mut self.turn.memory.swept;
        while swept.len() > MAX_SWEPT_DIRS {
            let Some((dir, _)) = swept.pop_first() else {
                break;
            };
            apply::sync_if_exists(root, &dir)?;
        }
        Ok(())
    }

    /// Takes them back.
    pub(crate) fn undo(mut self) -> io::Result<()> {
        let WriteQueue { root, state, .. } = &*self.turn.writing;
        undo(root, state, &self.entry)?;
        self.turn.memory.settle(&self.entry);
        Ok(())
    }
}
