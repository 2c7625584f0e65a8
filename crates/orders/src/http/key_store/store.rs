//! The file of a key store: the keys of changes, their fingerprints and their final outcomes.

use crate::failure::FinalFailure;
use crate::{IdempotencyKey, OrderOperation};
use candor_fault::to_json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode, SqliteRow, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _, SqliteConnection};
use std::fmt;
use std::path::Path;
use std::time::Duration;
use tokio::sync::Mutex;

/// Marks a SQLite file as a key store.
const APPLICATION: i64 = 0x434b_4559;

/// The format of the table.
const FORMAT: i64 = 1;

/// The time to wait for another server that is about to end.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// The most keys that are deleted at a time.
const DELETED_AT_ONCE: i64 = 500;

const TABLE: &str = "CREATE TABLE outcomes (
    client TEXT NOT NULL,
    tool TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    outcome TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (client, tool, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_by_age ON outcomes (at) WHERE outcome IS NOT NULL;";

/// The reason why a key store cannot be opened.
#[derive(Debug)]
pub enum KeyStoreError {
    /// Another server uses the file.
    InUse,
    /// The file is not a key store.
    Other,
    /// A newer version of this program has written the file.
    Newer(i64),
    Sqlite(sqlx::Error),
}

impl fmt::Display for KeyStoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyStoreError::InUse => out.write_str("another server uses the key store"),
            KeyStoreError::Other => out.write_str("the file is not a key store"),
            KeyStoreError::Newer(format) => write!(
                out,
                "the key store has format {format}, which is newer than {FORMAT}"
            ),
            KeyStoreError::Sqlite(error) => write!(out, "the key store cannot be used: {error}"),
        }
    }
}

impl std::error::Error for KeyStoreError {}

impl From<sqlx::Error> for KeyStoreError {
    fn from(error: sqlx::Error) -> KeyStoreError {
        // 5 is SQLITE_BUSY and 26 is SQLITE_NOTADB.
        let code = error.as_database_error().and_then(|error| error.code());
        match code.and_then(|code| code.parse::<u32>().ok()) {
            Some(code) if code & 0xff == 5 => KeyStoreError::InUse,
            Some(26) => KeyStoreError::Other,
            _ => KeyStoreError::Sqlite(error),
        }
    }
}

/// The final outcome of a change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum StoredOutcome {
    /// The entity, and the number of its texts in which characters were replaced.
    Done {
        cleaned: usize,
        entity: Box<RawValue>,
    },
    Failed {
        /// True if the order system may have made the change.
        unknown: bool,
        failure: FinalFailure,
    },
}

/// The state of a key.
#[derive(Debug)]
pub(super) enum KeyLookup {
    /// The key belongs to this call from now on.
    Claimed,
    /// Another call used the key with other arguments.
    Reused,
    /// The change was sent, and its answer was lost.
    Open,
    Settled(StoredOutcome),
}

/// A key with the operation that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredKey {
    client: String,
    tool: &'static str,
    key: String,
}

impl StoredKey {
    pub(super) fn new(key: &IdempotencyKey, operation: OrderOperation) -> StoredKey {
        StoredKey {
            client: key.client.clone(),
            tool: operation.name(),
            key: key.key.clone(),
        }
    }
}

/// An open key store. It holds the lock of its file until it is dropped.
#[derive(Debug)]
pub(super) struct KeyFile {
    connection: Mutex<SqliteConnection>,
    /// The age, in seconds, from which a final outcome is forgotten.
    keep: i64,
}

impl KeyFile {
    pub(super) async fn open(path: &Path, keep: Duration) -> Result<KeyFile, KeyStoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .locking_mode(SqliteLockingMode::Exclusive)
            .journal_mode(SqliteJournalMode::Wal)
            // A key must be on the disk before its change is sent.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(LOCK_WAIT)
            .disable_statement_logging();
        let mut connection = SqliteConnection::connect_with(&options).await?;
        // In the exclusive mode the lock of this transaction is kept after its end.
        connection.execute("BEGIN EXCLUSIVE").await?;
        let number = |row: SqliteRow| row.try_get::<i64, _>(0);
        let application = connection.fetch_one("PRAGMA application_id").await;
        let application = number(application?)?;
        let format = number(connection.fetch_one("PRAGMA user_version").await?)?;
        let tables = connection
            .fetch_one("SELECT COUNT(*) FROM sqlite_master")
            .await;
        match (application, format, number(tables?)?) {
            (APPLICATION, FORMAT, _) => {}
            (APPLICATION, newer, _) => return Err(KeyStoreError::Newer(newer)),
            (0, 0, 0) => {
                connection.execute(TABLE).await?;
                let marks = format!(
                    "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
                );
                connection.execute(sqlx::AssertSqlSafe(marks)).await?;
            }
            _ => return Err(KeyStoreError::Other),
        }
        connection.execute("COMMIT").await?;
        Ok(KeyFile {
            connection: Mutex::new(connection),
            keep: i64::try_from(keep.as_secs()).unwrap_or(i64::MAX),
        })
    }

    /// Claims a key for a call, unless it is already known. The claim is durable when this returns.
    /// A key whose outcome is old enough is claimed again; one without an outcome never is.
    pub(super) async fn claim(
        &self,
        key: &StoredKey,
        fingerprint: &str,
    ) -> Result<KeyLookup, sqlx::Error> {
        let mut connection = self.connection.lock().await;
        let claimed = sqlx::query(
            "INSERT INTO outcomes (client, tool, key, fingerprint, outcome, at)
             VALUES ($1, $2, $3, $4, NULL, unixepoch())
             ON CONFLICT (client, tool, key) DO UPDATE
             SET fingerprint = excluded.fingerprint, outcome = NULL, at = excluded.at
             WHERE outcomes.outcome IS NOT NULL AND outcomes.at < unixepoch() - $5",
        )
        .bind(&key.client)
        .bind(key.tool)
        .bind(&key.key)
        .bind(fingerprint)
        .bind(self.keep)
        .execute(&mut *connection)
        .await?;
        if claimed.rows_affected() > 0 {
            return Ok(KeyLookup::Claimed);
        }
        let row = sqlx::query(
            "SELECT fingerprint, outcome FROM outcomes WHERE client = $1 AND tool = $2 AND key = $3",
        )
        .bind(&key.client)
        .bind(key.tool)
        .bind(&key.key)
        .fetch_one(&mut *connection)
        .await?;
        if row.try_get::<&str, _>(0)? != fingerprint {
            return Ok(KeyLookup::Reused);
        }
        match row.try_get::<Option<&str>, _>(1)? {
            None => Ok(KeyLookup::Open),
            Some(text) => serde_json::from_str(text)
                .map(KeyLookup::Settled)
                .map_err(|error| sqlx::Error::Decode(Box::new(error))),
        }
    }

    /// Stores the final outcome of a key, and forgets some old ones.
    pub(super) async fn settle(
        &self,
        key: &StoredKey,
        outcome: &StoredOutcome,
    ) -> Result<(), sqlx::Error> {
        let mut connection = self.connection.lock().await;
        sqlx::query("UPDATE outcomes SET outcome = $4, at = unixepoch() WHERE client = $1 AND tool = $2 AND key = $3")
            .bind(&key.client)
            .bind(key.tool)
            .bind(&key.key)
            .bind(to_json(outcome))
            .execute(&mut *connection)
            .await?;
        sqlx::query(
            "DELETE FROM outcomes WHERE (client, tool, key) IN
             (SELECT client, tool, key FROM outcomes
              WHERE outcome IS NOT NULL AND at < unixepoch() - $1 ORDER BY at LIMIT $2)",
        )
        .bind(self.keep)
        .bind(DELETED_AT_ONCE)
        .execute(&mut *connection)
        .await?;
        Ok(())
    }

    /// Forgets a key whose change was not made.
    pub(super) async fn release(&self, key: &StoredKey) -> Result<(), sqlx::Error> {
        let mut connection = self.connection.lock().await;
        sqlx::query(
            "DELETE FROM outcomes WHERE client = $1 AND tool = $2 AND key = $3 AND outcome IS NULL",
        )
        .bind(&key.client)
        .bind(key.tool)
        .bind(&key.key)
        .execute(&mut *connection)
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_outcomes_stay_readable() {
        for stored in [
            r#"{"done":{"cleaned":1,"entity":{"id":"ord_1","total":"1.00"}}}"#,
            r#"{"failed":{"unknown":false,"failure":{"Refused":{"why":"OrderNotFound"}}}}"#,
            r#"{"failed":{"unknown":true,"failure":{"Refused":{"why":"InvalidAdapterResponse"}}}}"#,
        ] {
            let read: StoredOutcome = serde_json::from_str(stored).unwrap();
            assert_eq!(to_json(&read), stored);
        }
    }
}
