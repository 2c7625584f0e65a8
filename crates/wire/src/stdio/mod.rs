//! MCP over stdin and stdout. One thread reads, answers what needs no waiting, and writes it; what
//! needs waiting is a task, and its answer is written by a second thread.

mod connection;
mod line_reader;
mod output;

use candor_street::{CancellationToken, Dispatcher, Server};
use connection::{StdioConnection, read_lines};
use output::{Output, QueuedLine, write_late};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// The longest line.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// The most calls that wait at once, and the most refusals; then no further line is read for a while.
pub const MAX_WAITING: usize = 1024;

/// The most answers of pending calls that wait for a client that does not read.
pub const MAX_QUEUED: usize = 256;

/// The time that running calls have after the end of stdin, or after a signal.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The time that the answers of interrupted calls have to be sent.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Serves one connection until its input ends or `stop` is set, then lets running calls finish.
pub async fn serve<S: Server>(
    desk: Arc<Dispatcher<S>>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: CancellationToken,
) -> io::Result<()> {
    let output: Output = Arc::new(Mutex::new(Box::new(output)));
    let (late, queue) = mpsc::channel(MAX_QUEUED);
    let link = StdioConnection::new(Arc::clone(&desk), Arc::clone(&output), late, stop.clone());
    let (ended, end) = oneshot::channel();
    let reading = (Arc::clone(&link), Handle::current());
    thread::Builder::new().name("stdin".into()).spawn(move || {
        let (link, handle) = reading;
        // The other side may have stopped waiting: then nobody wants to know.
        let _ = ended.send(read_lines(&link, input, &handle));
    })?;
    let (flushed, flush) = oneshot::channel();
    thread::Builder::new()
        .name("stdout".into())
        .spawn(move || {
            let _ = flushed.send(write_late(queue, &output));
        })?;
    let read = tokio::select! {
        read = end => read.unwrap_or(Ok(())),
        () = stop.cancelled() => Ok(()),
    };
    let until = Instant::now() + PATIENCE;
    // Lines that were read before the end are taken and answered; with the turn in hand none is
    // begun any more, so that no answer is cut.
    let _turn = tokio::time::timeout_at(until, link.turn.lock()).await;
    desk.drain(until.saturating_duration_since(Instant::now()))
        .await;
    let written = async {
        // A queue that is gone has been written already.
        let _ = link.late.send(QueuedLine::Last).await;
        flush.await.unwrap_or(Ok(()))
    };
    // A client that does not read cannot keep the process.
    let left = until.saturating_duration_since(Instant::now());
    tokio::time::timeout(left.max(LAST_WORDS), written)
        .await
        .unwrap_or(Ok(()))?;
    read
}
