//! MCP over stdin and stdout. One thread reads, answers what needs no waiting, and writes it; what
//! needs waiting is a task, and its answer is written by a second thread.

use crate::listing::Listing;
use crate::read::{Ask, Called, Inbound, id_in_flight, id_key, read, too_large};
use crate::revision::Facts;
use crate::write::{write, write_notification};
use candor_fault::dialects::Wire;
use candor_fault::{Answer, Dialect, Fault, Refusal};
use candor_street::{
    Call, CancellationToken, Client, Desk, Era, Peer, Progress, ProgressSink, Server, Waiting,
};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;

/// How long a line may be.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// How many calls may wait at once, and how many refusals; then no further line is read for a while.
pub const MAX_WAITING: usize = 1024;

/// How many answers of waiting calls may wait for a client that does not read.
pub const MAX_QUEUED: usize = 256;

/// How long running calls have after the end of stdin, or after a signal.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What a client is told to wait when the server is at capacity.
const BUSY: Duration = Duration::from_secs(1);

/// How long the answers of cut calls have to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

type Output = Arc<Mutex<Box<dyn Write + Send>>>;

/// Serves one connection until its input ends or `stop` is set, then lets running calls finish.
pub async fn serve<S: Server>(
    desk: Arc<Desk<S>>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: CancellationToken,
) -> io::Result<()> {
    let output: Output = Arc::new(Mutex::new(Box::new(output)));
    let (late, queue) = mpsc::channel(MAX_QUEUED);
    let link = Arc::new(Link {
        output: Arc::clone(&output),
        listing: Listing::new(&desk),
        desk: Arc::clone(&desk),
        late,
        waiting: Arc::new(Semaphore::new(MAX_WAITING)),
        stuck: AtomicBool::new(false),
        refusing: Arc::new(Semaphore::new(MAX_WAITING)),
        flights: Mutex::new(HashMap::new()),
        client: Mutex::new(Client::default()),
        turn: AsyncMutex::new(()),
        stop: stop.clone(),
    });
    let (ended, end) = oneshot::channel();
    let reading = (Arc::clone(&link), Arc::clone(&output), Handle::current());
    thread::Builder::new().name("stdin".into()).spawn(move || {
        let (link, output, handle) = reading;
        // The other side may have stopped waiting: then nobody wants to know.
        let _ = ended.send(read_lines(&link, input, &output, &handle));
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
        let _ = link.late.send(Late::Last).await;
        flush.await.unwrap_or(Ok(()))
    };
    // A client that does not read cannot keep the process.
    let left = until.saturating_duration_since(Instant::now());
    tokio::time::timeout(left.max(LAST_WORDS), written)
        .await
        .unwrap_or(Ok(()))?;
    read
}

/// One connection.
struct Link<S: Server> {
    output: Output,
    desk: Arc<Desk<S>>,
    listing: Listing,
    late: mpsc::Sender<Late>,
    waiting: Arc<Semaphore>,
    /// Whether waiting for a place was in vain, and none has been free since.
    stuck: AtomicBool,
    /// Refusals that wait for their record; they do not wait for calls.
    refusing: Arc<Semaphore>,
    flights: Mutex<HashMap<String, CancellationToken>>,
    client: Mutex<Client>,
    /// Held while lines that were read together are taken and answered.
    turn: AsyncMutex<()>,
    stop: CancellationToken,
}

/// What asking for a place comes to.
enum Place {
    Taken(OwnedSemaphorePermit),
    /// All of them have been taken for long.
    Full,
    /// The connection ends.
    Ended,
}

/// What the second thread writes.
enum Late {
    Line(Vec<u8>),
    Last,
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is guarded here is whole after every statement, so a poisoned lock holds good data.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_out(output: &Output, bytes: &[u8]) -> io::Result<()> {
    let mut output = locked(output);
    output.write_all(bytes)?;
    output.flush()
}

fn write_late(mut queue: mpsc::Receiver<Late>, output: &Output) -> io::Result<()> {
    let mut batch = Vec::new();
    while let Some(first) = queue.blocking_recv() {
        batch.clear();
        let mut next = Some(first);
        let mut last = false;
        while let Some(late) = next {
            match late {
                Late::Line(line) => batch.extend_from_slice(&line),
                Late::Last => last = true,
            }
            next = if batch.len() < CHUNK {
                queue.try_recv().ok()
            } else {
                None
            };
        }
        write_out(output, &batch)?;
        if last {
            break;
        }
    }
    Ok(())
}

/// Reads until the end of the input; answers that are ready are written when no whole line is left.
fn read_lines<S: Server>(
    link: &Arc<Link<S>>,
    mut input: impl Read,
    output: &Output,
    handle: &Handle,
) -> io::Result<()> {
    let _inside = handle.enter();
    let mut lines = Lines::default();
    let mut answers = Vec::with_capacity(CHUNK);
    loop {
        let end = lines.fill(&mut input)? == 0;
        let turn = link.turn.blocking_lock();
        while let Some(line) = lines.next(end) {
            let flow = match line {
                Line::Whole(bytes) => link.take(bytes, &mut answers, handle),
                Line::TooLong => link.refuse(
                    NO_ID,
                    Era::Handshake,
                    too_large("the line is too long"),
                    &mut answers,
                    handle,
                ),
            };
            if flow.is_break() || answers.len() >= CHUNK {
                write_out(output, &answers)?;
                answers.clear();
            }
            if flow.is_break() {
                return Ok(());
            }
        }
        if !answers.is_empty() {
            write_out(output, &answers)?;
            answers.clear();
        }
        drop(turn);
        if end || link.stop.is_cancelled() {
            return Ok(());
        }
    }
}

const NO_ID: &str = "null";

/// Cuts input into lines without ever holding more than one line's limit.
#[derive(Default)]
struct Lines {
    /// Holds input in `start..end`; what lies behind is room for more.
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    end: usize,
    skipping: bool,
}

enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl Lines {
    /// Reads some more; 0 at the end.
    fn fill(&mut self, input: &mut impl Read) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.searched -= self.start;
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < self.end + CHUNK {
            self.buffer.resize(self.end + CHUNK, 0);
        }
        loop {
            match input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.end += read;
                    return Ok(read);
                }
            }
        }
    }

    /// The next whole line; at the end of the input also a last one without its newline.
    fn next(&mut self, ended: bool) -> Option<Line<'_>> {
        loop {
            let newline = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]);
            let (from, until) = match newline {
                Some(step) => (self.start, self.searched + step),
                None if ended && self.start < self.end => (self.start, self.end),
                None => return self.unfinished(),
            };
            self.start = (until + 1).min(self.end);
            self.searched = self.start;
            if std::mem::take(&mut self.skipping) {
                // The rest of a line that was refused already.
                continue;
            }
            if until - from > MAX_LINE {
                return Some(Line::TooLong);
            }
            return self.buffer.get(from..until).map(Line::Whole);
        }
    }

    /// There is no newline yet: a line that is too long already is refused and forgotten.
    fn unfinished(&mut self) -> Option<Line<'_>> {
        self.searched = self.end;
        let too_long = self.end - self.start > MAX_LINE;
        if too_long || self.skipping {
            self.start = self.end;
        }
        if too_long && !std::mem::replace(&mut self.skipping, true) {
            // The room of the long line is given back.
            self.buffer = Vec::new();
            (self.start, self.searched, self.end) = (0, 0, 0);
            return Some(Line::TooLong);
        }
        None
    }
}

impl<S: Server> Link<S> {
    /// Takes one line; what can be answered at once is appended to `answers`.
    fn take(
        self: &Arc<Self>,
        line: &[u8],
        answers: &mut Vec<u8>,
        handle: &Handle,
    ) -> ControlFlow<()> {
        match read(line, &Facts::Stdio) {
            Inbound::Nothing => {}
            Inbound::Cancel { id } => self.cancel(id),
            Inbound::Refused { id, era, fault } => {
                return self.refuse(id, era, fault, answers, handle);
            }
            Inbound::Asked { id, era, .. } if self.is_in_flight(id) => {
                return self.refuse(id, era, id_in_flight(), answers, handle);
            }
            Inbound::Asked {
                id,
                era,
                ask: Ask::Call(called),
            } => return self.call(id, era, called, answers, handle),
            Inbound::Asked { id, era, ask } => {
                self.remember(&ask);
                put(answers, id, era, &self.listing.answer(&ask, era));
            }
        }
        ControlFlow::Continue(())
    }

    /// What a client says about itself holds for its connection.
    fn remember(&self, ask: &Ask<'_>) {
        if let Ask::Initialize {
            client_name,
            client_version,
            ..
        } = ask
        {
            let mut client = locked(&self.client);
            client.name = client_name.as_deref().map(Into::into);
            client.version = client_version.as_deref().map(Into::into);
        }
    }

    fn refuse(
        self: &Arc<Self>,
        id: &str,
        era: Era,
        fault: Fault<Wire>,
        answers: &mut Vec<u8>,
        handle: &Handle,
    ) -> ControlFlow<()> {
        let Some(place) = self.place_for_refusal(handle) else {
            return ControlFlow::Break(());
        };
        match self.desk.begin_refusal(fault) {
            Ok(answer) => put(answers, id, era, &answer),
            Err(waiting) => {
                let (link, own) = (Arc::clone(self), id.to_owned());
                waiting.deliver(move |answer| async move {
                    link.send_late(&own, era, &answer).await;
                    drop(place);
                });
            }
        }
        ControlFlow::Continue(())
    }

    fn call(
        self: &Arc<Self>,
        id: &str,
        era: Era,
        called: Called<'_>,
        answers: &mut Vec<u8>,
        handle: &Handle,
    ) -> ControlFlow<()> {
        let place = match self.place_for_call(answers, handle) {
            Place::Taken(place) => place,
            Place::Ended => return ControlFlow::Break(()),
            Place::Full => {
                let full = Wire::adopt(Refusal::Limited { after: BUSY });
                return self.refuse(id, era, full, answers, handle);
            }
        };
        let cancel = CancellationToken::new();
        let reports = called.progress.is_some();
        let call = self.made(id, era, called);
        match self.desk.begin(call, cancel.clone()) {
            Ok(answer) if reports => {
                // Behind its progress, which takes the other way out.
                let mut line = Vec::new();
                put(&mut line, id, era, &answer);
                let _ = self.late.blocking_send(Late::Line(line));
            }
            Ok(answer) => put(answers, id, era, &answer),
            Err(waiting) => self.fly(id.to_owned(), era, waiting, cancel, place),
        }
        ControlFlow::Continue(())
    }

    /// Lets a call wait. Only now it is in flight: until here this thread has read no further line, so
    /// nobody can have cancelled it or taken its id.
    fn fly(
        self: &Arc<Self>,
        id: String,
        era: Era,
        waiting: Waiting,
        cancel: CancellationToken,
        place: OwnedSemaphorePermit,
    ) {
        locked(&self.flights).insert(id_key(&id).into_owned(), cancel.clone());
        let link = Arc::clone(self);
        waiting.deliver(move |answer| async move {
            if link.land(&id, &cancel) {
                link.send_late(&id, era, &answer).await;
            }
            drop(place);
        });
    }

    /// A place for a call. Calls that took all of them and do not end must not keep the client from
    /// cancelling one, nor the end of the input from being seen: after a while further ones are
    /// refused. Where it is the client that does not read, it is waited for.
    fn place_for_call(&self, answers: &mut Vec<u8>, handle: &Handle) -> Place {
        if let Ok(place) = Arc::clone(&self.waiting).try_acquire_owned() {
            self.stuck.store(false, Ordering::Relaxed);
            return Place::Taken(place);
        }
        // What is ready must not wait with this thread.
        if write_out(&self.output, answers).is_err() {
            return Place::Ended;
        }
        answers.clear();
        let is_read = || self.late.capacity() > 0;
        handle.block_on(async {
            loop {
                let patience = match self.stuck.load(Ordering::Relaxed) && is_read() {
                    true => Duration::ZERO,
                    false => PATIENCE,
                };
                tokio::select! {
                    biased;
                    () = self.stop.cancelled() => return Place::Ended,
                    place = Arc::clone(&self.waiting).acquire_owned() => {
                        return place.map_or(Place::Ended, Place::Taken);
                    }
                    () = tokio::time::sleep(patience) => {}
                }
                if is_read() {
                    self.stuck.store(true, Ordering::Relaxed);
                    return Place::Full;
                }
            }
        })
    }

    /// A place for a refusal; nothing where the connection ends before there is one.
    fn place_for_refusal(&self, handle: &Handle) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.refusing).try_acquire_owned() {
            return Some(place);
        }
        handle.block_on(async {
            tokio::select! {
                place = Arc::clone(&self.refusing).acquire_owned() => place.ok(),
                () = self.stop.cancelled() => None,
            }
        })
    }

    fn made(self: &Arc<Self>, id: &str, era: Era, called: Called<'_>) -> Call {
        let mut client = match called.client_name {
            None => locked(&self.client).clone(),
            name => Client {
                name: name.map(Into::into),
                version: called.client_version.map(Into::into),
                capabilities: None,
            },
        };
        client.capabilities = called.capabilities.map(Into::into);
        let progress = match called.progress.and_then(raw) {
            None => Progress::default(),
            Some(token) => Progress::new(token, LateProgress(self.late.clone())),
        };
        Call {
            name: called.name.into_owned(),
            arguments: called.arguments.map(Into::into),
            era,
            id: id.to_owned(),
            peer: Peer {
                may_write: true,
                ..Peer::default()
            },
            client,
            progress,
        }
    }

    fn is_in_flight(&self, id: &str) -> bool {
        locked(&self.flights).contains_key(id_key(id).as_ref())
    }

    /// A call that is no longer wanted gives its id back at once, however long its work goes on.
    fn cancel(&self, id: &str) {
        let mut flights = locked(&self.flights);
        if let Some(cancel) = flights.remove(id_key(id).as_ref()) {
            // Under the lock: whoever lands sees both or neither.
            cancel.cancel();
        }
    }

    /// The end of a call; says whether its answer is still wanted. The id of a cancelled call may
    /// belong to another one already.
    fn land(&self, id: &str, cancel: &CancellationToken) -> bool {
        let mut flights = locked(&self.flights);
        if cancel.is_cancelled() {
            return false;
        }
        flights.remove(id_key(id).as_ref());
        true
    }

    async fn send_late(&self, id: &str, era: Era, answer: &Answer) {
        let mut line = Vec::new();
        put(&mut line, id, era, answer);
        // A queue that is gone belongs to a connection that has ended.
        let _ = self.late.send(Late::Line(line)).await;
    }
}

/// Progress of a call on this connection; dropped while the client does not read.
struct LateProgress(mpsc::Sender<Late>);

impl ProgressSink for LateProgress {
    fn report(&self, params: String) {
        let mut line = Vec::new();
        write_notification(&mut line, "notifications/progress", &params);
        line.push(b'\n');
        // Progress may be dropped; answers may not.
        let _ = self.0.try_send(Late::Line(line));
    }
}

fn put(answers: &mut Vec<u8>, id: &str, era: Era, answer: &Answer) {
    write(answers, id, era, answer);
    answers.push(b'\n');
}

/// A scanned text as a raw value of its own.
pub(crate) fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}
