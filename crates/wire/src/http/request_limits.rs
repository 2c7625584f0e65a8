//! The limits that all servers of one process share: bytes of request bodies, and requests in work.

use super::body::BodyBudget;
use candor_street::MetricsHub;
use hyper::StatusCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most requests in work, over all servers.
pub const MAX_REQUESTS: usize = 512;

/// The most time that a complete request waits until another one is answered.
pub const REQUEST_WAIT: Duration = Duration::from_secs(10);

/// The limits of one process, with the counter of refusals.
#[derive(Debug, Clone)]
pub(super) struct RequestLimits {
    pub(super) body_budget: BodyBudget,
    requests: Arc<Semaphore>,
    metrics: MetricsHub,
}

/// A request in work, which ends when this is dropped.
pub(super) type WorkPermit = OwnedSemaphorePermit;

impl RequestLimits {
    pub(super) fn new(metrics: MetricsHub) -> Self {
        RequestLimits {
            body_budget: BodyBudget::default(),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            metrics,
        }
    }

    /// Begins the work on a request, if there are not too many.
    pub(super) fn try_begin(&self) -> Option<WorkPermit> {
        Arc::clone(&self.requests).try_acquire_owned().ok()
    }

    /// Waits until the work can begin. Returns `None` if that takes too long.
    pub(super) async fn begin(&self) -> Option<WorkPermit> {
        let begun = Arc::clone(&self.requests).acquire_owned();
        let begun = tokio::time::timeout(REQUEST_WAIT, begun).await;
        begun.ok()?.ok()
    }

    /// Counts a refusal of a request that no server has read. Nothing of the request is logged.
    pub(super) fn count_refusal(&self, status: StatusCode) {
        let status = status.as_u16();
        tracing::debug!(status, "a request was refused before it was read");
        self.metrics.count_http_refusal(status);
    }
}
