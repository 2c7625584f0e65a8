//! A consistent copy of a SQLite store while servers use it.

use super::connection::dynamic_sql;
use super::dialect::SqlDialect;
use super::existing_store::ExistingStore;
use super::store::{DatabaseUrl, StoreError};
use std::path::Path;

/// The reason why a store was not copied.
#[derive(Debug)]
pub enum BackupError {
    Store(StoreError),
    /// The copy could not be written.
    Copy(StoreError),
    /// A server is copied with its own programs.
    Server,
    /// The path is not UTF-8.
    Path,
}

impl From<StoreError> for BackupError {
    fn from(error: StoreError) -> Self {
        BackupError::Store(error)
    }
}

/// Copies a SQLite store into a file that is missing or empty. The copy is not synced yet.
pub async fn backup(database: &DatabaseUrl, copy: &Path) -> Result<(), BackupError> {
    if database.dialect() == SqlDialect::Postgres {
        return Err(BackupError::Server);
    }
    let path = copy.to_str().ok_or(BackupError::Path)?;
    let mut store = ExistingStore::open(database).await?;
    // The statement reads one snapshot; changes that are committed meanwhile are not in the copy.
    let into = dynamic_sql(format!("VACUUM INTO '{}'", path.replace('\'', "''")));
    let copied = into.execute(&mut store.connection).await;
    store.close().await?;
    copied.map_err(|error| BackupError::Copy(error.into()))?;
    Ok(())
}
