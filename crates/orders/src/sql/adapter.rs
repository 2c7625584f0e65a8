//! The SQL adapter: each change in one transaction with its key, its record and its outcome.

use super::change::{self, ChangeContext};
use super::dialect::SqlDialect;
use super::errors::TransactionError;
use super::ids::IdGenerator;
use super::keys::{self, ClaimResult, KeyClaim, KeyClock, KeyOutcome};
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

/// The time that a key is kept, unless the owner configures another.
pub const KEEP_KEYS: Duration = Duration::from_secs(24 * 60 * 60);

/// The most connections to a server, unless the owner configures another number.
pub const CONNECTIONS: u32 = 16;

/// The most tries of a transaction that conflicts with others.
const TRIES: u32 = 5;

/// The number of changes after which some old keys are deleted.
const FORGET_EVERY: u64 = 128;

/// The configuration of the SQL adapter.
#[derive(Debug, Clone, Copy)]
pub struct SqlConfig {
    pub keep_keys: Duration,
    /// The most connections to a server.
    pub connections: u32,
    /// The time after which the database cancels a statement: that of a call.
    pub deadline: Duration,
    /// Takes times from the clock of a PostgreSQL server, which several servers share. A file has
    /// the clock of its server.
    pub database_clock: bool,
}

impl Default for SqlConfig {
    fn default() -> Self {
        SqlConfig {
            keep_keys: KEEP_KEYS,
            connections: CONNECTIONS,
            deadline: crate::adapter::DEADLINE,
            database_clock: true,
        }
    }
}

/// An order system in a database of its own.
pub struct SqlAdapter {
    store: Store,
    clock: Arc<dyn Clock>,
    ids: IdGenerator,
    keep_keys: Duration,
    database_clock: bool,
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
    /// Opens a database that has its tables.
    pub async fn open(
        database: &DatabaseUrl,
        config: SqlConfig,
        clock: Arc<dyn Clock>,
        random: Random,
    ) -> Result<SqlAdapter, StoreError> {
        Ok(SqlAdapter {
            store: Store::open(database, config.connections, config.deadline).await?,
            clock,
            ids: IdGenerator(random),
            keep_keys: config.keep_keys,
            database_clock: config.database_clock && database.dialect() == SqlDialect::Postgres,
            changes: AtomicU64::new(0),
        })
    }

    pub async fn close(&self) {
        self.store.close().await;
    }

    fn key_clock(&self) -> KeyClock {
        match self.database_clock {
            true => KeyClock::Database,
            false => KeyClock::Server(self.clock.now().into()),
        }
    }

    fn oldest_key(&self, now: UtcTime) -> UtcTime {
        let stored = i64::try_from(self.keep_keys.as_micros()).unwrap_or(i64::MAX);
        UtcTime::of_micros(now.micros().saturating_sub(stored))
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
            KeyOutcome::Failed(final_failure) => Err(Failure::Final(Box::new(final_failure), None)),
        }
    }

    /// Runs one transaction: claims the key, makes or refuses the change, stores the outcome.
    async fn attempt(
        &self,
        request: &Request,
        key: &IdempotencyKey,
        context: &RequestContext,
    ) -> Result<KeyOutcome, TransactionError> {
        let mut session = self.store.begin_write().await?;
        let claim = KeyClaim {
            key,
            operation: request.operation(),
            fingerprint: keys::fingerprint(request),
        };
        let claimed = claim.acquire(&mut session, self.key_clock(), self.keep_keys);
        let at = match claimed.await? {
            ClaimResult::Claimed(at) => at,
            ClaimResult::Stored(outcome) => {
                session.roll_back().await;
                return Ok(outcome);
            }
        };
        let change = ChangeContext {
            session: &mut session,
            currency: self.store.currency,
            ids: &self.ids,
            at,
        };
        let (outcome, order) = match change::make(change, request).await {
            Ok(made) => (KeyOutcome::Done(made.entity), Some(made.order)),
            Err(ended) => match final_failure(ended)? {
                // Wrong arguments leave neither a key nor a record.
                violation @ FinalFailure::Violation(_) => {
                    session.roll_back().await;
                    return Ok(KeyOutcome::Failed(violation));
                }
                refusal => (
                    KeyOutcome::Failed(refusal),
                    change::about(request).map(str::to_owned),
                ),
            },
        };
        let record = self.ids.next("rec", at);
        claim
            .settle(&mut session, (at, &outcome), (record, order))
            .await?;
        match outcome {
            // Storing a refusal has no effect on orders.
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
        self.delete_old_keys(at);
        Ok(outcome)
    }

    /// Deletes old keys now and then, in the background.
    fn delete_old_keys(&self, now: UtcTime) {
        if !self
            .changes
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(FORGET_EVERY)
        {
            return;
        }
        let (store, oldest_key) = (self.store.clone(), self.oldest_key(now));
        tokio::spawn(async move {
            let deleted = async {
                let mut session = store.begin_write().await?;
                let deleted = keys::delete_before(&mut session, oldest_key).await?;
                session.commit().await?;
                Ok::<_, TransactionError>(deleted)
            };
            match deleted.await {
                Ok(keys) => tracing::debug!(keys, "old idempotency keys were forgotten"),
                // They do no harm; the next run deletes them.
                Err(_) => tracing::debug!("old idempotency keys could not be forgotten"),
            }
        });
    }
}

/// Returns the final failure, which is stored. Any other error ends the transaction.
fn final_failure(ended: TransactionError) -> Result<FinalFailure, TransactionError> {
    match ended {
        TransactionError::Failed(Failure::Final(final_failure, _)) => Ok(*final_failure),
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
