//! The database of a local forge: one SQLite file, durable when a transaction is committed.

use super::errors::{LocalForgeError, OrBroken};
use super::git_files;
use super::tables::{FORMAT, upgrade};
use crate::Failure;
use candor_street::EffectMark;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, Transaction};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The file of the database. No owner can have this name, because the file has the path that the
/// owner's directory would have.
pub(super) const FILE: &str = "forge.db";

/// The time a writer waits for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of connections. One of them writes.
const CONNECTIONS: u32 = 4;

/// The database of a forge.
#[derive(Clone)]
pub(super) struct Database {
    pool: SqlitePool,
    /// A connection that is never used and never closed before the pool. It keeps the shared memory of
    /// the journal on the disk: without it the last connection to close would remove it, and on a full
    /// disk no other connection could be opened, not even for reading.
    anchor: Arc<Mutex<SqliteConnection>>,
}

/// A transaction for writing. It is rolled back if it is dropped.
pub(super) struct WriteTransaction(Transaction<'static, Sqlite>);

impl WriteTransaction {
    /// Commits. A transaction that fails because the disk is full is rolled back.
    pub(super) async fn commit(self, what: &'static str) -> Result<(), Failure> {
        self.0.commit().await.or_broken(what)
    }

    /// Commits the change of a call. Nothing was changed if the disk is full.
    pub(super) async fn commit_change(
        self,
        what: &'static str,
        mark: &EffectMark,
    ) -> Result<(), Failure> {
        let committed = self.commit(what).await;
        match &committed {
            Ok(()) => mark.done(),
            Err(Failure::DiskFull(_)) => mark.undone(),
            Err(_) => {}
        }
        committed
    }
}

impl Deref for WriteTransaction {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.0
    }
}

impl DerefMut for WriteTransaction {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.0
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// Opens the database of an existing forge. One of an older format is migrated in one transaction.
    pub(super) async fn open(dir: &Path) -> Result<Database, LocalForgeError> {
        if !dir.join(FILE).is_file() {
            return Err(LocalForgeError::NotAForge(dir.to_path_buf()));
        }
        let database = connect(dir, false).await?;
        let mut connection = database.read().await?;
        let format = database.format(&mut connection).await?;
        drop(connection);
        match format {
            // A file without tables is left by an interrupted creation.
            None => return Err(LocalForgeError::NotAForge(dir.to_path_buf())),
            Some(FORMAT) => {}
            Some(_) => database.migrate().await?,
        }
        Ok(database)
    }

    /// Migrates a database of an older format and refuses one of a newer format.
    async fn migrate(&self) -> Result<(), LocalForgeError> {
        const WHAT: &str = "the database could not be migrated";
        let mut writing = self.write().await?;
        // Another process may have migrated it meanwhile.
        let format = self.format(&mut writing).await?;
        check_format(format, FORMAT)?;
        upgrade(&mut writing, format.unwrap_or_default(), WHAT).await?;
        writing.commit(WHAT).await?;
        Ok(())
    }

    /// Creates the database of a new forge.
    pub(super) async fn create(dir: &Path) -> Result<Database, LocalForgeError> {
        const WHAT: &str = "the database could not be made";
        let database = connect(dir, true).await?;
        let mut writing = database.write().await?;
        let format = database.format(&mut writing).await?;
        check_format(format, FORMAT)?;
        upgrade(&mut writing, format.unwrap_or_default(), WHAT).await?;
        writing.commit(WHAT).await?;
        git_files::sync_directory(dir).or_broken(WHAT)?;
        Ok(database)
    }

    /// Closes the database and merges its journal into the file.
    pub(super) async fn close(self) {
        self.pool.close().await;
        let anchor = Arc::into_inner(self.anchor).map(Mutex::into_inner);
        if let Some(Ok(anchor)) = anchor {
            // An error leaves the journal beside the file, where the next program finds it.
            drop(anchor.close().await);
        }
    }

    /// Returns a connection for reading.
    pub(super) async fn read(&self) -> Result<PoolConnection<Sqlite>, Failure> {
        let connection = self.pool.acquire().await;
        connection.or_broken("the database could not be opened")
    }

    /// Starts a transaction for writing. Its reads do not change before it is committed.
    pub(super) async fn write(&self) -> Result<WriteTransaction, Failure> {
        let writing = self.pool.begin_with("BEGIN IMMEDIATE").await;
        let writing = writing.or_broken("the database could not be locked for writing")?;
        Ok(WriteTransaction(writing))
    }

    async fn format(&self, connection: &mut SqliteConnection) -> Result<Option<u64>, Failure> {
        const WHAT: &str = "the database could not be read";
        let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'meta'";
        let meta: Option<String> = sqlx::query_scalar(tables)
            .fetch_optional(&mut *connection)
            .await
            .or_broken(WHAT)?;
        match meta {
            None => Ok(None),
            Some(_) => {
                let format = fact(connection, "format").await?;
                // No version of the program wrote anything but a number.
                Ok(Some(
                    format
                        .and_then(|text| text.parse().ok())
                        .unwrap_or(u64::MAX),
                ))
            }
        }
    }
}

/// Refuses a format that is newer than the newest known one.
fn check_format(format: Option<u64>, known: u64) -> Result<(), LocalForgeError> {
    match format {
        Some(found) if found > known => Err(LocalForgeError::Newer { found, known }),
        _ => Ok(()),
    }
}

/// Reads a row of the table `meta`.
pub(super) async fn fact(
    connection: &mut SqliteConnection,
    key: &str,
) -> Result<Option<String>, Failure> {
    let value = sqlx::query_scalar("SELECT value FROM meta WHERE key = ?")
        .bind(key)
        .fetch_optional(connection)
        .await;
    value.or_broken("the database could not be read")
}

async fn connect(dir: &Path, create: bool) -> Result<Database, Failure> {
    let options = SqliteConnectOptions::new()
        .filename(dir.join(FILE))
        .create_if_missing(create)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(PATIENCE)
        .disable_statement_logging();
    const WHAT: &str = "the database could not be opened";
    let anchor = SqliteConnection::connect_with(&options).await;
    let mut anchor = anchor.or_broken(WHAT)?;
    // The shared memory is made by the first read.
    let read = sqlx::query("SELECT count(*) FROM sqlite_master").execute(&mut anchor);
    read.await.or_broken(WHAT)?;
    // After an error SQLite may have rolled back by itself, and the driver's own rollback then fails: the
    // driver takes the connection to be in a transaction for ever. Such a connection is closed.
    let pool = SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .after_release(|connection, _| {
            Box::pin(async move {
                connection.ping().await?;
                Ok(!connection.is_in_transaction())
            })
        });
    let pool = pool.connect_with(options).await.or_broken(WHAT)?;
    Ok(Database {
        pool,
        anchor: Arc::new(Mutex::new(anchor)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_of_format_1_refuses_format_2() {
        let refused = check_format(Some(2), 1);
        assert!(matches!(
            refused,
            Err(LocalForgeError::Newer { found: 2, known: 1 })
        ));
        assert!(check_format(Some(1), 1).is_ok() && check_format(None, 1).is_ok());
    }
}
