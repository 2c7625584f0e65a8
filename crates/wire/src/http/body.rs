//! Request bodies: counted while they are read, one by one and all together.

use crate::read::too_large;
use axum::body::Body;
use bytes::Bytes;
use candor_fault::dialects::Wire;
use candor_fault::{Dialect, Fault, Refusal};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How large a body may be.
pub const MAX_BODY: usize = 10 * 1024 * 1024;

/// How many bytes of requests may be held at once, over all connections.
pub const MAX_HELD: usize = 64 * 1024 * 1024;

/// How long a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// What a client is told to wait when the server is at capacity.
const BUSY: Duration = Duration::from_secs(1);

/// The room that request bodies share.
#[derive(Debug, Clone)]
pub(super) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Room(Arc::new(Semaphore::new(MAX_HELD)))
    }
}

/// A body with its share of the room.
pub(super) struct Held {
    pub(super) bytes: Bytes,
    _share: OwnedSemaphorePermit,
}

impl Room {
    /// Reads a body of JSON.
    pub(super) async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Held, Fault<Wire>> {
        if !is_json(headers) {
            return Err(
                Wire::invalid_request("Content-Type must be application/json")
                    .knowing(|facts| facts.status = Some(415)),
            );
        }
        let length = headers
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse().ok());
        // Without an announced length the largest one is taken into account.
        let expected = length.unwrap_or(MAX_BODY);
        if expected > MAX_BODY {
            return Err(too_large("the body is too large"));
        }
        let share = Arc::clone(&self.0).try_acquire_many_owned(expected as u32);
        let share = share.map_err(|_| Wire::adopt(Refusal::Limited { after: BUSY }))?;
        let reading = Limited::new(body, MAX_BODY).collect();
        match tokio::time::timeout(BODY_TIMEOUT, reading).await {
            Ok(Ok(whole)) => Ok(Held {
                bytes: whole.to_bytes(),
                _share: share,
            }),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                Err(too_large("the body is too large"))
            }
            Ok(Err(_)) => Err(Wire::invalid_request("the body ended early")),
            Err(_) => Err(Wire::invalid_request("the body took too long")
                .knowing(|facts| facts.status = Some(408))),
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = super::admit::text(headers, &CONTENT_TYPE) else {
        return false;
    };
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}
