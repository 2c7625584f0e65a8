//! A log that is open: a thread that writes, and a queue to it. Callers that wait together share one
//! sync; one that is alone and may block writes itself.

pub use crate::append::TornBytes;
use crate::append::{AppendError, AppendReceipt, LogWriter, TornEntry};
use crate::checkpoint::LogPosition;
use crate::checkpoint_thread::{CheckpointThread, CheckpointWriter, PositionSender};
use crate::log_files::LogFiles;
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

/// How many lines may wait; more are refused.
pub const MAX_WAITING: usize = 4096;

/// How many lines are written at once.
const MAX_TOGETHER: usize = 256;

/// At which size a file is full unless the owner says otherwise.
const ROTATE_AT: u64 = 64 * 1024 * 1024;

/// How long the lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a log is kept.
pub struct LogOptions {
    /// At which size a file is full.
    pub rotate_at: u64,
    /// How long another process is waited for.
    pub patience: Duration,
    /// What the log says about what a crash left.
    pub torn_entry: Box<TornEntry>,
    /// Where checkpoints are kept, and how they are made; none are where this is nothing.
    pub checkpoints: Option<CheckpointWriter>,
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

/// Why a log cannot be opened.
pub type OpenError = AppendError;

enum WriterJob {
    Line(QueuedLine),
    Settle(oneshot::Sender<Result<(), AppendError>>),
}

struct QueuedLine {
    members: Map<String, Value>,
    done: oneshot::Sender<Result<AppendReceipt, AppendError>>,
}

/// A writer on whatever disk.
trait AnyDiskWriter: Send {
    fn append(&mut self, batch: Vec<Map<String, Value>>)
    -> Vec<Result<AppendReceipt, AppendError>>;
    fn settle(&mut self) -> Result<(), AppendError>;
    fn mark(&mut self) -> io::Result<Option<LogPosition>>;
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

    fn mark(&mut self) -> io::Result<Option<LogPosition>> {
        LogWriter::mark(self)
    }
}

/// The writer, for the thread and for callers that are alone.
struct Shared {
    writer: Mutex<Box<dyn AnyDiskWriter>>,
    /// How many jobs wait or are being done by the thread.
    waiting: AtomicUsize,
}

/// A log that is open.
pub struct Log {
    shared: Arc<Shared>,
    queue: Option<SyncSender<WriterJob>>,
    writing: Mutex<Option<JoinHandle<()>>>,
    last: Option<AppendReceipt>,
    keeper: Option<CheckpointThread>,
}

impl Log {
    /// Opens the log of this name, or makes it, and settles what a crash left.
    pub fn open<D: Disk>(disk: D, name: &str, options: LogOptions) -> Result<Log, OpenError> {
        let files = LogFiles::new(disk, name);
        let (patience, torn_entry) = (options.patience, options.torn_entry);
        let checkpoints = options.checkpoints.map(Arc::new);
        let mut writer = LogWriter::new(files, options.rotate_at, patience, torn_entry);
        writer.checkpoints = checkpoints.clone();
        let last = writer.settle()?;
        let keeper = match checkpoints {
            Some(how) => Some(CheckpointThread::start(name, last, how)?),
            None => None,
        };
        let told = keeper.as_ref().map(CheckpointThread::teller);
        if let Some(told) = &told {
            // What a crash kept from being said.
            told.tell(writer.mark());
        }
        let shared = Arc::new(Shared {
            writer: Mutex::new(Box::new(writer)),
            waiting: AtomicUsize::new(0),
        });
        let (queue, waiting) = sync_channel(MAX_WAITING);
        let own = Arc::clone(&shared);
        let writing = std::thread::Builder::new()
            .name(String::from("log"))
            .spawn(move || write(&own, &waiting, told.as_ref()))?;
        Ok(Log {
            shared,
            queue: Some(queue),
            writing: Mutex::new(Some(writing)),
            last,
            keeper,
        })
    }

    /// The last line that was there when the log was opened.
    pub fn last(&self) -> Option<AppendReceipt> {
        self.last
    }

    /// Why the last checkpoint could not be written everywhere; nothing where it was. Lines are none
    /// the worse for it.
    pub fn checkpoint_error(&self) -> Option<Arc<io::Error>> {
        self.keeper.as_ref()?.teller().trouble()
    }

    /// Appends a line; it is on the disk when this is ready.
    pub async fn append(&self, members: Map<String, Value>) -> Result<AppendReceipt, AppendError> {
        let waiting = self.begin(members)?;
        waiting.await.unwrap_or(Err(AppendError::Closed))
    }

    /// The same, for callers that may block.
    pub fn append_blocking(
        &self,
        members: Map<String, Value>,
    ) -> Result<AppendReceipt, AppendError> {
        if self.shared.waiting.load(Ordering::Acquire) == 0
            && let Ok(mut writer) = self.shared.writer.try_lock()
        {
            // Nobody else wants to: handing it to the thread and back would only take time.
            let mut results = writer.append(vec![members]);
            if let Some(keeper) = &self.keeper {
                keeper.teller().tell(writer.mark());
            }
            return results.pop().unwrap_or(Err(AppendError::Closed));
        }
        let waiting = self.begin(members)?;
        waiting.blocking_recv().unwrap_or(Err(AppendError::Closed))
    }

    /// Settles what another process may have left: whatever can be read afterwards is on the disk. For
    /// callers that may block.
    pub fn settle_blocking(&self) -> Result<(), AppendError> {
        let (done, waiting) = oneshot::channel();
        self.send(WriterJob::Settle(done))?;
        waiting.blocking_recv().unwrap_or(Err(AppendError::Closed))
    }

    fn begin(
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
    /// Waits for what is being written, and then for the last checkpoint.
    fn drop(&mut self) {
        self.queue = None;
        let writing = self
            .writing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(writing) = writing {
            // A writer that panicked has said so to everybody who waited.
            let _ = writing.join();
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Log")
    }
}

/// Writes whatever waits, until nobody can ask any more.
fn write(shared: &Shared, waiting: &Receiver<WriterJob>, told: Option<&PositionSender>) {
    while let Ok(first) = waiting.recv() {
        // A writer that panicked is in no state to go on.
        let Ok(mut writer) = shared.writer.lock() else {
            return;
        };
        let more = std::iter::from_fn(|| waiting.try_recv().ok());
        let (mut batch, mut callers, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for job in std::iter::once(first).chain(more).take(MAX_TOGETHER) {
            match job {
                WriterJob::Line(line) => {
                    batch.push(line.members);
                    callers.push(line.done);
                }
                WriterJob::Settle(done) => asked.push(done),
            }
        }
        let done = callers.len() + asked.len();
        let results = match batch.is_empty() {
            true => Vec::new(),
            false => writer.append(batch),
        };
        let settled: Vec<_> = asked.iter().map(|_| writer.settle()).collect();
        if let Some(told) = told {
            told.tell(writer.mark());
        }
        drop(writer);
        // One that was given up has its line all the same.
        for (caller, result) in callers.into_iter().zip(results) {
            let _ = caller.send(result);
        }
        for (caller, settled) in asked.into_iter().zip(settled) {
            let _ = caller.send(settled);
        }
        // Only now: those who were many come back as many, and share the next sync too.
        shared.waiting.fetch_sub(done, Ordering::AcqRel);
    }
}
