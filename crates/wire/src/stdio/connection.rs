//! One connection: what each line asks, what is in flight, and how many may wait.

use super::line_reader::{InputLine, LineReader};
use super::output::{Output, QueuedLine, QueuedProgress, locked, put, write_out};
use super::{CHUNK, MAX_WAITING, PATIENCE};
use crate::read::{ClientRequest, Inbound, ToolCall, id_in_flight, id_key, raw, read, too_large};
use crate::revision::MessageSource;
use crate::server_listing::ServerListing;
use candor_fault::dialects::Wire;
use candor_fault::{Answer, Dialect, Fault, Refusal};
use candor_street::{
    Call, CancellationToken, ClientInfo, Dispatcher, Era, Peer, PendingCall, Progress, Server,
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

/// One connection.
pub(super) struct StdioConnection<S: Server> {
    output: Output,
    desk: Arc<Dispatcher<S>>,
    listing: ServerListing,
    pub(super) late: mpsc::Sender<QueuedLine>,
    waiting: Arc<Semaphore>,
    /// True if waiting for a slot was in vain, and none has been free since.
    stuck: AtomicBool,
    /// Refusals that wait for their record; they do not wait for calls.
    refusing: Arc<Semaphore>,
    flights: Mutex<HashMap<String, CancellationToken>>,
    client: Mutex<ClientInfo>,
    /// Held while lines that were read together are taken and answered.
    pub(super) turn: AsyncMutex<()>,
    stop: CancellationToken,
}

/// The result of waiting for a slot.
enum CallSlot {
    Taken(OwnedSemaphorePermit),
    /// All of them have been taken for long.
    Full,
    /// The connection ends.
    Ended,
}

/// Reads until the end of the input; answers that are ready are written when no whole line is left.
pub(super) fn read_lines<S: Server>(
    link: &Arc<StdioConnection<S>>,
    mut input: impl Read,
    handle: &Handle,
) -> io::Result<()> {
    let _inside = handle.enter();
    let mut lines = LineReader::default();
    let mut answers = Vec::with_capacity(CHUNK);
    loop {
        let end = lines.fill(&mut input)? == 0;
        let turn = link.turn.blocking_lock();
        while let Some(line) = lines.next(end) {
            let flow = match line {
                InputLine::Whole(bytes) => link.take(bytes, &mut answers, handle),
                InputLine::TooLong => link.refuse(
                    NO_ID,
                    Era::Handshake,
                    too_large("the line is too long"),
                    &mut answers,
                    handle,
                ),
            };
            if flow.is_break() || answers.len() >= CHUNK {
                write_out(&link.output, &answers)?;
                answers.clear();
            }
            if flow.is_break() {
                return Ok(());
            }
        }
        if !answers.is_empty() {
            write_out(&link.output, &answers)?;
            answers.clear();
        }
        drop(turn);
        if end || link.stop.is_cancelled() {
            return Ok(());
        }
    }
}

impl<S: Server> StdioConnection<S> {
    /// A connection that writes to `output`, and through `late` what comes late.
    pub(super) fn new(
        desk: Arc<Dispatcher<S>>,
        output: Output,
        late: mpsc::Sender<QueuedLine>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(StdioConnection {
            listing: ServerListing::new(&desk),
            output,
            desk,
            late,
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            stuck: AtomicBool::new(false),
            refusing: Arc::new(Semaphore::new(MAX_WAITING)),
            flights: Mutex::new(HashMap::new()),
            client: Mutex::new(ClientInfo::default()),
            turn: AsyncMutex::new(()),
            stop,
        })
    }

    /// Takes one line; what can be answered at once is appended to `answers`.
    fn take(
        self: &Arc<Self>,
        line: &[u8],
        answers: &mut Vec<u8>,
        handle: &Handle,
    ) -> ControlFlow<()> {
        match read(line, &MessageSource::Stdio) {
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
                ask: ClientRequest::Call(called),
            } => return self.call(id, era, called, answers, handle),
            Inbound::Asked { id, era, ask } => {
                self.remember(&ask);
                put(answers, id, era, &self.listing.answer(&ask, era));
            }
        }
        ControlFlow::Continue(())
    }

    /// Stores the client's description of itself for its connection.
    fn remember(&self, ask: &ClientRequest<'_>) {
        if let ClientRequest::Initialize {
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
        called: ToolCall<'_>,
        answers: &mut Vec<u8>,
        handle: &Handle,
    ) -> ControlFlow<()> {
        let place = match self.place_for_call(answers, handle) {
            CallSlot::Taken(place) => place,
            CallSlot::Ended => return ControlFlow::Break(()),
            CallSlot::Full => {
                let full = Wire::adopt(Refusal::Limited { after: BUSY });
                return self.refuse(id, era, full, answers, handle);
            }
        };
        let cancel = CancellationToken::new();
        let reports = called.progress.is_some();
        let call = self.make_call(id, era, called);
        match self.desk.begin(call, cancel.clone()) {
            Ok(answer) if reports => {
                // Behind its progress, which takes the other way out.
                let mut line = Vec::new();
                put(&mut line, id, era, &answer);
                let _ = self.late.blocking_send(QueuedLine::Line(line));
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
        waiting: PendingCall,
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
    fn place_for_call(&self, answers: &mut Vec<u8>, handle: &Handle) -> CallSlot {
        if let Ok(place) = Arc::clone(&self.waiting).try_acquire_owned() {
            self.stuck.store(false, Ordering::Relaxed);
            return CallSlot::Taken(place);
        }
        // Answers that are ready must not wait with this thread.
        if write_out(&self.output, answers).is_err() {
            return CallSlot::Ended;
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
                    () = self.stop.cancelled() => return CallSlot::Ended,
                    place = Arc::clone(&self.waiting).acquire_owned() => {
                        return place.map_or(CallSlot::Ended, CallSlot::Taken);
                    }
                    () = tokio::time::sleep(patience) => {}
                }
                if is_read() {
                    self.stuck.store(true, Ordering::Relaxed);
                    return CallSlot::Full;
                }
            }
        })
    }

    /// Returns a slot for a refusal; `None` if the connection ends first.
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

    fn make_call(self: &Arc<Self>, id: &str, era: Era, called: ToolCall<'_>) -> Call {
        let mut client = match called.client_name {
            None => locked(&self.client).clone(),
            name => ClientInfo {
                name: name.map(Into::into),
                version: called.client_version.map(Into::into),
                capabilities: None,
            },
        };
        client.capabilities = called.capabilities.map(Into::into);
        let progress = match called.progress.and_then(raw) {
            None => Progress::default(),
            Some(token) => Progress::new(token, QueuedProgress(self.late.clone())),
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
        let _ = self.late.send(QueuedLine::Line(line)).await;
    }
}
