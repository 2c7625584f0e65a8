//! The adapter `http`: any order system that implements the protocol in `docs/adapter-protocol.md`.

pub(crate) mod capabilities;
pub(crate) mod client;
mod compare;
pub(crate) mod failures;
mod header;
mod json;
pub(crate) mod responses;
mod retry_after;
mod settings;

pub use capabilities::{Capabilities, PROTOCOL};
pub use client::{MAX_BODY, MAX_FAILURE_BODY};
pub use json::MAX_VALUES;
pub use responses::MAX_NEXT_CURSOR;
pub use retry_after::MAX_WAIT;
pub use settings::{AdapterSetupError, CONNECT_TIME, HttpSettings};

use crate::{
    Adapter, AdapterFuture, Failure, IdempotencyKey, OrderOperation, Request, RequestContext,
    Response,
};
use bytes::Bytes;
use candor_fault::{Cause, Effect};
use candor_http_client::header::{HeaderMap, HeaderName, HeaderValue};
use client::AdapterClient;
use failures::{EffectEvidence, FailedExchange, invalid_response};
use responses::EntitySchemas;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// The time that an order system may take to send its capabilities when a server starts.
pub const CAPABILITIES_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header with the client that the key belongs to.
pub(crate) const CLIENT: HeaderName = HeaderName::from_static("candor-client");

/// The header with the remaining milliseconds of the call.
pub(crate) const DEADLINE: HeaderName = HeaderName::from_static("candor-deadline-ms");

/// An order system behind HTTP.
#[derive(Debug)]
pub struct HttpAdapter {
    client: AdapterClient,
    schemas: EntitySchemas,
    capabilities: OnceCell<Capabilities>,
}

impl HttpAdapter {
    /// Creates the adapter without contacting the order system.
    pub fn new(settings: &HttpSettings) -> Result<HttpAdapter, AdapterSetupError> {
        Ok(HttpAdapter {
            client: AdapterClient::new(settings)?,
            schemas: EntitySchemas::new()?,
            capabilities: OnceCell::new(),
        })
    }

    /// Creates the adapter and fetches the capabilities. If they do not arrive in time, a warning
    /// is logged and they are fetched again with the first call.
    pub async fn connect(settings: &HttpSettings) -> Result<HttpAdapter, AdapterSetupError> {
        let adapter = HttpAdapter::new(settings)?;
        let fetched = timeout(CAPABILITIES_TIMEOUT, adapter.capabilities()).await;
        let reason = match fetched {
            Ok(Ok(_)) => return Ok(adapter),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::TimedOut(None),
        };
        tracing::warn!(
            reason = describe(&reason),
            "the order system does not say what it can do; it is asked again with the first call"
        );
        Ok(adapter)
    }

    /// Returns the capabilities. They are fetched once, and again after a failure.
    pub async fn capabilities(&self) -> Result<&Capabilities, Failure> {
        self.capabilities
            .get_or_try_init(|| self.fetch_capabilities())
            .await
    }

    async fn fetch_capabilities(&self) -> Result<Capabilities, Failure> {
        let response = self.client.get(capabilities::ROUTE).await;
        let response = response.map_err(|error| failures::map_error(error).0)?;
        if response.status.is_success() {
            return Capabilities::read(&response).map_err(|error| invalid_response(&error));
        }
        let (failure, evidence) = failures::map_response(&response);
        match (failure, evidence) {
            // A system that does not have the route is not an adapter.
            (Failure::Unsupported, _) | (_, EffectEvidence::NoEffect) => {
                let status = response.status.as_u16();
                Err(invalid_response(&format!("capabilities: status {status}")))
            }
            (failure, _) => Err(failure),
        }
    }

    async fn exchange(
        &self,
        request: &Request,
        context: &RequestContext,
    ) -> Result<Response, Failure> {
        let operation = request.operation();
        let offered = self.capabilities().await?;
        if !offered.operations.contains(&operation) {
            return Err(Failure::Unsupported);
        }
        if let Some(part) = request.first_declared_part() {
            return Err(Failure::UnsupportedPart(part));
        }
        let body = serde_json::to_vec(request);
        let body =
            body.map_err(|error| Failure::Internal("a request", cause("JsonError", &error)))?;
        if !operation.changes() {
            let sent = self.send(operation, context, body.into()).await;
            return sent
                .and_then(|response| self.read(request, &response))
                .map_err(|(failure, _)| failure);
        }
        // An earlier attempt of this call may have had an effect. Evidence about this request alone
        // does not disprove that.
        let first = context.mark.effect() == Effect::None;
        context.mark.begins()?;
        let sent = self.send(operation, context, body.into()).await;
        match sent.and_then(|response| self.read(request, &response)) {
            Ok(response) => {
                context.mark.done();
                Ok(response)
            }
            Err((failure, evidence)) => {
                if evidence == EffectEvidence::NoEffect
                    || (evidence == EffectEvidence::NoEffectOfThisRequest && first)
                {
                    context.mark.undone();
                }
                Err(failure)
            }
        }
    }

    async fn send(
        &self,
        operation: OrderOperation,
        context: &RequestContext,
        body: Bytes,
    ) -> Result<client::AdapterResponse, FailedExchange> {
        let left = context.deadline.remaining().as_millis();
        let headers = headers(
            context.key.as_ref(),
            u64::try_from(left).unwrap_or(u64::MAX),
        );
        let response = self.client.post(operation.name(), headers, body).await;
        let response = response.map_err(failures::map_error)?;
        match response.status.is_success() {
            true => Ok(response),
            false => Err(failures::map_response(&response)),
        }
    }

    fn read(
        &self,
        request: &Request,
        response: &client::AdapterResponse,
    ) -> Result<Response, FailedExchange> {
        let read = self.schemas.read(request, response);
        read.map_err(|error| (invalid_response(&error), EffectEvidence::Nothing))
    }
}

pub(crate) fn headers(key: Option<&IdempotencyKey>, left_ms: u64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(DEADLINE, HeaderValue::from(left_ms));
    if let Some(IdempotencyKey { client, key }) = key {
        headers.insert(CLIENT, header::value(client));
        headers.insert(KEY, header::value(key));
    }
    headers
}

/// Describes a failure without text of the order system, because nothing redacts that here.
fn describe(failure: &Failure) -> String {
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
    fn call<'a>(&'a self, request: &'a Request, context: &'a RequestContext) -> AdapterFuture<'a> {
        Box::pin(self.exchange(request, context))
    }

    fn keeps_keys(&self) -> bool {
        self.capabilities
            .get()
            .is_some_and(|capabilities| capabilities.keeps_keys)
    }
}
