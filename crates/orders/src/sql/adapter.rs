//! The SQL adapter: each change in one transaction with its key, its record and its outcome.

use super::commit_group::ChangeRunner;
use super::connection::{get_text, sql};
use super::dialect::SqlDialect;
use super::ids::IdGenerator;
use super::keys::KeyOutcome;
use super::lanes::Lanes;
use super::pending_change::PendingChange;
use super::query;
use super::record_removal::RecordRemoval;
use super::store::{DatabaseUrl, Store, StoreError};
use super::tables::FORMAT;
use crate::adapter::{
    Adapter, AdapterFuture, NotReady, ReadinessFuture, Request, RequestContext, Response,
};
use crate::failure::Failure;
use candor_fault::Cause;
use candor_street::{Clock, MetricsHub, Random};
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The time that a key is kept, unless the owner configures another.
pub const KEEP_KEYS: Duration = Duration::from_secs(24 * 60 * 60);

/// The most connections to a server, unless the owner configures another number.
pub const CONNECTIONS: u32 = 16;

/// The most connections to a server for queries, unless the owner configures another number.
pub const READ_CONNECTIONS: u32 = 8;

/// The most changes that share a commit, unless the owner configures another number.
pub const COMMIT_GROUP: u16 = 64;

/// The configuration of the SQL adapter.
#[derive(Debug, Clone, Copy)]
pub struct SqlConfig {
    pub keep_keys: Duration,
    /// The most connections to a server for changes.
    pub connections: u32,
    /// The most connections to a server for queries, so that they never wait for changes.
    pub read_connections: u32,
    /// The most changes that share a commit; 1 for none.
    pub commit_group: u16,
    /// The time after which the database cancels a statement: that of a call.
    pub deadline: Duration,
    /// Takes times from the clock of a PostgreSQL server, which several servers share. A file has
    /// the clock of its server.
    pub database_clock: bool,
    /// The time after which records are removed. If absent, they are kept.
    pub keep_records: Option<Duration>,
}

impl Default for SqlConfig {
    fn default() -> Self {
        SqlConfig {
            keep_keys: KEEP_KEYS,
            connections: CONNECTIONS,
            read_connections: READ_CONNECTIONS,
            commit_group: COMMIT_GROUP,
            deadline: crate::adapter::DEADLINE,
            database_clock: true,
            keep_records: None,
        }
    }
}

/// An order system in a database of its own.
pub struct SqlAdapter {
    runner: Arc<ChangeRunner>,
    _record_removal: Option<RecordRemoval>,
}

impl fmt::Debug for SqlAdapter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SqlAdapter")
            .field("store", &self.runner.store)
            .field("keep_keys", &self.runner.keep_keys)
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
        let connections = (config.read_connections, config.connections);
        let store = Store::open_sized(database, connections, config.deadline).await?;
        let runner = ChangeRunner {
            clock,
            ids: IdGenerator(random),
            keep_keys: config.keep_keys,
            database_clock: config.database_clock && store.dialect == SqlDialect::Postgres,
            lanes: Arc::new(Lanes::new(store.writers())),
            group: config.commit_group.into(),
            changes: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            metrics: OnceLock::new(),
            store,
        };
        let runner = Arc::new(runner);
        let keep_records = config.keep_records;
        let removal = keep_records.map(|keep| RecordRemoval::start(Arc::clone(&runner), keep));
        Ok(SqlAdapter {
            runner,
            _record_removal: removal,
        })
    }

    /// Returns the number of changes that wait for their turn or are being made.
    pub fn open_changes(&self) -> usize {
        self.runner.open.load(Ordering::Relaxed)
    }

    pub async fn close(&self) {
        self.runner.store.close().await;
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
        let change = PendingChange::new(request, key, context);
        match self.runner.run(change, context.deadline).await? {
            KeyOutcome::Done(entity) => Ok(Response::one(entity)),
            KeyOutcome::Failed(final_failure) => Err(Failure::Final(Box::new(final_failure), None)),
        }
    }
}

impl SqlAdapter {
    /// Reads the format of the tables.
    async fn check(&self) -> Result<(), NotReady> {
        let query = || sql("SELECT value FROM settings WHERE name = 'format'");
        let rows = self.runner.store.read(query).await;
        let rows = rows.map_err(|_| NotReady::Unreachable)?;
        let format = rows.first().and_then(|row| get_text(row, 0).ok());
        match format == Some(FORMAT.to_string()) {
            true => Ok(()),
            false => Err(NotReady::Format),
        }
    }
}

impl Adapter for SqlAdapter {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn readiness(&self) -> ReadinessFuture<'_> {
        Box::pin(self.check())
    }

    fn call<'a>(&'a self, request: &'a Request, context: &'a RequestContext) -> AdapterFuture<'a> {
        Box::pin(async move {
            match request {
                Request::Query(asked) => query::page(&self.runner.store, asked).await,
                _ => self.change(request, context).await,
            }
        })
    }

    fn keeps_keys(&self) -> bool {
        true
    }

    fn report_to(&self, metrics: &MetricsHub) {
        // One adapter belongs to one server.
        if self.runner.metrics.set(metrics.clone()).is_err() {
            return;
        }
        // The metrics may outlive the adapter.
        let runner = Arc::downgrade(&self.runner);
        metrics.observe(move |metrics| {
            if let Some(runner) = runner.upgrade() {
                runner.store.report_connections(metrics);
                let waiting = runner.lanes.waiting();
                metrics.set_changes_waiting(i64::try_from(waiting).unwrap_or(i64::MAX));
            }
        });
    }
}
