//! The capabilities of an order system as far as they are known, and the task that keeps them
//! fresh.

use super::capabilities::{self, Capabilities};
use super::client::AdapterClient;
use super::failures::{self, EffectEvidence, invalid_response};
use crate::{EQUAL_LINES_EVERY, Failure};
use candor_fault::Cause;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, timeout};

/// The time that an order system may take to send its capabilities in the background.
pub const CAPABILITIES_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval after which known capabilities are read again, unless the owner configures another.
pub const CAPABILITIES_EVERY: Duration = Duration::from_secs(300);

/// The first pause after capabilities could not be read, and the shortest interval at all.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after capabilities could not be read.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The capabilities of an order system, if they have been read.
#[derive(Debug, Default)]
pub(super) struct KnownCapabilities {
    known: RwLock<Option<Arc<Capabilities>>>,
    /// Held while capabilities are read, so that calls share one request.
    reading: Mutex<()>,
    /// Notified if the capabilities may have changed.
    outdated: Notify,
}

impl KnownCapabilities {
    pub(super) fn get(&self) -> Option<Arc<Capabilities>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    /// Returns the capabilities, and reads them if they are not known.
    pub(super) async fn get_or_read(
        &self,
        client: &AdapterClient,
    ) -> Result<Arc<Capabilities>, Failure> {
        if let Some(known) = self.get() {
            return Ok(known);
        }
        let _reading = self.reading.lock().await;
        match self.get() {
            Some(known) => Ok(known),
            None => self.read_now(client).await,
        }
    }

    /// Reads the capabilities again. If that fails, the known ones stay.
    pub(super) async fn read_again(&self, client: &AdapterClient) -> Result<(), Failure> {
        let _reading = self.reading.lock().await;
        self.read_now(client).await.map(|_| ())
    }

    async fn read_now(&self, client: &AdapterClient) -> Result<Arc<Capabilities>, Failure> {
        let read = Arc::new(read(client).await?);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::clone(&read));
        Ok(read)
    }

    /// Lets the background task read the capabilities again.
    pub(super) fn mark_outdated(&self) {
        self.outdated.notify_one();
    }

    /// Reads the capabilities at once, at this interval, and when they are marked as outdated.
    /// After a failure they are read again after a pause that grows.
    pub(super) async fn keep_fresh(&self, client: &AdapterClient, every: Duration) {
        let mut pause = MIN_PAUSE;
        let mut warned: Option<Instant> = None;
        loop {
            let read = timeout(CAPABILITIES_TIMEOUT, self.read_again(client)).await;
            let wait = match read.unwrap_or(Err(Failure::TimedOut(None))) {
                Ok(()) => {
                    pause = MIN_PAUSE;
                    every
                }
                Err(failure) => {
                    if warned.is_none_or(|at| at.elapsed() >= EQUAL_LINES_EVERY) {
                        warned = Some(Instant::now());
                        warn(&failure);
                    }
                    let wait = pause;
                    pause = (pause * 2).min(MAX_PAUSE);
                    wait
                }
            };
            // A system that answers 501 to every call is not asked more often than this.
            sleep(MIN_PAUSE.min(wait)).await;
            tokio::select! {
                () = sleep(wait.saturating_sub(MIN_PAUSE)) => {}
                () = self.outdated.notified() => {}
            }
        }
    }
}

/// Logs that capabilities could not be read, without text of the order system, because nothing
/// redacts that here.
pub(super) fn warn(failure: &Failure) {
    let reason = match failure.cause() {
        Some(Cause::Text(text)) => text.clone(),
        Some(Cause::Error { message, .. }) => message.clone(),
        Some(Cause::Data(data)) => format!("status {}", data["status"]),
        None => String::from("no answer in time"),
    };
    tracing::warn!(
        reason,
        "the capabilities of the order system could not be read; it is asked again"
    );
}

async fn read(client: &AdapterClient) -> Result<Capabilities, Failure> {
    let response = client.get(capabilities::ROUTE).await;
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
