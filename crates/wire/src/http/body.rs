//! Request bodies: counted while they are read, one by one and all together.

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

/// The room that request bodies share.
#[derive(Debug, Clone)]
pub(super) struct BodyBudget(Arc<Semaphore>);

impl Default for BodyBudget {
    fn default() -> Self {
        BodyBudget(Arc::new(Semaphore::new(MAX_HELD)))
    }
}

/// A body with its share of the room.
pub(super) struct BufferedBody {
    pub(super) bytes: Bytes,
    pub(super) share: BodyPermit,
}

/// A place for some bytes of a request; free again when it is dropped.
#[derive(Debug, Default)]
pub(super) struct BodyPermit(Option<OwnedSemaphorePermit>);

impl BodyPermit {
    /// Takes room for `bytes` more.
    fn grow(&mut self, room: &BodyBudget, bytes: usize) -> Result<(), Fault<Wire>> {
        let full = |_| Wire::adopt(Refusal::Limited { after: BUSY });
        let wanted = u32::try_from(bytes).map_err(|_| too_large("the body is too large"))?;
        let more = Arc::clone(&room.0).try_acquire_many_owned(wanted);
        let more = more.map_err(full)?;
        match &mut self.0 {
            Some(own) => own.merge(more),
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
        // A small body is there together with its head: then no timer is needed.
        if let Some(held) = reading.as_mut().now_or_never() {
            return held;
        }
        match Box::pin(tokio::time::timeout(BODY_TIMEOUT, reading)).await {
            Ok(held) => held,
            Err(_) => Err(Wire::invalid_request("the body took too long")
                .with_facts(|facts| facts.status = Some(408))),
        }
    }

    /// Reads a body to its end. Only what has arrived takes room: an announced length is a promise.
    async fn collect(&self, body: Incoming) -> Result<BufferedBody, Fault<Wire>> {
        let mut body = Limited::new(body, MAX_BODY);
        let mut share = BodyPermit::default();
        let mut bytes = Bytes::new();
        let mut whole = Vec::new();
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
            share.grow(self, piece.len())?;
            // Most bodies come in one piece, which needs no copy.
            if bytes.is_empty() && whole.is_empty() {
                bytes = piece;
            } else {
                whole.extend_from_slice(&std::mem::take(&mut bytes));
                whole.extend_from_slice(&piece);
            }
        }
        if !whole.is_empty() {
            bytes = whole.into();
        }
        Ok(BufferedBody { bytes, share })
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = super::admission::text(headers, &CONTENT_TYPE) else {
        return false;
    };
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}
