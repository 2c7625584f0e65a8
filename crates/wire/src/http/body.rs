//! Reads request bodies, within a limit for each and a limit for all together.

use super::connection_table::ConnectionEntry;
use crate::read::too_large;
use bytes::Bytes;
use candor_fault::dialects::Wire;
use candor_fault::{Dialect, Fault, Refusal};
use futures_util::FutureExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::body::{Body as _, Incoming};
use hyper::header::CONTENT_TYPE;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

/// The largest body.
pub const MAX_BODY: usize = 10 * 1024 * 1024;

/// The most bytes of requests that are held at once, over all connections.
pub const MAX_HELD: usize = 64 * 1024 * 1024;

/// The most time for receiving a body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The most time without a byte of the body.
pub const BODY_STALL: Duration = Duration::from_secs(10);

/// The most time until an evicted body is released.
const RELEASE: Duration = Duration::from_secs(1);

/// The wait that a client is asked for if the server is at capacity.
pub(super) const BUSY: Duration = Duration::from_secs(1);

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
    fn merge(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.0 {
            Some(permit) => permit.merge(more),
            none => *none = Some(more),
        }
    }
}

impl BodyBudget {
    /// Reads a body of JSON.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Incoming,
        entry: &ConnectionEntry,
    ) -> Result<BufferedBody, Fault<Wire>> {
        if !is_json(headers) {
            return Err(
                Wire::invalid_request("Content-Type must be application/json")
                    .with_facts(|facts| facts.status = Some(415)),
            );
        }
        // The announced length; a body without one has the hint 0.
        if body.size_hint().lower() > MAX_BODY as u64 {
            return Err(too_large("the body is too large"));
        }
        let mut reader = BodyReader {
            budget: self,
            entry,
            body: Limited::new(body, MAX_BODY),
            permit: BodyPermit::default(),
            bytes: Bytes::new(),
            collected: Vec::new(),
            next: None,
        };
        // A small body arrives together with its head and needs no timer.
        let is_complete = loop {
            match reader.read_piece().now_or_never() {
                Some(Ok(PieceOutcome::End)) => break true,
                Some(Ok(PieceOutcome::More)) => {}
                Some(Err(fault)) => return Err(fault),
                None => break false,
            }
        };
        if !is_complete {
            Box::pin(reader.wait_for_rest()).await?;
        }
        match entry.end_body() {
            true => Ok(reader.finish()),
            // Nothing is sent on an evicted connection.
            false => Err(ended_early()),
        }
    }

    /// Takes `bytes` of the budget; incomplete bodies of other connections make room.
    async fn reserve(
        &self,
        bytes: usize,
        entry: &ConnectionEntry,
    ) -> Result<OwnedSemaphorePermit, Fault<Wire>> {
        let count = u32::try_from(bytes).map_err(|_| too_large("the body is too large"))?;
        if let Ok(permit) = Arc::clone(&self.0).try_acquire_many_owned(count) {
            return Ok(permit);
        }
        let full = || Wire::adopt(Refusal::Limited { after: BUSY });
        let missing = bytes.saturating_sub(self.0.available_permits());
        if missing > 0 && !entry.evict_other_bodies(missing) {
            return Err(full());
        }
        let released = Arc::clone(&self.0).acquire_many_owned(count);
        match timeout(RELEASE, released).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(full()),
        }
    }
}

/// A body of which a part has arrived.
struct BodyReader<'a> {
    budget: &'a BodyBudget,
    entry: &'a ConnectionEntry,
    body: Limited<Incoming>,
    permit: BodyPermit,
    bytes: Bytes,
    collected: Vec<u8>,
    /// A piece that is not part of the budget yet.
    next: Option<Bytes>,
}

/// The result of waiting for a piece of a body.
enum PieceOutcome {
    More,
    End,
}

impl BodyReader<'_> {
    /// Reads one piece. Only bytes that have arrived are counted, not the announced length. If the future
    /// is dropped, nothing is lost.
    async fn read_piece(&mut self) -> Result<PieceOutcome, Fault<Wire>> {
        if self.next.is_none() {
            let Some(frame) = self.body.frame().await else {
                return Ok(PieceOutcome::End);
            };
            self.next = match frame {
                Ok(frame) => frame.into_data().ok(),
                Err(error) if error.is::<LengthLimitError>() => {
                    return Err(too_large("the body is too large"));
                }
                Err(_) => return Err(ended_early()),
            };
        }
        if let Some(piece) = &self.next {
            let permit = self.budget.reserve(piece.len(), self.entry).await?;
            self.permit.merge(permit);
        }
        if let Some(piece) = self.next.take() {
            self.append(piece);
        }
        Ok(PieceOutcome::More)
    }

    fn append(&mut self, piece: Bytes) {
        // Most bodies come in one piece, which needs no copy.
        if self.bytes.is_empty() && self.collected.is_empty() {
            self.bytes = piece;
        } else {
            self.collected
                .extend_from_slice(&std::mem::take(&mut self.bytes));
            self.collected.extend_from_slice(&piece);
        }
    }

    /// Reads a body that does not arrive together with its head.
    async fn wait_for_rest(&mut self) -> Result<(), Fault<Wire>> {
        self.entry.begin_body();
        let until = Instant::now() + BODY_TIMEOUT;
        let ended = loop {
            self.entry.set_held(self.bytes.len() + self.collected.len());
            let stalled = (Instant::now() + BODY_STALL).min(until);
            match timeout_at(stalled, self.read_piece()).await {
                Ok(Ok(PieceOutcome::More)) => {}
                Ok(Ok(PieceOutcome::End)) => return Ok(()),
                Ok(Err(fault)) => break fault,
                Err(_) => {
                    break Wire::invalid_request("the body took too long")
                        .with_facts(|facts| facts.status = Some(408));
                }
            }
        };
        self.entry.abandon_body();
        Err(ended)
    }

    fn finish(self) -> BufferedBody {
        let bytes = match self.collected.is_empty() {
            true => self.bytes,
            false => self.collected.into(),
        };
        BufferedBody {
            bytes,
            permit: self.permit,
        }
    }
}

fn ended_early() -> Fault<Wire> {
    Wire::invalid_request("the body ended early")
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = super::admission::text(headers, &CONTENT_TYPE) else {
        return false;
    };
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}
