//! The database of a local forge: one SQLite file, durable when a transaction is committed.

use super::errors::{LocalForgeError, OrBroken};
use super::git_files;
use crate::Failure;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Sqlite, Transaction};
use std::path::Path;
use std::time::Duration;

/// The file of the database. No owner can have this name, because the file has the path that the
/// owner's directory would have.
pub(super) const FILE: &str = "forge.db";

/// The format version.
const FORMAT: u64 = 1;

/// The time a writer waits for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of connections. One of them writes.
const CONNECTIONS: u32 = 4;

const TABLES: [&str; 5] = [
    "CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE pulls (
        repo TEXT NOT NULL, number BIGINT NOT NULL, title TEXT NOT NULL, body TEXT,
        state TEXT NOT NULL, draft BIGINT NOT NULL,
        head TEXT NOT NULL, head_owner TEXT, head_sha TEXT NOT NULL, base TEXT NOT NULL,
        author TEXT, merging_sha TEXT, merging_from TEXT, merged_sha TEXT,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, closed_at BIGINT, merged_at BIGINT,
        PRIMARY KEY (repo, number))",
    "CREATE UNIQUE INDEX open_pulls ON pulls (repo, lower(coalesce(head_owner, '')), head, base)
        WHERE state IN ('open', 'merging')",
    "CREATE TABLE statuses (
        repo TEXT NOT NULL, sha TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
        description TEXT, at BIGINT NOT NULL, PRIMARY KEY (repo, sha, name))",
    "CREATE TABLE protections (
        repo TEXT NOT NULL, branch TEXT NOT NULL, require_pull_request BIGINT NOT NULL,
        locked BIGINT NOT NULL, required_checks TEXT NOT NULL, PRIMARY KEY (repo, branch))",
];

/// The database of a forge.
#[derive(Debug, Clone)]
pub(super) struct Database {
    pool: SqlitePool,
}

impl Database {
    /// Opens the database of an existing forge.
    pub(super) async fn open(dir: &Path) -> Result<Database, LocalForgeError> {
        if !dir.join(FILE).is_file() {
            return Err(LocalForgeError::NotAForge(dir.to_path_buf()));
        }
        let database = connect(dir, false).await?;
        let mut connection = database.read().await?;
        match database.format(&mut connection).await? {
            // A file without tables is left by an interrupted creation.
            None => Err(LocalForgeError::NotAForge(dir.to_path_buf())),
            format => check_format(format).map(|()| database),
        }
    }

    /// Creates the database of a new forge.
    pub(super) async fn create(dir: &Path) -> Result<Database, LocalForgeError> {
        const WHAT: &str = "the database could not be made";
        let database = connect(dir, true).await?;
        let mut writing = database.write().await?;
        let format = database.format(&mut writing).await?;
        check_format(format)?;
        if format.is_none() {
            for table in TABLES {
                let created = sqlx::query(table).execute(&mut *writing).await;
                created.or_broken(WHAT)?;
            }
            sqlx::query("INSERT INTO meta (key, value) VALUES ('format', ?)")
                .bind(FORMAT.to_string())
                .execute(&mut *writing)
                .await
                .or_broken(WHAT)?;
        }
        writing.commit().await.or_broken(WHAT)?;
        git_files::sync_directory(dir).or_broken(WHAT)?;
        Ok(database)
    }

    /// Closes the database and merges its journal into the file.
    pub(super) async fn close(self) {
        self.pool.close().await;
    }

    /// Returns a connection for reading.
    pub(super) async fn read(&self) -> Result<sqlx::pool::PoolConnection<Sqlite>, Failure> {
        let connection = self.pool.acquire().await;
        connection.or_broken("the database could not be opened")
    }

    /// Starts a transaction for writing. Its reads do not change before it is committed.
    pub(super) async fn write(&self) -> Result<Transaction<'static, Sqlite>, Failure> {
        let writing = self.pool.begin_with("BEGIN IMMEDIATE").await;
        writing.or_broken("the database could not be locked for writing")
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

fn check_format(format: Option<u64>) -> Result<(), LocalForgeError> {
    match format {
        Some(found) if found > FORMAT => Err(LocalForgeError::Newer {
            found,
            known: FORMAT,
        }),
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
    let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS);
    let pool = pool.connect_with(options).await;
    let pool = pool.or_broken("the database could not be opened")?;
    Ok(Database { pool })
}
