//! The adapter `http`: any order system that speaks the protocol of `docs/adapter-protocol.md`.

pub(crate) mod answer;
pub(crate) mod capabilities;
mod header;
mod json;
pub(crate) mod link;
pub(crate) mod refusal;
mod settings;
mod wait;

pub use answer::NEXT_MAX;
pub use capabilities::{Capabilities, PROTOCOL};
pub use json::VALUES_MAX;
pub use link::{BODY_MAX, FAILURE_MAX};
pub use settings::{CONNECT_TIME, Settings, SetupError};
pub use wait::WAIT_MAX;

use crate::{
    Adapter, AdapterFuture, Failure, IdempotencyKey, OrderOperation, Request, RequestContext,
    Response,
};
use answer::Shapes;
use bytes::Bytes;
use candor_fault::{Cause, Effect};
use candor_http_client::header::{HeaderMap, HeaderName, HeaderValue};
use link::Link;
use refusal::{Tells, Told, flawed};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// How long an order system may take to say what it can do when a server starts.
pub const MEETING_TIME: Duration = Duration::from_secs(5);

/// The header with the key of a change.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header with the client that a key belongs to.
pub(crate) const CLIENT: HeaderName = HeaderName::from_static("candor-client");

/// The header with the milliseconds that are left of a call.
pub(crate) const DEADLINE: HeaderName = HeaderName::from_static("candor-deadline-ms");

/// An order system behind HTTP.
#[derive(Debug)]
pub struct HttpAdapter {
    link: Link,
    shapes: Shapes,
    capabilities: OnceCell<Capabilities>,
}

impl HttpAdapter {
    /// The adapter for an order system that is not asked anything yet.
    pub fn new(settings: &Settings) -> Result<HttpAdapter, SetupError> {
        Ok(HttpAdapter {
            link: Link::new(settings)?,
            shapes: Shapes::new()?,
            capabilities: OnceCell::new(),
        })
    }

    /// The adapter for an order system, which is asked what it can do. Where it does not say so in
    /// time, a line of the log tells why, and it is asked again with the first call.
    pub async fn connect(settings: &Settings) -> Result<HttpAdapter, SetupError> {
        let adapter = HttpAdapter::new(settings)?;
        let met = timeout(MEETING_TIME, adapter.capabilities()).await;
        let reason = match met {
            Ok(Ok(_)) => return Ok(adapter),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::TimedOut(None),
        };
        tracing::warn!(
            reason = told(&reason),
            "the order system does not say what it can do; it is asked again with the first call"
        );
        Ok(adapter)
    }

    /// What the order system can do: asked once, and again where that failed.
    pub async fn capabilities(&self) -> Result<&Capabilities, Failure> {
        self.capabilities.get_or_try_init(|| self.meet()).await
    }

    async fn meet(&self) -> Result<Capabilities, Failure> {
        let heard = self.link.get(capabilities::ROUTE).await;
        let heard = heard.map_err(|error| refusal::broken(error).0)?;
        if heard.status.is_success() {
            return Capabilities::read(&heard).map_err(|unfit| flawed(&unfit));
        }
        let (failure, tells) = refusal::answered(&heard);
        match (failure, tells) {
            // Whoever does not know the route is no adapter.
            (Failure::Unsupported, _) | (_, Tells::NothingDone) => {
                let status = heard.status.as_u16();
                Err(flawed(&format!("capabilities: status {status}")))
            }
            (failure, _) => Err(failure),
        }
    }

    async fn ask(&self, request: &Request, turn: &RequestContext) -> Result<Response, Failure> {
        let operation = request.operation();
        let offered = self.capabilities().await?;
        if !offered.operations.contains(&operation) {
            return Err(Failure::Unsupported);
        }
        let body = serde_json::to_vec(request);
        let body =
            body.map_err(|error| Failure::Internal("a request", cause("JsonError", &error)))?;
        if !operation.changes() {
            let sent = self.send(operation, turn, body.into()).await;
            return sent
                .and_then(|heard| self.read(request, &heard))
                .map_err(|(failure, _)| failure);
        }
        // An earlier attempt of this call may have come through: what only tells about this request
        // does not take that back.
        let first = turn.mark.effect() == Effect::None;
        turn.mark.begins()?;
        let sent = self.send(operation, turn, body.into()).await;
        match sent.and_then(|heard| self.read(request, &heard)) {
            Ok(response) => {
                turn.mark.done();
                Ok(response)
            }
            Err((failure, tells)) => {
                if tells == Tells::NothingDone || (tells == Tells::NotByThis && first) {
                    turn.mark.undone();
                }
                Err(failure)
            }
        }
    }

    async fn send(
        &self,
        operation: OrderOperation,
        turn: &RequestContext,
        body: Bytes,
    ) -> Result<link::Heard, Told> {
        let left = turn.deadline.remaining().as_millis();
        let headers = headers(turn.key.as_ref(), u64::try_from(left).unwrap_or(u64::MAX));
        let heard = self.link.post(operation.name(), headers, body).await;
        let heard = heard.map_err(refusal::broken)?;
        match heard.status.is_success() {
            true => Ok(heard),
            false => Err(refusal::answered(&heard)),
        }
    }

    fn read(&self, request: &Request, heard: &link::Heard) -> Result<Response, Told> {
        let read = self.shapes.read(request, heard);
        read.map_err(|flaw| (flawed(&flaw), Tells::Nothing))
    }
}

/// The headers of one request.
pub(crate) fn headers(key: Option<&IdempotencyKey>, left_ms: u64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(DEADLINE, HeaderValue::from(left_ms));
    if let Some(IdempotencyKey { client, key }) = key {
        headers.insert(CLIENT, header::value(client));
        headers.insert(KEY, header::value(key));
    }
    headers
}

/// Why a failure came about, without words of the order system's own: nothing redacts those here.
fn told(failure: &Failure) -> String {
    let cause = match failure {
        Failure::Final(_, cause)
        | Failure::Busy(_, _, cause)
        | Failure::Limited(_, cause)
        | Failure::TimedOut(cause)
        | Failure::Unavailable(_, cause) => cause.as_deref(),
        _ => None,
    };
    match cause {
        Some(Cause::Text(text)) => text.clone(),
        Some(Cause::Error { message, .. }) => message.clone(),
        Some(Cause::Data(data)) => format!("status {}", data["status"]),
        None => String::from("no answer in time"),
    }
}

fn cause(name: &str, error: &(dyn std::error::Error + 'static)) -> Box<Cause> {
    Box::new(Cause::error(name, error))
}

impl Adapter for HttpAdapter {
    fn call<'a>(&'a self, request: &'a Request, turn: &'a RequestContext) -> AdapterFuture<'a> {
        Box::pin(self.ask(request, turn))
    }

    fn keeps_keys(&self) -> bool {
        self.capabilities
            .get()
            .is_some_and(|known| known.keeps_keys)
    }
}
