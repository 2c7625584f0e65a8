//! The adapter: each change in one transaction with its key, its record and its outcome.

use super::change::{self, ChangeContext};
use super::errors::TransactionError;
use super::ids::IdGenerator;
use super::keys::{self, KeyClaim, KeyOutcome};
use super::query;
use super::store::{DatabaseUrl, Store, StoreError};
use crate::adapter::{Adapter, AdapterFuture, IdempotencyKey, Request, RequestContext, Response};
use crate::failure::{Failure, FinalFailure};
use crate::model::UtcTime;
use candor_fault::Cause;
use candor_street::{Clock, Random};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a key is kept unless the owner says otherwise.
pub const KEEP_KEYS: Duration = Duration::from_secs(24 * 60 * 60);

/// How many connections to a server are open at most unless the owner says otherwise.
pub const CONNECTIONS: u32 = 16;

/// How often a transaction is tried that others are in the way of.
const TRIES: u32 = 5;

/// After how many changes some old keys are forgotten.
const FORGET_EVERY: u64 = 128;

/// What the owner decides about a database of orders.
#[derive(Debug, Clone, Copy)]
pub struct SqlConfig {
    /// How long a key is kept.
    pub keep_keys: Duration,
    /// How many connections to a server are open at most.
    pub connections: u32,
    /// After how long the database itself ends a statement: as long as a call may take.
    pub deadline: Duration,
}

impl Default for SqlConfig {
    fn default() -> Self {
        SqlConfig {
            keep_keys: KEEP_KEYS,
            connections: CONNECTIONS,
            deadline: crate::adapter::DEADLINE,
        }
    }
}

/// Orders in a database of their own.
pub struct SqlAdapter {
    store: Store,
    clock: Arc<dyn Clock>,
    ids: IdGenerator,
    keep_keys: Duration,
    changes: AtomicU64,
}

impl fmt::Debug for SqlAdapter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SqlAdapter")
            .field("store", &self.store)
            .field("keep_keys", &self.keep_keys)
            .finish_non_exhaustive()
    }
}

impl SqlAdapter {
    /// Opens a database that has its tables; `random` brings 64 evenly distributed bits.
    pub async fn open(
        place: &DatabaseUrl,
        config: SqlConfig,
        clock: Arc<dyn Clock>,
        random: Random,
    ) -> Result<SqlAdapter, StoreError> {
        Ok(SqlAdapter {
            store: Store::open(place, config.connections, config.deadline).await?,
            clock,
            ids: IdGenerator(random),
            keep_keys: config.keep_keys,
            changes: AtomicU64::new(0),
        })
    }

    /// Closes every connection.
    pub async fn close(&self) {
        self.store.close().await;
    }

    fn oldest(&self, now: UtcTime) -> UtcTime {
        let kept = i64::try_from(self.keep_keys.as_micros()).unwrap_or(i64::MAX);
        UtcTime::of_micros(now.micros().saturating_sub(kept))
    }

    async fn change(
        &self,
        request: &Request,
        context: &RequestContext,
    ) -> Result<Response, Failure> {
        let keyless = || {
            let cause = Box::new(Cause::from(request.operation().name()));
            Failure::Internal("a change came without its key", cause)
        };
        let key = context.key.as_ref().ok_or_else(keyless)?;
        let mut tries = 1;
        let outcome = loop {
            match self.attempt(request, key, context).await {
                Ok(outcome) => break outcome,
                Err(TransactionError::Again(_)) if tries < TRIES => tries += 1,
                Err(ended) => return Err(ended.into()),
            }
        };
        match outcome {
            KeyOutcome::Done(entity) => Ok(Response::One(entity)),
            KeyOutcome::Failed(stands) => Err(Failure::Final(Box::new(stands), None)),
        }
    }

    /// One transaction: the key is taken, the change made or refused, the outcome kept.
    async fn attempt(
        &self,
        request: &Request,
        key: &IdempotencyKey,
        context: &RequestContext,
    ) -> Result<KeyOutcome, TransactionError> {
        let mut session = self.store.begin_write().await?;
        let at = UtcTime::from(self.clock.now());
        let claim = KeyClaim {
            key,
            operation: request.operation(),
            fingerprint: keys::fingerprint(request),
            at,
        };
        if let Some(kept) = claim.take(&mut session, self.oldest(at)).await? {
            session.commit().await?;
            return Ok(kept);
        }
        let change = ChangeContext {
            session: &mut session,
            currency: self.store.currency,
            ids: &self.ids,
            at,
        };
        let (outcome, order) = match change::make(change, request).await {
            Ok(made) => (KeyOutcome::Done(made.entity), Some(made.order)),
            Err(ended) => (
                KeyOutcome::Failed(stands(ended)?),
                change::about(request).map(str::to_owned),
            ),
        };
        let record = self.ids.next("rec", at);
        claim
            .settle(&mut session, &outcome, (record, order))
            .await?;
        match outcome {
            // Nothing changes by keeping a refusal.
            KeyOutcome::Failed(_) => session.commit().await?,
            KeyOutcome::Done(_) => {
                context.mark.begins().map_err(Failure::from)?;
                let committed = session.commit().await;
                if let Err(TransactionError::Again(_)) = committed {
                    context.mark.undone();
                }
                committed?;
                context.mark.done();
            }
        }
        self.forget_some(at);
        Ok(outcome)
    }

    /// Forgets old keys now and then, beside the calls.
    fn forget_some(&self, now: UtcTime) {
        if !self
            .changes
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(FORGET_EVERY)
        {
            return;
        }
        let (store, oldest) = (self.store.clone(), self.oldest(now));
        tokio::spawn(async move {
            let forgotten = async {
                let mut session = store.begin_write().await?;
                let forgotten = keys::forget(&mut session, oldest).await?;
                session.commit().await?;
                Ok::<_, TransactionError>(forgotten)
            };
            match forgotten.await {
                Ok(keys) => tracing::debug!(keys, "old idempotency keys were forgotten"),
                // They are in nobody's way: the next time will do.
                Err(_) => tracing::debug!("old idempotency keys could not be forgotten"),
            }
        });
    }
}

/// The refusal that stands; everything else ends the transaction.
fn stands(ended: TransactionError) -> Result<FinalFailure, TransactionError> {
    match ended {
        TransactionError::Failed(Failure::Final(stands, _)) => Ok(*stands),
        other => Err(other),
    }
}

impl Adapter for SqlAdapter {
    fn call<'a>(&'a self, request: &'a Request, context: &'a RequestContext) -> AdapterFuture<'a> {
        Box::pin(async move {
            match request {
                Request::Query(asked) => query::page(&self.store, asked).await,
                _ => self.change(request, context).await,
            }
        })
    }

    fn keeps_keys(&self) -> bool {
        true
    }
}
