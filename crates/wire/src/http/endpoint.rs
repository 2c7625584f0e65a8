//! One server at one path: what comes in by POST, and what is refused.

use super::admission::Admission;
use super::body::{BodyBudget, BodyPermit, BufferedBody};
use super::events::{Events, HangupSignal};
use super::respond::{self, HttpResponse};
use crate::read::{ClientRequest, Inbound, ToolCall, raw, read};
use crate::revision::{Headers, MessageSource};
use crate::server_listing::ServerListing;
use crate::write::write_notification;
use bytes::Bytes;
use candor_fault::dialects::Wire;
use candor_fault::{Answer, Fault};
use candor_street::{
    Call, ClientInfo, Dispatcher, Era, Peer, PendingCall, Progress, ProgressSink, Server,
};
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderName};
use hyper::{HeaderMap, Method, Request};
use std::borrow::Cow;
use std::net::IpAddr;
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
    desk: Arc<Dispatcher<S>>,
    listing: ServerListing,
    admission: Arc<Admission>,
    room: BodyBudget,
}

impl<S: Server> Endpoint<S> {
    /// A server for those whom `admission` lets in.
    pub fn new(desk: Arc<Dispatcher<S>>, admission: Arc<Admission>) -> Arc<Self> {
        Arc::new(Endpoint {
            listing: ServerListing::new(&desk),
            desk,
            admission,
            room: BodyBudget::default(),
        })
    }

    pub(super) fn desk(&self) -> &Arc<Dispatcher<S>> {
        &self.desk
    }

    /// Takes the room for bodies from another endpoint: one process has one room.
    pub(super) fn sharing(self: Arc<Self>, room: &BodyBudget) -> Arc<Self> {
        match Arc::try_unwrap(self) {
            Ok(own) => Arc::new(Endpoint {
                room: room.clone(),
                ..own
            }),
            Err(shared) => shared,
        }
    }

    /// Answers one request. What is known at once is settled before anything waits: the rest has to
    /// be kept for as long as that.
    pub(super) fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        address: IpAddr,
    ) -> BoxFuture<'static, HttpResponse> {
        let (parts, body) = request.into_parts();
        match self.admitted(&parts.method, &parts.headers, address) {
            Ok(peer) => Box::pin(self.admitted_answer(parts.headers, body, peer)),
            Err(fault) => Box::pin(async move { self.refuse("null", Era::Handshake, fault).await }),
        }
    }

    async fn admitted_answer(
        self: Arc<Self>,
        headers: HeaderMap,
        body: Incoming,
        peer: Peer,
    ) -> HttpResponse {
        let BufferedBody { bytes, share } = match self.room.read(&headers, body).await {
            Ok(held) => held,
            Err(fault) => return Box::pin(self.refuse("null", Era::Handshake, fault)).await,
        };
        let understood = self.understood(&bytes, &headers, peer);
        // The call has copied what it needs of the body; that releases the body's share.
        drop((bytes, headers));
        match understood {
            RequestAction::Answered(response) => response,
            RequestAction::Refused { id, era, fault } => {
                Box::pin(self.refuse(&id, era, fault)).await
            }
            RequestAction::ToolCall(call) => self.plain(call, share).await,
            // Rare, and large: every call would have to have room for it.
            RequestAction::Reporting(call, progress) => {
                Box::pin(self.streamed(call, share, progress)).await
            }
        }
    }

    fn admitted(
        &self,
        method: &Method,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Peer, Fault<Wire>> {
        self.admission.place(headers)?;
        let peer = self.admission.credential(headers, address)?;
        if method == Method::POST {
            return Ok(peer);
        }
        Err(Wire::invalid_request("only POST is served here")
            .with_facts(|facts| facts.status = Some(405)))
    }

    async fn refuse(&self, id: &str, era: Era, fault: Fault<Wire>) -> HttpResponse {
        let answer = match self.desk.begin_refusal(fault) {
            Ok(answer) => answer,
            Err(waiting) => arrived(awaited(waiting, BodyPermit::default())).await,
        };
        respond::json(id, era, &answer)
    }

    /// The action that a message requests.
    fn understood(&self, bytes: &[u8], headers: &HeaderMap, peer: Peer) -> RequestAction {
        let (version, method, name) = (
            whole(headers, &PROTOCOL_VERSION),
            whole(headers, &MCP_METHOD),
            whole(headers, &MCP_NAME),
        );
        let facts = MessageSource::Http(Headers {
            version: version.as_deref(),
            method: method.as_deref(),
            name: name.as_deref(),
        });
        let (id, era, called) = match read(bytes, &facts) {
            Inbound::Nothing | Inbound::Cancel { .. } => {
                return RequestAction::Answered(respond::accepted());
            }
            Inbound::Refused { id, era, fault } => {
                let id = id.to_owned();
                return RequestAction::Refused { id, era, fault };
            }
            Inbound::Asked {
                id,
                era,
                ask: ClientRequest::Call(called),
            } => (id, era, called),
            Inbound::Asked { id, era, ask } => {
                let answer = self.listing.answer(&ask, era);
                return RequestAction::Answered(respond::json(id, era, &answer));
            }
        };
        if called.progress.is_none() || !takes_events(headers) {
            return RequestAction::ToolCall(make_call(id, era, called, peer, None));
        }
        let (sink, progress) = mpsc::channel(PROGRESS_QUEUE);
        RequestAction::Reporting(make_call(id, era, called, peer, Some(sink)), progress)
    }

    async fn plain(&self, call: Arc<Call>, share: BodyPermit) -> HttpResponse {
        let hangup = HangupSignal::new(call.era);
        let answer = match self.desk.begin(Arc::clone(&call), hangup.token.clone()) {
            Ok(answer) => answer,
            Err(waiting) => arrived(awaited(waiting, share)).await,
        };
        hangup.disarm();
        respond::json(&call.id, call.era, &answer)
    }

    /// A call that sends progress: the first thing that comes decides between JSON and events.
    async fn streamed(
        &self,
        call: Arc<Call>,
        share: BodyPermit,
        mut progress: mpsc::Receiver<Bytes>,
    ) -> HttpResponse {
        let (id, era) = (call.id.clone(), call.era);
        let hangup = HangupSignal::new(era);
        let answer = match self.desk.begin(call, hangup.token.clone()) {
            Ok(answer) => Some(answer),
            Err(waiting) => {
                let mut receiver = awaited(waiting, share);
                tokio::select! {
                    biased;
                    Some(first) = progress.recv() => {
                        return respond::events(Events::stream(Some(first), progress, Ok(receiver), hangup, id, era));
                    }
                    answer = &mut receiver => answer.ok(),
                }
            }
        };
        let answer = answer.unwrap_or_else(lost);
        match progress.try_recv() {
            Ok(first) => respond::events(Events::stream(
                Some(first),
                progress,
                Err(answer),
                hangup,
                id,
                era,
            )),
            Err(_) => {
                hangup.disarm();
                respond::json(&id, era, &answer)
            }
        }
    }
}

/// The action that a message requests.
enum RequestAction {
    /// It needs no waiting.
    Answered(HttpResponse),
    /// It is none that can be served.
    Refused {
        id: String,
        era: Era,
        fault: Fault<Wire>,
    },
    /// A call.
    ToolCall(Arc<Call>),
    /// A call whose client wants progress.
    Reporting(Arc<Call>, mpsc::Receiver<Bytes>),
}

/// Lets a call go on; its answer will come here. Until then the request's share of the room is taken,
/// even if the connection is gone.
fn awaited(waiting: PendingCall, share: BodyPermit) -> oneshot::Receiver<Answer> {
    let (sender, receiver) = oneshot::channel();
    waiting.deliver(|answer| async move {
        drop(share);
        // The receiver is gone if the connection is: then no client wants the answer.
        drop(sender.send(answer));
    });
    receiver
}

pub(super) async fn arrived(receiver: oneshot::Receiver<Answer>) -> Answer {
    receiver.await.unwrap_or_else(|_| lost())
}

/// The answer of a call whose task was dropped; the process is at its end then.
fn lost() -> Answer {
    use candor_fault::{CallFacts, Dialect, Effect, Form, Refusal, Timestamp};
    let fault = Wire::adopt(Refusal::Cancelled {
        effect: Effect::Unknown,
    });
    let nobody = CallFacts {
        tool: None,
        form: Form::Protocol,
        receipt: None,
    };
    Wire::encode_failure(&fault, &nobody, Timestamp::UNIX_EPOCH)
}

fn make_call(
    id: &str,
    era: Era,
    called: ToolCall<'_>,
    peer: Peer,
    sink: Option<mpsc::Sender<Bytes>>,
) -> Arc<Call> {
    let progress = match (called.progress.and_then(raw), sink) {
        (Some(token), Some(sink)) => Progress::new(token, EventProgress(sink)),
        _ => Progress::default(),
    };
    // Shared from the start: a call is large, and what waits for it would have room for it twice.
    Arc::new(Call {
        name: called.name.into_owned(),
        arguments: called.arguments.map(Into::into),
        era,
        id: id.to_owned(),
        peer,
        client: ClientInfo {
            name: called.client_name.map(Into::into),
            version: called.client_version.map(Into::into),
            capabilities: called.capabilities.map(Into::into),
        },
        progress,
    })
}

/// Progress as events; dropped while the client does not read.
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
fn whole<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Cow<'a, str>> {
    let mut all = headers.get_all(name).iter();
    let mut said = String::from_utf8_lossy(all.next()?.as_bytes());
    for more in all {
        said += ", ";
        said += String::from_utf8_lossy(more.as_bytes());
    }
    Some(match said {
        Cow::Borrowed(said) => Cow::Borrowed(said.trim()),
        Cow::Owned(said) => Cow::Owned(said.trim().to_owned()),
    })
}

/// Returns true if the client accepts an event stream; a weight of zero means that it does not.
fn takes_events(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().any(|accept| {
        let all = accept.to_str().unwrap_or_default().split(',');
        all.map(|kind| kind.split(';').map(str::trim))
            .any(|mut parts| {
                let kind = parts.next().unwrap_or_default();
                kind.eq_ignore_ascii_case("text/event-stream") && !parts.any(weighs_nothing)
            })
    })
}

/// Returns true if a parameter of a media type is `q=0`, however many zeros it has.
fn weighs_nothing(parameter: &str) -> bool {
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
        let mut kept = 0;
        while events.try_recv().is_ok() {
            kept += 1;
        }
        assert_eq!(kept, PROGRESS_QUEUE);
    }
}
