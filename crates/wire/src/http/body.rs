//! Reads request bodies, within a limit for each and a limit for all together.

use crate::read::too_large;
use bytes::Bytes;
use candor_fault::dialects::Wire;
use candor_fault::{Dialect, Fault, Refusal};
use futures_util::FutureExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest body.
pub const MAX_BODY: usize = 10 * 1024 * 1024;

/// The most bytes of requests that are held at once, over all connections.
pub const MAX_HELD: usize = 64 * 1024 * 1024;

/// The most time for receiving a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The wait that a client is asked for if the server is at capacity.
const BUSY: Duration = Duration::from_secs(1);

/// The memory budget that request bodies share.
#[derive(Debug, Clone)]
pub(super) struct BodyBudget(Arc<Semaphore>);

impl Default for BodyBudget {
    fn default() -> Self {
        BodyBudget(Arc::new(Semaphore::new(MAX_HELD)))
    }
}

/// A body with its permit.
pub(super) struct BufferedBody {
    pub(super) bytes: Bytes,
    pub(super) permit: BodyPermit,
}

/// A part of the budget, returned when it is dropped.
#[derive(Debug, Default)]
pub(super) struct BodyPermit(Option<OwnedSemaphorePermit>);

impl BodyPermit {
    /// Takes `bytes` more of the budget.
    fn grow(&mut self, body_budget: &BodyBudget, bytes: usize) -> Result<(), Fault<Wire>> {
        let full = |_| Wire::adopt(Refusal::Limited { after: BUSY });
        let count = u32::try_from(bytes).map_err(|_| too_large("the body is too large"))?;
        let more = Arc::clone(&body_budget.0).try_acquire_many_owned(count);
        let more = more.map_err(full)?;
        match &mut self.0 {
            Some(permit) => permit.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

impl BodyBudget {
    /// Reads a body of JSON.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Incoming,
    ) -> Result<BufferedBody, Fault<Wire>> {
        if !is_json(headers) {
            return Err(
                Wire::invalid_request("Content-Type must be application/json")
                    .with_facts(|facts| facts.status = Some(415)),
            );
        }
        let announced = headers
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length: u64| length > MAX_BODY as u64) {
            return Err(too_large("the body is too large"));
        }
        let mut reading = pin!(self.collect(body));
        // A small body arrives together with its head and needs no timer.
        if let Some(body) = reading.as_mut().now_or_never() {
            return body;
        }
        match Box::pin(tokio::time::timeout(BODY_TIMEOUT, reading)).await {
            Ok(body) => body,
            Err(_) => Err(Wire::invalid_request("the body took too long")
                .with_facts(|facts| facts.status = Some(408))),
        }
    }

    /// Reads a body to its end. Only bytes that have arrived are counted, not the announced length.
    async fn collect(&self, body: Incoming) -> Result<BufferedBody, Fault<Wire>> {
        let mut body = Limited::new(body, MAX_BODY);
        let mut permit = BodyPermit::default();
        let mut bytes = Bytes::new();
        let mut collected = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) if error.is::<LengthLimitError>() => {
                    return Err(too_large("the body is too large"));
                }
                Err(_) => return Err(Wire::invalid_request("the body ended early")),
            };
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            permit.grow(self, piece.len())?;
            // Most bodies come in one piece, which needs no copy.
            if bytes.is_empty() && collected.is_empty() {
                bytes = piece;
            } else {
                collected.extend_from_slice(&std::mem::take(&mut bytes));
                collected.extend_from_slice(&piece);
            }
        }
        if !collected.is_empty() {
            bytes = collected.into();
        }
        Ok(BufferedBody { bytes, permit })
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = super::admission::text(headers, &CONTENT_TYPE) else {
        return false;
    };
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}
