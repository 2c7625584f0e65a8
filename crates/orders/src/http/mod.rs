//! The adapter `http`: any order system that implements the protocol in `docs/adapter-protocol.md`.

pub(crate) mod capabilities;
pub(crate) mod client;
mod compare;
pub(crate) mod failures;
mod header;
mod json;
mod key_store;
mod known_capabilities;
mod openapi;
pub(crate) mod responses;
mod retry_after;
mod settings;

pub use capabilities::{Capabilities, MAX_NAMES, MAX_STATUSES, PROTOCOL};
pub use client::{MAX_BODY, MAX_FAILURE_BODY};
pub use json::MAX_VALUES;
pub use key_store::{KeyStoreAdapter, KeyStoreError};
pub use known_capabilities::{CAPABILITIES_EVERY, CAPABILITIES_TIMEOUT};
pub use openapi::openapi_text;
pub use responses::MAX_NEXT_CURSOR;
pub use retry_after::MAX_WAIT;
pub use settings::{AdapterSetupError, CONNECT_TIME, HttpSettings};

use crate::{
    Adapter, AdapterFuture, EntityQuery, Failure, Filters, NotReady, OrderOperation,
    ReadinessFuture, Request, RequestContext, Response,
};
use bytes::Bytes;
use candor_fault::{Cause, Effect};
use candor_http_client::header::{HeaderMap, HeaderName, HeaderValue};
use client::AdapterClient;
use failures::{EffectEvidence, FailedExchange, invalid_response};
use known_capabilities::KnownCapabilities;
use responses::EntitySchemas;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::timeout;

pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header with the client that makes the call; its key belongs to it.
pub(crate) const CLIENT: HeaderName = HeaderName::from_static("candor-client");

/// The header with the tenant of the client.
const TENANT: HeaderName = HeaderName::from_static("candor-tenant");

/// The header with the position in the caller's trace.
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// The header with the remaining milliseconds of the call.
pub(crate) const DEADLINE: HeaderName = HeaderName::from_static("candor-deadline-ms");

/// An order system behind HTTP.
#[derive(Debug)]
pub struct HttpAdapter {
    client: Arc<AdapterClient>,
    schemas: EntitySchemas,
    capabilities: Arc<KnownCapabilities>,
    /// Keeps the capabilities fresh; `None` if they are read with the first call only.
    refresher: Option<AbortHandle>,
}

impl Drop for HttpAdapter {
    fn drop(&mut self) {
        if let Some(refresher) = &self.refresher {
            refresher.abort();
        }
    }
}

impl HttpAdapter {
    /// Creates the adapter without contacting the order system. Its capabilities are read with the
    /// first call, and again after a failure.
    pub fn new(settings: &HttpSettings) -> Result<HttpAdapter, AdapterSetupError> {
        Ok(HttpAdapter {
            client: Arc::new(AdapterClient::new(settings)?),
            schemas: EntitySchemas::new()?.comparing(settings.compares),
            capabilities: Arc::default(),
            refresher: None,
        })
    }

    /// Creates the adapter and reads the capabilities in the background: at once, at this interval,
    /// and after a 501. Must be called in a runtime.
    pub fn start(
        settings: &HttpSettings,
        every: Duration,
    ) -> Result<HttpAdapter, AdapterSetupError> {
        let mut adapter = HttpAdapter::new(settings)?;
        let (client, known) = (
            Arc::clone(&adapter.client),
            Arc::clone(&adapter.capabilities),
        );
        let task = tokio::spawn(async move { known.keep_fresh(&client, every).await });
        adapter.refresher = Some(task.abort_handle());
        Ok(adapter)
    }

    /// Creates the adapter and waits for the capabilities. If they do not arrive in time, a warning
    /// is logged and they are read with the first call.
    pub async fn connect(settings: &HttpSettings) -> Result<HttpAdapter, AdapterSetupError> {
        let adapter = HttpAdapter::new(settings)?;
        let read = timeout(CAPABILITIES_TIMEOUT, adapter.capabilities()).await;
        if let Err(failure) = read.unwrap_or(Err(Failure::TimedOut(None))) {
            known_capabilities::warn(&failure);
        }
        Ok(adapter)
    }

    /// Returns the capabilities, and reads them if they are not known.
    pub async fn capabilities(&self) -> Result<Arc<Capabilities>, Failure> {
        self.capabilities.get_or_read(&self.client).await
    }

    /// Returns the capabilities as far as they are known.
    fn known_capabilities(&self) -> Option<Arc<Capabilities>> {
        self.capabilities.get()
    }

    /// Returns the capabilities if the order system supports every part of the request.
    async fn offered(&self, request: &Request) -> Result<Arc<Capabilities>, Failure> {
        let offered = self.capabilities().await?;
        if !offered.operations.contains(&request.operation()) {
            return Err(Failure::Unsupported);
        }
        match offered.unsupported_part(request) {
            Some(part) => Err(Failure::UnsupportedPart(part)),
            None => Ok(offered),
        }
    }

    async fn exchange(
        &self,
        request: &Request,
        context: &RequestContext,
    ) -> Result<Response, Failure> {
        let operation = request.operation();
        self.offered(request).await?;
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

    /// Looks up the order of a create whose answer was lost, by its external id. Returns the order
    /// and the number of cleaned texts, or the reason why no order is the one of the request.
    async fn find_created(
        &self,
        request: &Request,
        context: &RequestContext,
    ) -> Result<Result<(Box<RawValue>, usize), &'static str>, Failure> {
        let Request::Create(create) = request else {
            return Ok(Err("only new orders can be looked up"));
        };
        let external_ids = create.order.external_id.clone().map(|id| vec![id]);
        let query = Request::Query(Box::new(EntityQuery {
            operation: OrderOperation::GetOrders,
            filters: Filters {
                external_ids,
                ..Filters::default()
            },
            page_size: 2,
            after: None,
        }));
        let context = RequestContext {
            key: None,
            ..context.clone()
        };
        let Response::Page {
            items, corrections, ..
        } = self.exchange(&query, &context).await?
        else {
            return Ok(Err("the answer is not a page"));
        };
        if !corrections.omitted.is_empty() {
            return Ok(Err("the order with the external id cannot be shown"));
        }
        let orders: Vec<Box<RawValue>> = serde_json::from_str(items.get()).unwrap_or_default();
        let [found] = orders.as_slice() else {
            return Ok(Err(match orders.is_empty() {
                true => "no order has the external id",
                false => "several orders have the external id",
            }));
        };
        let order = serde_json::from_str(found.get()).ok();
        let is_same = order.is_some_and(|order| compare::check_order(request, &order).is_ok());
        Ok(match is_same {
            true => Ok((found.clone(), corrections.cleaned)),
            false => Err("the order with the external id is not the one of the request"),
        })
    }

    async fn send(
        &self,
        operation: OrderOperation,
        context: &RequestContext,
        body: Bytes,
    ) -> Result<client::AdapterResponse, FailedExchange> {
        let left = context.deadline.remaining().as_millis();
        let key = context.key.as_ref().map(|key| key.key.as_str());
        let left = u64::try_from(left).unwrap_or(u64::MAX);
        let mut headers = headers(&context.client, key, left);
        if let Some(tenant) = &context.tenant {
            headers.insert(TENANT, header::value(tenant));
        }
        let position = context.trace_parent.as_deref();
        if let Some(Ok(position)) = position.map(HeaderValue::from_str) {
            headers.insert(TRACE_PARENT, position);
        }
        let response = self.client.post(operation.name(), headers, body).await;
        let response = response.map_err(failures::map_error)?;
        match response.status.is_success() {
            true => Ok(response),
            false => {
                let failed = failures::map_response(&response);
                if failed.0 == Failure::Unsupported {
                    self.capabilities.mark_outdated();
                }
                Err(failed)
            }
        }
    }

    fn read(
        &self,
        request: &Request,
        response: &client::AdapterResponse,
    ) -> Result<Response, FailedExchange> {
        let statuses = self.capabilities.get();
        let statuses = statuses.as_ref().map(|known| &known.statuses);
        let read = self.schemas.read(request, statuses, response);
        read.map_err(|error| (invalid_response(&error), EffectEvidence::Nothing))
    }
}

pub(crate) fn headers(client: &str, key: Option<&str>, left_ms: u64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(DEADLINE, HeaderValue::from(left_ms));
    headers.insert(CLIENT, header::value(client));
    if let Some(key) = key {
        headers.insert(KEY, header::value(key));
    }
    headers
}

fn cause(name: &str, error: &(dyn std::error::Error + 'static)) -> Box<Cause> {
    Box::new(Cause::error(name, error))
}

impl HttpAdapter {
    /// Reads the capabilities, whether or not they are known.
    async fn check(&self) -> Result<(), NotReady> {
        match self.capabilities.read_again(&self.client).await {
            Ok(_) => Ok(()),
            Err(Failure::Final(..)) => Err(NotReady::Capabilities),
            Err(_) => Err(NotReady::Unreachable),
        }
    }
}

impl Adapter for HttpAdapter {
    fn name(&self) -> &'static str {
        "http"
    }

    fn readiness(&self) -> ReadinessFuture<'_> {
        Box::pin(self.check())
    }

    fn call<'a>(&'a self, request: &'a Request, context: &'a RequestContext) -> AdapterFuture<'a> {
        Box::pin(self.exchange(request, context))
    }

    fn keeps_keys(&self) -> bool {
        let known = self.capabilities.get();
        known.is_some_and(|known| known.keeps_keys)
    }
}
