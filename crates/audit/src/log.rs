//! An open log: a thread that writes, and a queue of lines. Callers that wait at the same time
//! share one sync; a single caller that may block writes without the thread.

pub use crate::append::TornBytes;
use crate::append::{AppendError, AppendReceipt, LogWriter, TornEntry};
use crate::checkpoint::LogPosition;
use crate::checkpoint_thread::{CheckpointThread, CheckpointWriter, PositionSender};
use crate::log_files::LogFiles;
use crate::retire::LogAnchor;
use candor_disk::Disk;
use serde_json::{Map, Value};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// The most lines in the queue; further lines are refused.
pub const MAX_WAITING: usize = 4096;

/// The most lines that are written at once.
const MAX_TOGETHER: usize = 256;

/// The default size at which a file is full.
const ROTATE_AT: u64 = 64 * 1024 * 1024;

/// The default of [`LogOptions::patience`].
const PATIENCE: Duration = Duration::from_secs(5);

/// Options of an open log.
pub struct LogOptions {
    /// The size in bytes at which a file is full.
    pub rotate_at: u64,
    /// The longest time to wait for another process that holds the lock.
    pub patience: Duration,
    /// Returns the entry that reports bytes torn by a crash.
    pub torn_entry: Box<TornEntry>,
    /// Writes checkpoints. If absent, there are none.
    pub checkpoints: Option<CheckpointWriter>,
    /// The anchor of files that were moved away.
    pub anchor: Option<LogAnchor>,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            rotate_at: ROTATE_AT,
            patience: PATIENCE,
            torn_entry: Box::new(|torn| {
                let mut members = Map::new();
                members.insert(String::from("kind"), Value::from("torn"));
                members.insert(String::from("bytes"), Value::from(torn.bytes));
                members.insert(String::from("sha256"), Value::from(torn.hash.to_string()));
                members
            }),
            checkpoints: None,
            anchor: None,
        }
    }
}

impl fmt::Debug for LogOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Options")
            .field("rotate_at", &self.rotate_at)
            .field("patience", &self.patience)
            .field("checkpoints", &self.checkpoints)
            .finish_non_exhaustive()
    }
}

/// The reason why a log cannot be opened.
pub type OpenError = AppendError;

enum WriterJob {
    Line(QueuedLine),
    Settle(oneshot::Sender<Result<(), AppendError>>),
}

struct QueuedLine {
    members: Map<String, Value>,
    done: oneshot::Sender<Result<AppendReceipt, AppendError>>,
}

/// Hides the disk type of a [`LogWriter`], so that neither [`Log`] nor the servers that contain one
/// need a type parameter: there are writers on the real disk, on the simulated disk and on a disk
/// that counts.
trait AnyDiskWriter: Send {
    fn append(&mut self, batch: Vec<Map<String, Value>>)
    -> Vec<Result<AppendReceipt, AppendError>>;
    fn settle(&mut self) -> Result<(), AppendError>;
    fn position(&mut self) -> io::Result<Option<LogPosition>>;
}

impl<D: Disk> AnyDiskWriter for LogWriter<D> {
    fn append(
        &mut self,
        batch: Vec<Map<String, Value>>,
    ) -> Vec<Result<AppendReceipt, AppendError>> {
        LogWriter::append(self, batch)
    }

    fn settle(&mut self) -> Result<(), AppendError> {
        LogWriter::settle(self).map(drop)
    }

    fn position(&mut self) -> io::Result<Option<LogPosition>> {
        LogWriter::position(self)
    }
}

/// The writer, shared by the thread and by callers that may block.
struct SharedWriter {
    writer: Mutex<Box<dyn AnyDiskWriter>>,
    /// The number of jobs that wait or that the thread works on.
    waiting: AtomicUsize,
}

pub struct Log {
    shared: Arc<SharedWriter>,
    queue: Option<SyncSender<WriterJob>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    last: Option<AppendReceipt>,
    checkpoint_thread: Option<CheckpointThread>,
}

impl Log {
    /// Opens the log of this name, or creates it, and repairs what a crash left.
    pub fn open<D: Disk>(disk: D, name: &str, options: LogOptions) -> Result<Log, OpenError> {
        let files = LogFiles::new(disk, name);
        let (patience, torn_entry) = (options.patience, options.torn_entry);
        let checkpoints = options.checkpoints.map(Arc::new);
        let mut writer = LogWriter::new(files, options.rotate_at, patience, torn_entry);
        writer.checkpoints = checkpoints.clone();
        writer.retired_chain = options.anchor.map(|anchor| anchor.chain);
        let last = writer.settle()?;
        let checkpoint_thread = match checkpoints {
            Some(writer) => Some(CheckpointThread::start(name, last, writer)?),
            None => None,
        };
        let positions = checkpoint_thread.as_ref().map(CheckpointThread::sender);
        if let Some(positions) = &positions {
            // A crash may have prevented the last checkpoint.
            positions.send(writer.position());
        }
        let shared = Arc::new(SharedWriter {
            writer: Mutex::new(Box::new(writer)),
            waiting: AtomicUsize::new(0),
        });
        let (queue, waiting) = sync_channel(MAX_WAITING);
        let shared_with_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(String::from("log"))
            .spawn(move || run_writer(&shared_with_thread, &waiting, positions.as_ref()))?;
        Ok(Log {
            shared,
            queue: Some(queue),
            thread: Mutex::new(Some(thread)),
            last,
            checkpoint_thread,
        })
    }

    /// Returns the last line at the time the log was opened.
    pub fn last(&self) -> Option<AppendReceipt> {
        self.last
    }

    /// Returns the reason why the last checkpoint could not be written to every file, or `None` if
    /// it was. Appends are not affected.
    pub fn checkpoint_error(&self) -> Option<Arc<io::Error>> {
        self.checkpoint_thread.as_ref()?.sender().last_error()
    }

    /// Appends a line. It is durable when the future is ready.
    pub async fn append(&self, members: Map<String, Value>) -> Result<AppendReceipt, AppendError> {
        let waiting = self.enqueue(members)?;
        waiting.await.unwrap_or(Err(AppendError::Closed))
    }

    /// As [`Log::append`], for callers that may block.
    pub fn append_blocking(
        &self,
        members: Map<String, Value>,
    ) -> Result<AppendReceipt, AppendError> {
        if self.shared.waiting.load(Ordering::Acquire) == 0
            && let Ok(mut writer) = self.shared.writer.try_lock()
        {
            // No other caller waits: a detour through the thread would only cost time.
            let mut results = writer.append(vec![members]);
            if let Some(checkpoint_thread) = &self.checkpoint_thread {
                checkpoint_thread.sender().send(writer.position());
            }
            return results.pop().unwrap_or(Err(AppendError::Closed));
        }
        let waiting = self.enqueue(members)?;
        waiting.blocking_recv().unwrap_or(Err(AppendError::Closed))
    }

    /// Repairs what another process may have left: every line that can be read afterwards is
    /// durable. For callers that may block.
    pub fn settle_blocking(&self) -> Result<(), AppendError> {
        let (done, waiting) = oneshot::channel();
        self.send(WriterJob::Settle(done))?;
        waiting.blocking_recv().unwrap_or(Err(AppendError::Closed))
    }

    /// Writes the checkpoint of the lines whose appends have ended; no later one is written. For
    /// callers that may block, before a process exits that may still share this log.
    pub fn finish_checkpoints(&self) {
        if let Some(checkpoint_thread) = &self.checkpoint_thread {
            checkpoint_thread.finish();
        }
    }

    fn enqueue(
        &self,
        members: Map<String, Value>,
    ) -> Result<oneshot::Receiver<Result<AppendReceipt, AppendError>>, AppendError> {
        let (done, waiting) = oneshot::channel();
        self.send(WriterJob::Line(QueuedLine { members, done }))?;
        Ok(waiting)
    }

    fn send(&self, job: WriterJob) -> Result<(), AppendError> {
        let queue = self.queue.as_ref().ok_or(AppendError::Closed)?;
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        let sent = queue.try_send(job);
        if sent.is_err() {
            self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
        }
        sent.map_err(|error| match error {
            TrySendError::Full(_) => io::Error::from(io::ErrorKind::WouldBlock).into(),
            TrySendError::Disconnected(_) => AppendError::Closed,
        })
    }
}

impl Drop for Log {
    /// Waits for pending writes, then for the last checkpoint.
    fn drop(&mut self) {
        self.queue = None;
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // After a panic of the writer, waiting callers have got `AppendError::Closed`.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Log")
    }
}

/// Writes queued jobs until the log is closed.
fn run_writer(
    shared: &SharedWriter,
    waiting: &Receiver<WriterJob>,
    positions: Option<&PositionSender>,
) {
    while let Ok(first) = waiting.recv() {
        // The state of a writer that panicked is unknown.
        let Ok(mut writer) = shared.writer.lock() else {
            return;
        };
        let more = std::iter::from_fn(|| waiting.try_recv().ok());
        let (mut batch, mut callers, mut settling) = (Vec::new(), Vec::new(), Vec::new());
        for job in std::iter::once(first).chain(more).take(MAX_TOGETHER) {
            match job {
                WriterJob::Line(line) => {
                    batch.push(line.members);
                    callers.push(line.done);
                }
                WriterJob::Settle(done) => settling.push(done),
            }
        }
        let done = callers.len() + settling.len();
        let results = match batch.is_empty() {
            true => Vec::new(),
            false => writer.append(batch),
        };
        let settled: Vec<_> = settling.iter().map(|_| writer.settle()).collect();
        if let Some(positions) = positions {
            positions.send(writer.position());
        }
        drop(writer);
        // The line of a caller that has given up is written all the same.
        for (caller, result) in callers.into_iter().zip(results) {
            let _ = caller.send(result);
        }
        for (caller, settled) in settling.into_iter().zip(settled) {
            let _ = caller.send(settled);
        }
        // Last, so that callers that came together come together again and share the next sync.
        shared.waiting.fetch_sub(done, Ordering::AcqRel);
    }
}
