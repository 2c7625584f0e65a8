//! Lines on stderr that nobody waits for: a reader that stands still loses lines, and is told how many;
//! it never holds up an answer.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// How many lines may wait for a slow reader.
pub(crate) const LINES_QUEUE: usize = 4096;

/// How long the last lines may take.
const PATIENCE: Duration = Duration::from_secs(1);

enum Message {
    Line(String),
    /// Everything before it is written.
    Flush(SyncSender<()>),
}

/// The way of lines to stderr.
#[derive(Clone)]
pub(crate) struct Lines {
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

impl Lines {
    /// Starts the thread that writes.
    pub(crate) fn start() -> io::Result<Lines> {
        let (queue, waiting) = sync_channel(LINES_QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let lines = Lines {
            queue,
            dropped: Arc::clone(&dropped),
        };
        std::thread::Builder::new()
            .name(String::from("lines"))
            .spawn(move || write(&waiting, &dropped, &mut io::stderr()))?;
        Ok(lines)
    }

    /// Sends a line on its way; never waits.
    pub(crate) fn send(&self, line: String) {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Line(line)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits a little for the lines that are on their way.
    pub(crate) fn finish(&self) {
        let (done, written) = sync_channel(1);
        if self.queue.try_send(Message::Flush(done)).is_ok() {
            // A reader that stands still has had its time.
            let _ = written.recv_timeout(PATIENCE);
        }
    }
}

/// How many bytes are written at once: under load one call of the system takes many lines.
const BATCH: usize = 32 * 1024;

fn write(waiting: &Receiver<Message>, dropped: &AtomicU64, out: &mut impl Write) {
    let mut batch = String::new();
    while let Ok(first) = waiting.recv() {
        let mut next = Some(first);
        while let Some(message) = next.take() {
            match message {
                Message::Line(line) => {
                    batch.push_str(&line);
                    batch.push('\n');
                }
                Message::Flush(done) => {
                    put(&mut batch, out);
                    let _ = done.try_send(());
                }
            }
            if batch.len() < BATCH {
                next = waiting.try_recv().ok();
            }
        }
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            batch.push_str(&format!(
                "candor: {lost} lines were lost, stderr was not read\n"
            ));
        }
        put(&mut batch, out);
    }
}

fn put(batch: &mut String, out: &mut impl Write) {
    // Where stderr is gone there is nobody to tell.
    let _ = out.write_all(batch.as_bytes());
    batch.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slow_reader_misses_is_counted() {
        let (queue, waiting) = sync_channel(2);
        let dropped = Arc::new(AtomicU64::new(0));
        let lines = Lines {
            queue,
            dropped: Arc::clone(&dropped),
        };
        for number in 0..5 {
            lines.send(format!("line {number}"));
        }
        drop(lines);
        let mut out = Vec::new();
        write(&waiting, &dropped, &mut out);
        let wanted = "line 0\nline 1\ncandor: 3 lines were lost, stderr was not read\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
