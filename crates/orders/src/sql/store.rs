//! A database of orders: its connection pools, reads and transactions.

use super::connection::{AnyQuery, DbConnection};
use super::dialect::{DatabaseErrorKind, SqlDialect};
use super::errors::{TransactionError, to_transaction_error};
use super::tables::FORMAT;
use crate::model::Currency;
use candor_street::MetricsHub;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, AnyRow};
use sqlx::{
    AnyConnection, AnyPool, AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _,
};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The time that connecting may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The connections that read a file at once.
const READERS: u32 = 4;

/// The end of the address of a file that is created if it is missing.
const CREATING: &str = "?mode=rwc";

/// The settings that the address of a PostgreSQL database may have.
const SETTINGS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// The address of a database of orders.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    url: String,
    dialect: SqlDialect,
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may contain a password.
        write!(out, "DatabaseUrl({:?})", self.dialect)
    }
}

impl DatabaseUrl {
    /// Returns the address of an SQLite file, or `None` if the path is not UTF-8.
    pub fn file(path: &Path) -> Option<DatabaseUrl> {
        let mut url = String::from("sqlite://");
        for byte in path.to_str()?.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                    url.push(char::from(byte));
                }
                // Any other byte is percent-encoded.
                _ => url.push_str(&format!("%{byte:02X}")),
            }
        }
        url.push_str(CREATING);
        let dialect = SqlDialect::Sqlite;
        Some(DatabaseUrl { url, dialect })
    }

    pub(super) const fn dialect(&self) -> SqlDialect {
        self.dialect
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the address under which a missing file is not created.
    pub(super) fn existing(&self) -> String {
        match self.dialect {
            SqlDialect::Sqlite => self.url.replace(CREATING, "?mode=rw"),
            SqlDialect::Postgres => self.url.clone(),
        }
    }

    /// Returns the address of a PostgreSQL database, `postgres://user:password@host/database`. An
    /// unknown setting is refused: the client would log it with its value, which may be a password
    /// after a typing error.
    pub fn postgres(url: &str) -> Option<DatabaseUrl> {
        let known = ["postgres://", "postgresql://"];
        let is_address = known.iter().any(|scheme| url.starts_with(scheme));
        let settings = url.split_once('?').map_or("", |(_, settings)| settings);
        let settings = settings.split('#').next().unwrap_or_default();
        let mut names = settings
            .split('&')
            .filter(|setting| !setting.is_empty())
            .map(|setting| setting.split('=').next().unwrap_or_default());
        let dialect = SqlDialect::Postgres;
        let url = url.to_owned();
        (is_address && names.all(|name| SETTINGS.contains(&name)))
            .then_some(DatabaseUrl { url, dialect })
    }
}

#[derive(Clone)]
pub(super) struct Store {
    pub(super) dialect: SqlDialect,
    pub(super) currency: Currency,
    reads: ConnectionQueue,
    writes: ConnectionQueue,
}

/// A pool and the queue in front of it. Waiting in the queue may take as long as a call; an
/// unreachable database is noticed sooner.
#[derive(Clone)]
struct ConnectionQueue {
    databases: Arc<Semaphore>,
    pool: AnyPool,
}

impl ConnectionQueue {
    fn new(pool: AnyPool) -> ConnectionQueue {
        let most = pool.options().get_max_connections();
        let databases = Semaphore::new(usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS));
        ConnectionQueue {
            databases: Arc::new(databases),
            pool,
        }
    }

    async fn next(&self, dialect: SqlDialect) -> Result<DbConnection, TransactionError> {
        let closed = |_| to_transaction_error(sqlx::Error::PoolClosed, dialect);
        let database = Arc::clone(&self.databases).acquire_owned().await;
        let database = database.map_err(closed)?;
        let connection = self.pool.acquire().await;
        let connection = connection.map_err(|error| to_transaction_error(error, dialect))?;
        Ok(DbConnection::new(connection, database, dialect))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Store({:?})", self.dialect)
    }
}

/// Connects the read pool and the write pool. A file has one writer, so that writers queue instead
/// of polling a lock; a server has as many as configured.
pub(super) async fn connect_pools(
    database: &DatabaseUrl,
    connections: u32,
    deadline: Duration,
) -> Result<(AnyPool, AnyPool), sqlx::Error> {
    connect_sized_pools(database, (connections, connections), deadline).await
}

/// As [`connect_pools`], with this many connections of a server for queries and for changes.
async fn connect_sized_pools(
    database: &DatabaseUrl,
    (queries, changes): (u32, u32),
    deadline: Duration,
) -> Result<(AnyPool, AnyPool), sqlx::Error> {
    sqlx::any::install_default_drivers();
    let options: AnyConnectOptions = database.url.parse()?;
    // Slow statements would be logged with their whole text, which nobody can act on.
    let options = options.disable_statement_logging();
    let dialect = database.dialect;
    let pool = |most: u32, further: Vec<String>| {
        AnyPoolOptions::new()
            .max_connections(most)
            .acquire_timeout(PATIENCE)
            // A connection that broke while it was idle fails its first statement; then another one
            // is tried.
            .test_before_acquire(false)
            .after_connect(move |connection, _| {
                let greeting = [dialect.connection_setup(deadline), further.clone()];
                Box::pin(set_up(connection, greeting.concat()))
            })
    };
    let (queries, changes) = match dialect {
        SqlDialect::Sqlite => (READERS, 1),
        SqlDialect::Postgres => (queries, changes),
    };
    let writes = pool(changes, dialect.write_setup());
    let writes = connect_pool(writes, &options, dialect, deadline).await?;
    let reads = pool(queries, Vec::new()).connect_lazy_with(options);
    Ok((reads, writes))
}

async fn connect_pool(
    pool: AnyPoolOptions,
    options: &AnyConnectOptions,
    dialect: SqlDialect,
    deadline: Duration,
) -> Result<AnyPool, sqlx::Error> {
    // A pool retries and hides the reason; a single connection reports it.
    let alone = async || {
        let connection = async {
            let mut connection = AnyConnection::connect_with(options).await?;
            set_up(&mut connection, dialect.connection_setup(deadline)).await?;
            connection.close().await
        };
        let late = Err(sqlx::Error::PoolTimedOut);
        tokio::time::timeout(PATIENCE, connection)
            .await
            .unwrap_or(late)
    };
    match alone().await {
        // A retry would not help.
        Err(sqlx::Error::Database(reason))
            if dialect.classify(reason.as_ref()) == DatabaseErrorKind::Bug =>
        {
            return Err(sqlx::Error::Database(reason));
        }
        _ => {}
    }
    match pool.connect_with(options.clone()).await {
        Err(late @ sqlx::Error::PoolTimedOut) => Err(alone().await.err().unwrap_or(late)),
        done => done,
    }
}

pub(super) async fn set_up(
    connection: &mut AnyConnection,
    greeting: Vec<String>,
) -> Result<(), sqlx::Error> {
    for statement in greeting {
        connection.execute(AssertSqlSafe(statement)).await?;
    }
    Ok(())
}

/// The reason why a database of orders cannot be used.
#[derive(Debug)]
pub enum StoreError {
    /// The database cannot be reached or queried.
    Unreachable(String),
    Empty,
    /// The tables have an older format.
    Older(i64),
    /// The tables were created by a newer program.
    Newer(i64),
    /// The tables belong to something else.
    Foreign(&'static str),
    /// The database found damage of its own files.
    Damaged(String),
    /// Somebody else held a lock for too long.
    Locked(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Unreachable(reason) => write!(out, "the database cannot be used: {reason}"),
            StoreError::Empty => out.write_str("the database has no tables for orders yet"),
            StoreError::Older(format) => write!(
                out,
                "the tables have format {format}, and this program works with {FORMAT}"
            ),
            StoreError::Newer(format) => write!(
                out,
                "the tables have format {format}, and this program knows {FORMAT}: it was made by a newer one"
            ),
            StoreError::Foreign(what) => write!(out, "the tables are not ours: {what}"),
            StoreError::Locked(reason) => {
                write!(out, "the database is in use by somebody else: {reason}")
            }
            StoreError::Damaged(reason) => write!(out, "the database is damaged: {reason}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        // Without the codes and positions that the client adds.
        match &error {
            sqlx::Error::Database(error) if is_damage(&error.code().unwrap_or_default()) => {
                StoreError::Damaged(error.message().to_owned())
            }
            sqlx::Error::Database(error) if is_lock_wait(&error.code().unwrap_or_default()) => {
                StoreError::Locked(error.message().to_owned())
            }
            sqlx::Error::Database(error) => StoreError::Unreachable(error.message().to_owned()),
            error => StoreError::Unreachable(error.to_string()),
        }
    }
}

/// Returns true for the code of damaged data: `SQLITE_CORRUPT` with any detail, or a SQLSTATE of
/// PostgreSQL.
fn is_damage(code: &str) -> bool {
    sqlite_kind(code) == Some(11) || ["XX001", "XX002"].contains(&code)
}

/// Returns true for the code of a lock that was not released in time: `SQLITE_BUSY`, or a SQLSTATE.
fn is_lock_wait(code: &str) -> bool {
    sqlite_kind(code) == Some(5) || code == "55P03"
}

/// Returns the lowest byte of a result code of SQLite. A SQLSTATE of PostgreSQL has five characters.
fn sqlite_kind(code: &str) -> Option<u32> {
    let code = Some(code).filter(|code| code.len() < 5)?;
    code.parse::<u32>().ok().map(|code| code & 0xff)
}

impl From<crate::failure::Failure> for StoreError {
    /// The failure of reading a row.
    fn from(_: crate::failure::Failure) -> Self {
        StoreError::Foreign("a row of theirs has another form")
    }
}

impl Store {
    /// Opens a database that has its tables.
    pub(super) async fn open(
        database: &DatabaseUrl,
        connections: u32,
        deadline: Duration,
    ) -> Result<Store, StoreError> {
        Store::open_sized(database, (connections, connections), deadline).await
    }

    /// As [`Store::open`], with this many connections of a server for queries and for changes.
    pub(super) async fn open_sized(
        database: &DatabaseUrl,
        connections: (u32, u32),
        deadline: Duration,
    ) -> Result<Store, StoreError> {
        let dialect = database.dialect;
        let (reads, writes) = connect_sized_pools(database, connections, deadline).await?;
        let mut connection = writes.acquire().await?;
        let currency = read_currency(&mut connection, dialect).await?;
        drop(connection);
        Ok(Store {
            dialect,
            currency,
            reads: ConnectionQueue::new(reads),
            writes: ConnectionQueue::new(writes),
        })
    }

    /// Returns the most transactions that write at once.
    pub(super) fn writers(&self) -> NonZeroUsize {
        let most = self.writes.pool.options().get_max_connections();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN)
    }

    /// Returns all rows of a query. `query` is called once for every connection that is tried.
    pub(super) async fn read(
        &self,
        query: impl Fn() -> AnyQuery,
    ) -> Result<Vec<AnyRow>, TransactionError> {
        let mut broken = self.idle(&self.reads);
        loop {
            let mut session = self.reads.next(self.dialect).await?;
            match session.all(query()).await {
                Ok(rows) => {
                    session.finish();
                    return Ok(rows);
                }
                Err(ended) if broken > 0 && ended.is_unavailable() => broken -= 1,
                Err(ended) => return Err(ended),
            }
        }
    }

    /// Starts a transaction that writes. Each of its statements waits at most `lock_wait` for a lock.
    pub(super) async fn begin_write(
        &self,
        lock_wait: Duration,
    ) -> Result<DbConnection, TransactionError> {
        let mut broken = self.idle(&self.writes);
        loop {
            let mut session = self.writes.next(self.dialect).await?;
            match session.begin(lock_wait).await {
                Ok(()) => return Ok(session),
                Err(ended) if broken > 0 && ended.is_unavailable() => broken -= 1,
                Err(ended) => return Err(ended),
            }
        }
    }

    /// Returns how many connections may be broken: a restarted server has broken every idle one.
    /// Nothing was done on them yet, so another one is tried.
    fn idle(&self, line: &ConnectionQueue) -> u32 {
        match self.dialect {
            SqlDialect::Sqlite => 0,
            SqlDialect::Postgres => line.pool.size(),
        }
    }

    /// Sets the numbers of connections, by pool.
    pub(super) fn report_connections(&self, metrics: &MetricsHub) {
        for (name, queue) in [("read", &self.reads), ("write", &self.writes)] {
            let idle = i64::try_from(queue.pool.num_idle()).unwrap_or(i64::MAX);
            // Both numbers change while they are read.
            let used = i64::from(queue.pool.size()).saturating_sub(idle).max(0);
            metrics.set_orders_connections(name, "idle", idle);
            metrics.set_orders_connections(name, "used", used);
        }
    }

    /// The connections that write, for work outside of a call.
    pub(super) const fn write_pool(&self) -> &AnyPool {
        &self.writes.pool
    }

    pub(super) async fn close(&self) {
        self.reads.pool.close().await;
        self.writes.pool.close().await;
    }
}

/// Reads the currency of the store, after checking that its tables belong to this program.
pub(super) async fn read_currency(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
) -> Result<Currency, StoreError> {
    let tables: i64 = sqlx::query_scalar(dialect.count_our_tables())
        .fetch_one(&mut *connection)
        .await?;
    if tables == 0 {
        return Err(StoreError::Empty);
    }
    let format = read_setting(connection, dialect, "format").await?;
    let format = format.and_then(|text| text.parse().ok());
    match format {
        None => return Err(StoreError::Foreign("they have no format")),
        Some(format) if format > FORMAT => return Err(StoreError::Newer(format)),
        Some(format) if format < FORMAT => return Err(StoreError::Older(format)),
        Some(_) => {}
    }
    let currency = read_setting(connection, dialect, "currency").await?;
    let currency = currency.as_deref().and_then(Currency::read);
    currency.ok_or(StoreError::Foreign("they have no currency"))
}

async fn read_setting(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
    name: &'static str,
) -> Result<Option<String>, StoreError> {
    let value = sqlx::query_scalar("SELECT value FROM settings WHERE name = $1").bind(name);
    let value = value.fetch_optional(connection).await;
    value.map_err(|error| match &error {
        sqlx::Error::Database(reason)
            if dialect.classify(reason.as_ref()) == DatabaseErrorKind::Bug =>
        {
            StoreError::Foreign("their settings have another form")
        }
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_with_unknown_setting_is_refused() {
        let known = |url| DatabaseUrl::postgres(url).is_some();
        assert!(known("postgres://u:p@h/db"));
        assert!(known("postgresql://u@h/db?sslmode=require&password=x#y"));
        assert!(!known("postgres://u@h/db?passwrd=x"));
        assert!(!known("mysql://h/db"));
    }
}
