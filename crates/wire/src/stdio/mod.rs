//! MCP over stdin and stdout. One thread reads requests and writes the answers that need no waiting.
//! Calls that wait are tasks; a second thread writes their answers.

mod connection;
mod line_reader;
mod output;

use candor_street::{CancellationToken, Dispatcher, Server};
use connection::{StdioConnection, read_lines};
use output::{Output, QueuedLine, write_queued};
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
    dispatcher: Arc<Dispatcher<S>>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: CancellationToken,
) -> io::Result<()> {
    let output: Output = Arc::new(Mutex::new(Box::new(output)));
    let (sender, queue) = mpsc::channel(MAX_QUEUED);
    let connection = StdioConnection::new(
        Arc::clone(&dispatcher),
        Arc::clone(&output),
        sender,
        stop.clone(),
    );
    let (ended, end) = oneshot::channel();
    let reading = (Arc::clone(&connection), Handle::current());
    thread::Builder::new().name("stdin".into()).spawn(move || {
        let (connection, handle) = reading;
        // Sending fails if the receiver has stopped waiting; the result is not needed then.
        let _ = ended.send(read_lines(&connection, input, &handle));
    })?;
    let (flushed, flush) = oneshot::channel();
    let progress = Arc::clone(&connection.progress);
    thread::Builder::new()
        .name("stdout".into())
        .spawn(move || {
            let _ = flushed.send(write_queued(queue, &output, &progress));
        })?;
    let read = tokio::select! {
        read = end => read.unwrap_or(Ok(())),
        () = stop.cancelled() => Ok(()),
    };
    let until = Instant::now() + PATIENCE;
    // Lines that were read before the end are handled. No further line is handled while the turn is
    // held, so no answer is cut.
    let _turn = tokio::time::timeout_at(until, connection.turn.lock()).await;
    dispatcher
        .drain(until.saturating_duration_since(Instant::now()))
        .await;
    let written = async {
        // Sending fails if the queue has been written already.
        let _ = connection.queue.send(QueuedLine::Last).await;
        flush.await.unwrap_or(Ok(()))
    };
    // A client that does not read cannot keep the process running.
    let left = until.saturating_duration_since(Instant::now());
    tokio::time::timeout(left.max(LAST_WORDS), written)
        .await
        .unwrap_or(Ok(()))?;
    read
}
