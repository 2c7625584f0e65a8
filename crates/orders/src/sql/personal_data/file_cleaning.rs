//! Removes old bytes of erased rows from a SQLite file.
//!
//! `secure_delete` overwrites rows that are deleted from now on. Older copies of a row may be in
//! free space of the file: servers write without it, and SQLite moves rows between pages. So the
//! file is rewritten as a whole, and then the write-ahead log is truncated. A row of `settings`
//! records that this is still to be done, in case the process is killed.

use crate::sql::connection::sql;
use crate::sql::store::StoreError;
use sqlx::{AnyConnection, Row as _};
use std::time::Duration;

/// The most attempts to truncate the write-ahead log while others read from it. Each of them waits
/// for the readers as long as for a lock.
const ATTEMPTS: u32 = 6;

/// The wait between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// Records that the file is to be cleaned, in the transaction of the connection.
pub(super) async fn require(connection: &mut AnyConnection) -> Result<(), StoreError> {
    let statement = "INSERT INTO settings (name, value) VALUES ('erasure', 'pending')
         ON CONFLICT (name) DO NOTHING";
    sql(statement).execute(connection).await?;
    Ok(())
}

/// Cleans the file if that was recorded, by this process or by one that was killed. Returns true if
/// it was.
pub(super) async fn clean_if_required(connection: &mut AnyConnection) -> Result<bool, StoreError> {
    let required = sql("SELECT value FROM settings WHERE name = 'erasure'");
    if required.fetch_optional(&mut *connection).await?.is_none() {
        return Ok(false);
    }
    sql("VACUUM").execute(&mut *connection).await?;
    truncate_log(connection).await?;
    sql("DELETE FROM settings WHERE name = 'erasure'")
        .execute(connection)
        .await?;
    Ok(true)
}

/// Copies the write-ahead log into the file and truncates it.
async fn truncate_log(connection: &mut AnyConnection) -> Result<(), StoreError> {
    for _ in 0..ATTEMPTS {
        let checkpoint = sql("PRAGMA wal_checkpoint(TRUNCATE)");
        let row = checkpoint.fetch_one(&mut *connection).await?;
        let is_busy: i64 = row.try_get(0)?;
        if is_busy == 0 {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    let reason = "others read from its write-ahead log without a pause";
    Err(StoreError::Unreachable(reason.to_owned()))
}
