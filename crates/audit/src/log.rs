//! A log that is open: a thread that writes, and a queue to it. Callers that wait together share one
//! sync.

pub use crate::append::Torn;
use crate::append::{AppendError, Receipt, SayTorn, Writer};
use crate::files::Files;
use crate::keeper::{Checkpoints, Keeper, Teller};
use candor_disk::Disk;
use serde_json::{Map, Value};
use std::fmt;
use std::io;
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
pub struct Options {
    /// At which size a file is full.
    pub rotate_at: u64,
    /// How long another process is waited for.
    pub patience: Duration,
    /// What the log says about what a crash left.
    pub say_torn: Box<SayTorn>,
    /// Where checkpoints are kept, and how they are made; none are where this is nothing.
    pub checkpoints: Option<Checkpoints>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            rotate_at: ROTATE_AT,
            patience: PATIENCE,
            say_torn: Box::new(|torn| {
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

impl fmt::Debug for Options {
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

enum Job {
    Line(Line),
    Settle(oneshot::Sender<Result<(), AppendError>>),
}

struct Line {
    members: Map<String, Value>,
    done: oneshot::Sender<Result<Receipt, AppendError>>,
}

/// A log that is open.
pub struct Log {
    queue: Option<SyncSender<Job>>,
    writing: Mutex<Option<JoinHandle<()>>>,
    last: Option<Receipt>,
    keeper: Option<Keeper>,
}

impl Log {
    /// Opens the log of this name, or makes it, and settles what a crash left.
    pub fn open<D: Disk>(disk: D, name: &str, options: Options) -> Result<Log, OpenError> {
        let files = Files::new(disk, name);
        let (patience, say_torn) = (options.patience, options.say_torn);
        let checkpoints = options.checkpoints.map(Arc::new);
        let mut writer = Writer::new(files, options.rotate_at, patience, say_torn);
        writer.checkpoints = checkpoints.clone();
        let last = writer.settle()?;
        let keeper = match checkpoints {
            Some(how) => Some(Keeper::start(name, last, how)?),
            None => None,
        };
        let told = keeper.as_ref().map(Keeper::teller);
        if let Some(told) = &told {
            // What a crash kept from being said.
            told.tell(writer.mark());
        }
        let (queue, waiting) = sync_channel(MAX_WAITING);
        let writing = std::thread::Builder::new()
            .name(String::from("log"))
            .spawn(move || write(writer, &waiting, told.as_ref()))?;
        Ok(Log {
            queue: Some(queue),
            writing: Mutex::new(Some(writing)),
            last,
            keeper,
        })
    }

    /// The last line that was there when the log was opened.
    pub fn last(&self) -> Option<Receipt> {
        self.last
    }

    /// Why the last checkpoint could not be written everywhere; nothing where it was. Lines are none
    /// the worse for it.
    pub fn checkpoint_trouble(&self) -> Option<Arc<io::Error>> {
        self.keeper.as_ref()?.teller().trouble()
    }

    /// Appends a line; it is on the disk when this is ready.
    pub async fn append(&self, members: Map<String, Value>) -> Result<Receipt, AppendError> {
        let waiting = self.begin(members)?;
        waiting.await.unwrap_or(Err(AppendError::Closed))
    }

    /// The same, for callers that may block.
    pub fn append_blocking(&self, members: Map<String, Value>) -> Result<Receipt, AppendError> {
        let waiting = self.begin(members)?;
        waiting.blocking_recv().unwrap_or(Err(AppendError::Closed))
    }

    /// Settles what another process may have left: whatever can be read afterwards is on the disk. For
    /// callers that may block.
    pub fn settle_blocking(&self) -> Result<(), AppendError> {
        let (done, waiting) = oneshot::channel();
        self.send(Job::Settle(done))?;
        waiting.blocking_recv().unwrap_or(Err(AppendError::Closed))
    }

    fn begin(
        &self,
        members: Map<String, Value>,
    ) -> Result<oneshot::Receiver<Result<Receipt, AppendError>>, AppendError> {
        let (done, waiting) = oneshot::channel();
        self.send(Job::Line(Line { members, done }))?;
        Ok(waiting)
    }

    fn send(&self, job: Job) -> Result<(), AppendError> {
        let queue = self.queue.as_ref().ok_or(AppendError::Closed)?;
        match queue.try_send(job) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err(io::Error::from(io::ErrorKind::WouldBlock).into()),
            Err(TrySendError::Disconnected(_)) => Err(AppendError::Closed),
        }
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
fn write<D: Disk>(mut writer: Writer<D>, waiting: &Receiver<Job>, told: Option<&Teller>) {
    while let Ok(first) = waiting.recv() {
        let more = std::iter::from_fn(|| waiting.try_recv().ok());
        let (mut batch, mut callers, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for job in std::iter::once(first).chain(more).take(MAX_TOGETHER) {
            match job {
                Job::Line(line) => {
                    batch.push(line.members);
                    callers.push(line.done);
                }
                Job::Settle(done) => asked.push(done),
            }
        }
        // One that was given up has its line all the same.
        if !batch.is_empty() {
            let results = writer.append(batch);
            for (caller, result) in callers.into_iter().zip(results) {
                let _ = caller.send(result);
            }
        }
        for caller in asked {
            let _ = caller.send(writer.settle().map(drop));
        }
        if let Some(told) = told {
            told.tell(writer.mark());
        }
    }
}
