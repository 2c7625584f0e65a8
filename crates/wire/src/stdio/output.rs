//! The output: the reading thread writes answers that are ready, a second thread queued ones.

use super::CHUNK;
use crate::write::{write, write_notification};
use candor_fault::Answer;
use candor_street::{Era, HeldUntilWritten, ProgressSink};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// The output that both threads write to, a whole line at a time.
pub(super) type Output = Arc<Mutex<Box<dyn Write + Send>>>;

/// A line for the second thread to write.
pub(super) enum QueuedLine {
    /// A line, and what the server holds until it is written.
    Line(Vec<u8>, HeldUntilWritten),
    Last,
}

/// Counts the writes of the second thread, so that others can see whether the client reads.
#[derive(Debug, Default)]
pub(super) struct WriteProgress {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl WriteProgress {
    fn write(&self, output: &Output, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.begun.fetch_add(1, Ordering::Relaxed);
        write_out(output, bytes)?;
        self.ended.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the number of writes that have ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Returns true if the same write has been running since `ended` was this number.
    pub(super) fn is_stuck_since(&self, ended: u64) -> bool {
        self.ended() == ended && self.begun.load(Ordering::Relaxed) > ended
    }
}

/// Locks a mutex, even if it is poisoned.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent after every statement, also if a holder has panicked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes whole lines at once.
pub(super) fn write_out(output: &Output, bytes: &[u8]) -> io::Result<()> {
    let mut output = lock(output);
    output.write_all(bytes)?;
    output.flush()
}

/// Writes queued lines in batches, until the last one.
pub(super) fn write_queued(
    mut queue: mpsc::Receiver<QueuedLine>,
    output: &Output,
    progress: &WriteProgress,
) -> io::Result<()> {
    let mut batch = Vec::new();
    let mut held = Vec::new();
    while let Some(first) = queue.blocking_recv() {
        let mut next = Some(first);
        let mut last = false;
        while let Some(queued) = next {
            match queued {
                // A long line is not copied.
                QueuedLine::Line(line, _held) if line.len() >= CHUNK => {
                    progress.write(output, &batch)?;
                    batch.clear();
                    held.clear();
                    progress.write(output, &line)?;
                }
                QueuedLine::Line(line, more) => {
                    batch.extend_from_slice(&line);
                    if !more.is_empty() {
                        held.push(more);
                    }
                }
                QueuedLine::Last => last = true,
            }
            next = if batch.len() < CHUNK {
                queue.try_recv().ok()
            } else {
                None
            };
        }
        progress.write(output, &batch)?;
        batch.clear();
        held.clear();
        if last {
            break;
        }
    }
    Ok(())
}

/// Queues the progress of a call. Progress is dropped while the client does not read.
pub(super) struct QueuedProgress(pub(super) mpsc::Sender<QueuedLine>);

impl ProgressSink for QueuedProgress {
    fn report(&self, params: String) {
        let mut line = Vec::new();
        write_notification(&mut line, "notifications/progress", &params);
        line.push(b'\n');
        // Progress may be dropped; answers may not.
        let _ = self
            .0
            .try_send(QueuedLine::Line(line, HeldUntilWritten::default()));
    }
}

/// Appends an answer as a line.
pub(super) fn append_answer(answers: &mut Vec<u8>, id: &str, era: Era, answer: &Answer) {
    write(answers, id, era, answer);
    answers.push(b'\n');
}
