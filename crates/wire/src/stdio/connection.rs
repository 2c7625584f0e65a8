//! One connection: handles each line, and keeps the calls in flight and their limit.

use super::line_reader::{InputLine, LineReader};
use super::output::{
    Output, QueuedLine, QueuedProgress, WriteProgress, append_answer, lock, write_out,
};
use super::{CHUNK, MAX_WAITING, PATIENCE};
use crate::read::{
    ClientRequest, Inbound, ToolCall, id_in_flight, id_key, raw_value, read, too_large,
};
use crate::revision::MessageSource;
use crate::server_listing::ServerListing;
use candor_fault::dialects::Wire;
use candor_fault::{Answer, Dialect, Fault, Refusal};
use candor_street::{
    Call, CancellationToken, ClientInfo, Dispatcher, Era, HeldUntilWritten, Peer, PendingCall,
    Progress, Server,
};
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore, mpsc};

/// The wait that a client is asked for if the server is at capacity.
const BUSY: Duration = Duration::from_secs(1);

const NO_ID: &str = "null";

pub(super) struct StdioConnection<S: Server> {
    output: Output,
    dispatcher: Arc<Dispatcher<S>>,
    listing: ServerListing,
    pub(super) queue: mpsc::Sender<QueuedLine>,
    pub(super) progress: Arc<WriteProgress>,
    waiting: Arc<Semaphore>,
    /// True if the last wait for a slot failed and no slot has been free since.
    stuck: AtomicBool,
    /// Refusals that wait for their record; they do not wait for calls.
    refusing: Arc<Semaphore>,
    in_flight: Mutex<HashMap<String, CancellationToken>>,
    client: Mutex<ClientInfo>,
    /// Held while lines that were read together are handled.
    pub(super) turn: AsyncMutex<()>,
    stop: CancellationToken,
}

/// The result of waiting for a slot.
enum CallSlot {
    Taken(OwnedSemaphorePermit),
    /// All slots have been taken for a long time.
    Full,
    /// The connection ends.
    Ended,
}

/// Reads until the end of the input. Answers that are ready are written when no complete line is left.
pub(super) fn read_lines<S: Server>(
    connection: &Arc<StdioConnection<S>>,
    mut input: impl Read,
    handle: &Handle,
) -> io::Result<()> {
    let _inside = handle.enter();
    let mut lines = LineReader::default();
    let mut answers = Vec::with_capacity(CHUNK);
    loop {
        let end = lines.fill(&mut input)? == 0;
        let turn = connection.turn.blocking_lock();
        while let Some(line) = lines.next(end) {
            let flow = match line {
                InputLine::Whole(bytes) => connection.handle_line(bytes, &mut answers, handle),
                InputLine::TooLong => connection.refuse(
                    NO_ID,
                    Era::Handshake,
                    too_large("the line is too long"),
                    &mut answers,
                    handle,
                ),
            };
            if flow.is_break() || answers.len() >= CHUNK {
                write_out(&connection.output, &answers)?;
                answers.clear();
            }
            if flow.is_break() {
                return Ok(());
            }
        }
        if !answers.is_empty() {
            write_out(&connection.output, &answers)?;
            answers.clear();
        }
        drop(turn);
        if end || connection.stop.is_cancelled() {
            return Ok(());
        }
    }
}

impl<S: Server> StdioConnection<S> {
    /// A connection that writes to `output`, and queues the answers of waiting calls in `queue`.
    pub(super) fn new(
        dispatcher: Arc<Dispatcher<S>>,
        output: Output,
        queue: mpsc::Sender<QueuedLine>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(StdioConnection {
            listing: ServerListing::new(&dispatcher),
            output,
            dispatcher,
            queue,
            progress: Arc::default(),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            stuck: AtomicBool::new(false),
            refusing: Arc::new(Semaphore::new(MAX_WAITING)),
            in_flight: Mutex::new(HashMap::new()),
            client: Mutex::new(ClientInfo::default()),
            turn: AsyncMutex::new(()),
            stop,
        })
    }

    /// Handles one line. Appends its answer to `answers` if the request need not wait.
    fn handle_line(
        self: &Arc<Self>,
        line: &[u8],
        answers: &mut Vec<u8>,
        handle: &Handle,
    ) -> ControlFlow<()> {
        match read(line, &MessageSource::Stdio, self.listing.offered()) {
            Inbound::Nothing => {}
            Inbound::Cancel { id } => self.cancel(id),
            Inbound::Refused { id, era, fault } => {
                return self.refuse(id, era, fault, answers, handle);
            }
            Inbound::Request { id, era, .. } if self.is_in_flight(id) => {
                return self.refuse(id, era, id_in_flight(), answers, handle);
            }
            Inbound::Request {
                id,
                era,
                request: ClientRequest::Call(called),
            } => return self.call(id, era, called, answers, handle),
            Inbound::Request { id, era, request } => {
                self.remember_client(&request);
                let answer = self.listing.answer(&request, &peer(), era);
                append_answer(answers, id, era, &answer);
            }
        }
        ControlFlow::Continue(())
    }

    /// Stores the client's description of itself for its connection.
    fn remember_client(&self, request: &ClientRequest<'_>) {
        if let ClientRequest::Initialize {
            client_name,
            client_version,
            ..
        } = request
        {
            let mut client = lock(&self.client);
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
        let Some(slot) = self.acquire_refusal_slot(handle) else {
            return ControlFlow::Break(());
        };
        match self.dispatcher.begin_refusal(fault) {
            Ok(answer) => append_answer(answers, id, era, &answer),
            Err(waiting) => {
                let (connection, id) = (Arc::clone(self), id.to_owned());
                waiting.deliver(move |answer| async move {
                    let held = HeldUntilWritten::default();
                    connection.queue_answer(&id, era, answer, held).await;
                    drop(slot);
                });
            }
        }
        ControlFlow::Continue(())
    }

    fn call(
        self: &Arc<Self>,
        id: &str,
        era: Era,
        called: ToolCall<'_>,
        answers: &mut Vec<u8>,
        handle: &Handle,
    ) -> ControlFlow<()> {
        let slot = match self.acquire_call_slot(answers, handle) {
            CallSlot::Taken(slot) => slot,
            CallSlot::Ended => return ControlFlow::Break(()),
            CallSlot::Full => {
                let full = Wire::adopt(Refusal::Limited { after: BUSY });
                return self.refuse(id, era, full, answers, handle);
            }
        };
        let cancel = CancellationToken::new();
        let reports = called.progress.is_some();
        let call = Arc::new(self.make_call(id, era, called));
        match self.dispatcher.begin(Arc::clone(&call), cancel.clone()) {
            Ok(answer) if reports => {
                // The answer must follow its progress, which is in the queue.
                let mut line = Vec::new();
                append_answer(&mut line, id, era, &answer);
                let line = QueuedLine::Line(line, call.take_held());
                let _ = self.queue.blocking_send(line);
            }
            Ok(answer) => append_answer(answers, id, era, &answer),
            Err(waiting) => self.start_waiting(call, waiting, cancel, slot),
        }
        ControlFlow::Continue(())
    }

    /// Continues a call in the background. The call is in flight only from here on: this thread has
    /// read no further line yet, so no line can have cancelled the call or used its id.
    fn start_waiting(
        self: &Arc<Self>,
        call: Arc<Call>,
        waiting: PendingCall,
        cancel: CancellationToken,
        slot: OwnedSemaphorePermit,
    ) {
        lock(&self.in_flight).insert(id_key(&call.id).into_owned(), cancel.clone());
        let connection = Arc::clone(self);
        waiting.deliver(move |answer| async move {
            let (id, era, held) = (call.id.clone(), call.era, call.take_held());
            // Its arguments may be large, and the answer may wait for long.
            drop(call);
            if connection.finish(&id, &cancel) {
                connection.queue_answer(&id, era, answer, held).await;
            }
            drop(slot);
        });
    }

    /// Waits for a slot for a call. Calls that hold all slots and do not end must not keep this thread
    /// from reading a cancellation or the end of the input, so after a while further calls are refused.
    /// If the client does not read its answers, this waits until it does.
    fn acquire_call_slot(&self, answers: &mut Vec<u8>, handle: &Handle) -> CallSlot {
        if let Ok(slot) = Arc::clone(&self.waiting).try_acquire_owned() {
            self.stuck.store(false, Ordering::Relaxed);
            return CallSlot::Taken(slot);
        }
        // Answers that are ready are sent before this thread waits.
        if write_out(&self.output, answers).is_err() {
            return CallSlot::Ended;
        }
        answers.clear();
        let has_space = || self.queue.capacity() > 0;
        handle.block_on(async {
            loop {
                let ended = self.progress.ended();
                let patience = match self.stuck.load(Ordering::Relaxed) && has_space() {
                    true => Duration::ZERO,
                    false => PATIENCE,
                };
                tokio::select! {
                    biased;
                    () = self.stop.cancelled() => return CallSlot::Ended,
                    slot = Arc::clone(&self.waiting).acquire_owned() => {
                        return slot.map_or(CallSlot::Ended, CallSlot::Taken);
                    }
                    () = tokio::time::sleep(patience) => {}
                }
                let is_read = has_space() && !self.progress.is_stuck_since(ended);
                self.stuck.store(is_read, Ordering::Relaxed);
                if is_read {
                    return CallSlot::Full;
                }
            }
        })
    }

    /// Returns a slot for a refusal; `None` if the connection ends first.
    fn acquire_refusal_slot(&self, handle: &Handle) -> Option<OwnedSemaphorePermit> {
        if let Ok(slot) = Arc::clone(&self.refusing).try_acquire_owned() {
            return Some(slot);
        }
        handle.block_on(async {
            tokio::select! {
                slot = Arc::clone(&self.refusing).acquire_owned() => slot.ok(),
                () = self.stop.cancelled() => None,
            }
        })
    }

    fn make_call(self: &Arc<Self>, id: &str, era: Era, called: ToolCall<'_>) -> Call {
        let mut client = match called.client_name {
            None => lock(&self.client).clone(),
            name => ClientInfo {
                name: name.map(Into::into),
                version: called.client_version.map(Into::into),
                capabilities: None,
            },
        };
        client.capabilities = called.capabilities.map(Into::into);
        let progress = match called.progress.and_then(raw_value) {
            None => Progress::default(),
            Some(token) => Progress::new(token, QueuedProgress(self.queue.clone())),
        };
        Call {
            target: called.target,
            name: called.name.into_owned(),
            arguments: called.arguments,
            era,
            id: id.to_owned(),
            peer: peer(),
            client,
            progress,
            held: Default::default(),
        }
    }

    fn is_in_flight(&self, id: &str) -> bool {
        lock(&self.in_flight).contains_key(id_key(id).as_ref())
    }

    /// Cancels a call. Its id can be used again at once, even if its work continues.
    fn cancel(&self, id: &str) {
        let mut in_flight = lock(&self.in_flight);
        if let Some(cancel) = in_flight.remove(id_key(id).as_ref()) {
            // Under the lock, so that `finish` sees both changes or neither.
            cancel.cancel();
        }
    }

    /// Ends a call. Returns false if the call was cancelled: its id may belong to another call by now.
    fn finish(&self, id: &str, cancel: &CancellationToken) -> bool {
        let mut in_flight = lock(&self.in_flight);
        if cancel.is_cancelled() {
            return false;
        }
        in_flight.remove(id_key(id).as_ref());
        true
    }

    async fn queue_answer(&self, id: &str, era: Era, answer: Answer, held: HeldUntilWritten) {
        let mut line = Vec::new();
        append_answer(&mut line, id, era, &answer);
        // It may be large, and the queue may be full for a long time.
        drop(answer);
        // Sending fails only if the connection has ended.
        let _ = self.queue.send(QueuedLine::Line(line, held)).await;
    }
}
/// Returns the one caller of this connection, which its owner has started.
fn peer() -> Peer {
    Peer {
        may_write: true,
        ..Peer::default()
    }
}
