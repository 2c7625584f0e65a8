//! One server at one path: answers POST requests.

use super::admission::Admission;
use super::body::{BUSY, BodyPermit, BufferedBody};
use super::connection_table::ConnectionEntry;
use super::events::{Events, HangupSignal};
use super::request_limits::{RequestLimits, WorkPermit};
use super::respond::{self, HttpResponse};
use crate::header_arguments::{HeaderLookup, check_header_arguments};
use crate::read::{ClientRequest, Inbound, ToolCall, raw_value, read};
use crate::revision::{Headers, MessageSource};
use crate::server_listing::ServerListing;
use crate::write::write_notification;
use bytes::Bytes;
use candor_fault::dialects::Wire;
use candor_fault::{Answer, Class, Dialect, Fault, Refusal};
use candor_json::{IndexedText, JsonRef};
use candor_street::{
    Call, ClientInfo, Dispatcher, Era, HeldUntilWritten, MetricsHub, Peer, PendingCall, Progress,
    ProgressSink, Server, Tool,
};
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderName};
use hyper::{HeaderMap, Method, Request};
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The most progress events that wait for a slow reader; further ones are dropped.
pub const PROGRESS_QUEUE: usize = 64;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");

/// One server over HTTP.
#[derive(Debug)]
pub struct Endpoint<S: Server> {
    dispatcher: Arc<Dispatcher<S>>,
    listing: ServerListing,
    admission: Arc<Admission>,
    limits: RequestLimits,
}

impl<S: Server> Endpoint<S> {
    /// Creates an endpoint for callers that `admission` admits.
    pub fn new(dispatcher: Arc<Dispatcher<S>>, admission: Arc<Admission>) -> Arc<Self> {
        Arc::new(Endpoint {
            listing: ServerListing::new(&dispatcher),
            dispatcher,
            admission,
            limits: RequestLimits::new(MetricsHub::default()),
        })
    }

    pub(super) fn dispatcher(&self) -> &Arc<Dispatcher<S>> {
        &self.dispatcher
    }

    /// Shares the limits of requests: one process has one budget of bytes and of work.
    pub(super) fn with_limits(self: Arc<Self>, limits: &RequestLimits) -> Arc<Self> {
        match Arc::try_unwrap(self) {
            Ok(endpoint) => Arc::new(Endpoint {
                limits: limits.clone(),
                ..endpoint
            }),
            Err(shared) => shared,
        }
    }

    /// Answers one request. Admission is decided before anything waits, so that the future keeps less.
    pub(super) fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        entry: Arc<ConnectionEntry>,
    ) -> BoxFuture<'static, HttpResponse> {
        let (parts, body) = request.into_parts();
        match self.check_admission(&parts.method, &parts.headers, &entry) {
            Ok(peer) => Box::pin(self.answer_admitted(parts.headers, body, peer, entry)),
            Err(fault) => {
                let answer = self.refuse_unread(&fault);
                Box::pin(async move { answer })
            }
        }
    }

    async fn answer_admitted(
        self: Arc<Self>,
        headers: HeaderMap,
        body: Incoming,
        peer: Peer,
        entry: Arc<ConnectionEntry>,
    ) -> HttpResponse {
        let read = self.limits.body_budget.read(&headers, body, &entry).await;
        let BufferedBody { bytes, permit } = match read {
            Ok(body) => body,
            // The owner of a server that is full finds a line in its log.
            Err(fault) if fault.class() == Class::Server => {
                return Box::pin(self.refuse("null", Era::Handshake, fault)).await;
            }
            Err(fault) => return self.refuse_unread(&fault),
        };
        let work = match self.limits.try_begin() {
            Some(work) => Some(work),
            None => Box::pin(self.limits.begin()).await,
        };
        let action = self.read_action(&bytes, &headers, peer, work.is_some());
        // The call has copied what it needs of the body.
        drop((bytes, headers));
        let permit = RequestPermit {
            _body: permit,
            _work: work,
        };
        match action {
            RequestAction::Answered(response) => response,
            RequestAction::Refused { id, era, fault } => {
                Box::pin(self.refuse(&id, era, fault)).await
            }
            RequestAction::ToolCall(call) => self.answer_as_json(call, permit, entry).await,
            // Boxed because this future is large and rarely needed.
            RequestAction::Reporting(call, progress) => {
                Box::pin(self.answer_with_progress(call, permit, progress, entry)).await
            }
        }
    }

    fn check_admission(
        &self,
        method: &Method,
        headers: &HeaderMap,
        entry: &ConnectionEntry,
    ) -> Result<Peer, Fault<Wire>> {
        self.admission.check_host_and_origin(headers)?;
        let peer = self.admission.check_token(headers, entry.peer().ip())?;
        if peer.credential.is_some() {
            entry.note_token();
        }
        if method == Method::POST {
            return Ok(peer);
        }
        Err(Wire::invalid_request("only POST is served here")
            .with_facts(|facts| facts.status = Some(405)))
    }

    /// Refuses a message. The refusal is recorded and logged.
    async fn refuse(&self, id: &str, era: Era, fault: Fault<Wire>) -> HttpResponse {
        let answer = match self.dispatcher.begin_refusal(fault) {
            Ok(answer) => answer,
            Err(waiting) => {
                let receiver = deliver_to_channel(waiting, RequestPermit::default(), None);
                receive_answer(receiver).await.answer
            }
        };
        respond::json(id, era, &answer)
    }

    /// Refuses a request whose message was not read. Clients open with such requests, so the refusal is
    /// counted, and neither recorded nor logged.
    fn refuse_unread(&self, fault: &Fault<Wire>) -> HttpResponse {
        let answer = self.dispatcher.encode_refusal(fault);
        let response = respond::json("null", Era::Handshake, &answer);
        self.limits.count_refusal(response.status());
        response
    }

    /// The action that a message requests. Every request is refused if the server has no capacity for it.
    fn read_action(
        &self,
        bytes: &[u8],
        headers: &HeaderMap,
        peer: Peer,
        has_capacity: bool,
    ) -> RequestAction {
        let (version, method, name) = (
            header_value(headers, &PROTOCOL_VERSION),
            header_value(headers, &MCP_METHOD),
            header_value(headers, &MCP_NAME),
        );
        let source = MessageSource::Http(Headers {
            version: version.as_deref(),
            method: method.as_deref(),
            name: name.as_deref(),
        });
        let (id, era, called) = match read(bytes, &source, self.listing.offered()) {
            Inbound::Nothing | Inbound::Cancel { .. } => {
                return RequestAction::Answered(respond::accepted());
            }
            Inbound::Refused { id, era, fault } => {
                let id = id.to_owned();
                return RequestAction::Refused { id, era, fault };
            }
            Inbound::Request { id, era, .. } if !has_capacity => {
                return RequestAction::Refused {
                    id: id.to_owned(),
                    era,
                    fault: at_capacity(),
                };
            }
            Inbound::Request {
                id,
                era,
                request: ClientRequest::Call(called),
            } => (id, era, called),
            Inbound::Request { id, era, request } => {
                let answer = self.listing.answer(&request, &peer, era);
                return RequestAction::Answered(respond::json(id, era, &answer));
            }
        };
        if let Err(fault) = self.check_header_arguments(era, &called, headers) {
            let id = id.to_owned();
            return RequestAction::Refused { id, era, fault };
        }
        if called.progress.is_none() || !accepts_events(headers) {
            return RequestAction::ToolCall(make_call(id, era, called, peer, None));
        }
        let (sink, progress) = mpsc::channel(PROGRESS_QUEUE);
        RequestAction::Reporting(make_call(id, era, called, peer, Some(sink)), progress)
    }

    /// Checks the headers that repeat arguments, in the stateless era. An unknown tool has none.
    fn check_header_arguments(
        &self,
        era: Era,
        called: &ToolCall<'_>,
        headers: &HeaderMap,
    ) -> Result<(), Fault<Wire>> {
        let tool = self.dispatcher.server().tools().get(&called.name);
        let marked = tool.map(Tool::header_arguments).unwrap_or_default();
        if era == Era::Handshake || marked.is_empty() {
            return Ok(());
        }
        let arguments = called.arguments.as_ref().map(IndexedText::root);
        let arguments = arguments.unwrap_or(JsonRef::EMPTY_OBJECT);
        check_header_arguments(marked, arguments, |name| {
            let mut all = headers.get_all(name).iter();
            match (all.next(), all.next()) {
                (None, _) => HeaderLookup::Absent,
                (Some(value), None) => HeaderLookup::Once(value.as_bytes()),
                (Some(_), Some(_)) => HeaderLookup::Repeated,
            }
        })
    }

    fn is_writing(&self, call: &Call) -> bool {
        let tool = self.dispatcher.server().tools().get(&call.name);
        tool.is_some_and(Tool::writes)
    }

    async fn answer_as_json(
        &self,
        call: Arc<Call>,
        permit: RequestPermit,
        entry: Arc<ConnectionEntry>,
    ) -> HttpResponse {
        let mut hangup = HangupSignal::new(call.era, entry);
        let begun = self
            .dispatcher
            .begin(Arc::clone(&call), hangup.token.clone());
        let ready = match begun {
            Ok(answer) => ReadyAnswer::new(answer, Some(&call)),
            Err(waiting) => {
                hangup.set_writes(self.is_writing(&call));
                let receiver = deliver_to_channel(waiting, permit, Some(Arc::clone(&call)));
                hangup.watch(receive_answer(receiver)).await
            }
        };
        hangup.disarm();
        ready.respond(&call.id, call.era)
    }

    /// Answers a call that may report progress: with events if progress comes first, else with JSON.
    async fn answer_with_progress(
        &self,
        call: Arc<Call>,
        permit: RequestPermit,
        mut progress: mpsc::Receiver<Bytes>,
        entry: Arc<ConnectionEntry>,
    ) -> HttpResponse {
        let (id, era) = (call.id.clone(), call.era);
        let mut hangup = HangupSignal::new(era, entry);
        hangup.set_writes(self.is_writing(&call));
        let begun = self
            .dispatcher
            .begin(Arc::clone(&call), hangup.token.clone());
        let ready = match begun {
            Ok(answer) => Some(ReadyAnswer::new(answer, Some(&call))),
            Err(waiting) => {
                // Progress ends when the call is dropped.
                let mut receiver = deliver_to_channel(waiting, permit, Some(call));
                let first = hangup.watch(async {
                    tokio::select! {
                        biased;
                        Some(first) = progress.recv() => Ok(first),
                        ready = &mut receiver => Err(ready.ok()),
                    }
                });
                match first.await {
                    Ok(first) => {
                        return respond::events(Events::stream(
                            Some(first),
                            progress,
                            Ok(receiver),
                            hangup,
                            id,
                            era,
                        ));
                    }
                    Err(ready) => ready,
                }
            }
        };
        let ready = ready.unwrap_or_else(lost_answer);
        match progress.try_recv() {
            Ok(first) => respond::events(Events::stream(
                Some(first),
                progress,
                Err(ready),
                hangup,
                id,
                era,
            )),
            Err(_) => {
                hangup.disarm();
                ready.respond(&id, era)
            }
        }
    }
}

/// The parts of the limits that one request takes, given back when this is dropped.
#[derive(Debug, Default)]
struct RequestPermit {
    _body: BodyPermit,
    _work: Option<WorkPermit>,
}

fn at_capacity() -> Fault<Wire> {
    Wire::adopt(Refusal::Limited { after: BUSY })
}

/// The action that a message requests.
enum RequestAction {
    /// The message is answered already.
    Answered(HttpResponse),
    /// The message is refused.
    Refused {
        id: String,
        era: Era,
        fault: Fault<Wire>,
    },
    ToolCall(Arc<Call>),
    /// A call whose client wants progress.
    Reporting(Arc<Call>, mpsc::Receiver<Bytes>),
}

/// An answer, and what the server holds until it is written.
pub(super) struct ReadyAnswer {
    pub(super) answer: Answer,
    pub(super) held: HeldUntilWritten,
}

impl ReadyAnswer {
    fn new(answer: Answer, call: Option<&Arc<Call>>) -> Self {
        let held = call.map(|call| call.take_held()).unwrap_or_default();
        ReadyAnswer { answer, held }
    }

    fn respond(self, id: &str, era: Era) -> HttpResponse {
        respond::json_holding(id, era, &self.answer, self.held)
    }
}

/// Continues a call in the background and returns the channel of its answer. The permit is held until the
/// answer is ready, even if the connection is closed.
fn deliver_to_channel(
    waiting: PendingCall,
    permit: RequestPermit,
    call: Option<Arc<Call>>,
) -> oneshot::Receiver<ReadyAnswer> {
    let (sender, receiver) = oneshot::channel();
    waiting.deliver(|answer| async move {
        let ready = ReadyAnswer::new(answer, call.as_ref());
        drop((permit, call));
        // Sending fails if the connection is closed; no client needs the answer then.
        drop(sender.send(ready));
    });
    receiver
}

pub(super) async fn receive_answer(receiver: oneshot::Receiver<ReadyAnswer>) -> ReadyAnswer {
    receiver.await.unwrap_or_else(|_| lost_answer())
}

/// The answer of a call whose task was dropped because the process ends.
fn lost_answer() -> ReadyAnswer {
    use candor_fault::{CallFacts, Effect, Form, Timestamp};
    let fault = Wire::adopt(Refusal::Cancelled {
        effect: Effect::Unknown,
    });
    let no_call = CallFacts {
        tool: None,
        form: Form::Protocol,
        receipt: None,
    };
    let answer = Wire::encode_failure(&fault, &no_call, Timestamp::UNIX_EPOCH);
    ReadyAnswer::new(answer, None)
}

fn make_call(
    id: &str,
    era: Era,
    called: ToolCall<'_>,
    peer: Peer,
    sink: Option<mpsc::Sender<Bytes>>,
) -> Arc<Call> {
    let progress = match (called.progress.and_then(raw_value), sink) {
        (Some(token), Some(sink)) => Progress::new(token, EventProgress(sink)),
        _ => Progress::default(),
    };
    // Shared from the start, because a call is large and its future would contain it twice.
    Arc::new(Call {
        target: called.target,
        name: called.name.into_owned(),
        arguments: called.arguments,
        era,
        id: id.to_owned(),
        peer,
        client: ClientInfo {
            name: called.client_name.map(Into::into),
            version: called.client_version.map(Into::into),
            capabilities: called.capabilities.map(Into::into),
        },
        progress,
        held: Default::default(),
    })
}

/// Sends progress as events. Progress is dropped while the client does not read.
struct EventProgress(mpsc::Sender<Bytes>);

impl ProgressSink for EventProgress {
    fn report(&self, params: String) {
        let mut message = Vec::new();
        write_notification(&mut message, "notifications/progress", &params);
        // Progress may be dropped; answers may not.
        let _ = self.0.try_send(respond::event(&message));
    }
}

/// Returns the value of a header. A header that occurs twice, or that is not text, has a value that
/// matches nothing, and does not count as absent.
fn header_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Cow<'a, str>> {
    let mut all = headers.get_all(name).iter();
    let mut value = String::from_utf8_lossy(all.next()?.as_bytes());
    for more in all {
        value += ", ";
        value += String::from_utf8_lossy(more.as_bytes());
    }
    Some(match value {
        Cow::Borrowed(value) => Cow::Borrowed(value.trim()),
        Cow::Owned(value) => Cow::Owned(value.trim().to_owned()),
    })
}

/// Returns true if the client accepts an event stream; a weight of zero means that it does not.
fn accepts_events(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().any(|accept| {
        let all = accept.to_str().unwrap_or_default().split(',');
        all.map(|kind| kind.split(';').map(str::trim))
            .any(|mut parts| {
                let kind = parts.next().unwrap_or_default();
                kind.eq_ignore_ascii_case("text/event-stream") && !parts.any(is_zero_weight)
            })
    })
}

/// Returns true if a parameter of a media type is `q=0`, however many zeros it has.
fn is_zero_weight(parameter: &str) -> bool {
    parameter
        .split_once('=')
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .and_then(|(_, weight)| weight.trim().parse::<f32>().ok())
        .is_some_and(|weight| weight == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_beyond_the_queue_is_dropped() {
        let (sink, mut events) = mpsc::channel(PROGRESS_QUEUE);
        let sink = EventProgress(sink);
        for _ in 0..PROGRESS_QUEUE * 2 {
            sink.report("{}".into());
        }
        drop(sink);
        let mut count = 0;
        while events.try_recv().is_ok() {
            count += 1;
        }
        assert_eq!(count, PROGRESS_QUEUE);
    }
}
