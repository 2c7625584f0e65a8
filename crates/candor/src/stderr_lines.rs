//! Lines on stderr, written in the background: a slow reader loses lines, which are counted, and never delays
//! an answer.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tracing_subscriber::fmt::MakeWriter;

/// The number of bytes that are queued for a slow reader.
const MAX_QUEUED: usize = 1024 * 1024;

/// The pause of the writer after each write. Waking it for every line would cost more than the line; under
/// load it finds many at once.
const REST: Duration = Duration::from_millis(2);

/// The time limit for the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The lines that are not written yet.
#[derive(Debug, Default)]
struct Queue {
    text: String,
    lost: u64,
    writer: WriterState,
}

/// The state of the thread that writes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum WriterState {
    /// Not started: most commands write no line.
    #[default]
    Absent,
    /// Sleeps until it is woken.
    Idle,
    /// Writes, or pauses after a write.
    Busy,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Notified when a line is queued.
    wake: Condvar,
    /// Notified when the queue is empty.
    rest: Condvar,
}

/// A handle to the background writer of stderr.
#[derive(Debug, Clone, Default)]
pub(crate) struct StderrLines(Arc<Shared>);

impl StderrLines {
    /// Returns the writer of this process. Code that writes to stderr without it would wait for a slow reader.
    pub(crate) fn shared() -> StderrLines {
        static SHARED: OnceLock<StderrLines> = OnceLock::new();
        SHARED.get_or_init(StderrLines::default).clone()
    }

    /// Queues a line; never waits for the reader.
    pub(crate) fn send(&self, line: &str) {
        let mut queue = self.0.lock();
        if queue.text.len() + line.len() < MAX_QUEUED {
            queue.text.push_str(line);
            queue.text.push('\n');
        } else {
            queue.lost += 1;
        }
        match queue.writer {
            WriterState::Busy => {}
            WriterState::Idle => self.0.wake.notify_one(),
            WriterState::Absent => self.start(),
        }
        queue.writer = WriterState::Busy;
    }

    fn start(&self) {
        let shared = Arc::clone(&self.0);
        let write = move || {
            let mut text = String::new();
            loop {
                shared.write(&mut text, &mut io::stderr());
                std::thread::sleep(REST);
            }
        };
        let thread = std::thread::Builder::new().name(String::from("lines"));
        // Without a thread, lines stay queued until they are lost: nothing else may wait for them.
        let _ = thread.spawn(write);
    }

    /// Waits a limited time until the queued lines are written.
    pub(crate) fn finish(&self) {
        let queue = self.0.lock();
        let unwritten = |queue: &mut Queue| queue.writer == WriterState::Busy;
        // A reader that is still slow after that time loses the lines.
        let _ = self
            .0
            .rest
            .wait_timeout_while(queue, FLUSH_TIMEOUT, unwritten);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for lines and writes them. The buffer `text` is exchanged with the queue, so that its memory is
    /// used again.
    fn write(&self, text: &mut String, out: &mut impl Write) {
        text.clear();
        let mut queue = self.lock();
        while queue.text.is_empty() {
            queue.writer = WriterState::Idle;
            self.rest.notify_all();
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(text, &mut queue.text);
        let lost = std::mem::take(&mut queue.lost);
        drop(queue);
        if lost > 0 {
            text.push_str(&format!(
                "candor: {lost} lines were lost, stderr was not read\n"
            ));
        }
        // If stderr is closed, the message cannot be shown anywhere else.
        let _ = out.write_all(text.as_bytes());
    }
}

impl<'a> MakeWriter<'a> for StderrLines {
    type Writer = LogLineWriter<'a>;

    fn make_writer(&'a self) -> LogLineWriter<'a> {
        LogLineWriter(self)
    }
}

/// Writes one event of the log, which arrives in one piece.
pub(crate) struct LogLineWriter<'a>(&'a StderrLines);

impl Write for LogLineWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.send(text.strip_suffix('\n').unwrap_or(&text));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lost_by_a_slow_reader_are_counted() {
        let lines = StderrLines::default();
        lines.0.lock().writer = WriterState::Busy;
        let long = "x".repeat(MAX_QUEUED - 2);
        lines.send(&long);
        for _ in 0..3 {
            lines.send("one");
        }
        let mut out = Vec::new();
        let mut text = String::new();
        lines.0.write(&mut text, &mut out);
        lines.send("two");
        lines.0.write(&mut text, &mut out);
        let lost = "candor: 3 lines were lost, stderr was not read";
        let expected = format!("{long}\n{lost}\ntwo\n");
        assert!(out == expected.as_bytes());
    }
}
