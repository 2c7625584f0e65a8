//! Imports a catalogue with its stock into a store, all of it or nothing. A second import of the
//! same catalogue changes nothing.

mod file;
mod schema;
mod write;

use super::store::{DatabaseUrl, Store, StoreError};
use crate::model::{MoneyError, UtcTime};
use sqlx::{AnyConnection, Connection as _};
use std::fmt;
use std::time::Duration;
use write::ImportWriter;

/// The time that one statement may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// The most units of one SKU at one location.
pub const MAX_STOCK: i64 = 1_000_000_000;

/// The longest file, in bytes.
pub const MAX_IMPORT: u64 = 64 * 1024 * 1024;

/// The numbers of created, changed and unchanged rows of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportCounts {
    pub made: u64,
    pub changed: u64,
    pub same: u64,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportReport {
    pub locations: ImportCounts,
    pub products: ImportCounts,
    pub variants: ImportCounts,
    pub stock: ImportCounts,
}

/// The reason why a catalogue was not imported. Nothing of it was. A `field` is a dotted path in
/// the file.
#[derive(Debug)]
pub enum ImportError {
    Store(StoreError),
    /// The file is not JSON, or an object has a member twice.
    Json(String),
    /// The schema of catalogues does not compile.
    Schema,
    /// The file does not match its schema.
    Invalid {
        field: String,
        expected: String,
    },
    /// The file contains the same id twice.
    Twice(String),
    /// A price is not an amount of the store's currency.
    Price(String, MoneyError),
    /// Neither the file nor the store has this location.
    Location(String),
    /// The SKU is the id of another variant in the store.
    Taken(String),
    /// Orders have reserved more units than the import leaves.
    Reserved {
        field: String,
        reserved: i64,
    },
}

impl fmt::Display for ImportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Store(unusable) => unusable.fmt(out),
            ImportError::Json(reason) => write!(out, "it is no catalogue in JSON: {reason}"),
            ImportError::Schema => out.write_str("the schema of catalogues could not be set up"),
            ImportError::Invalid { field, expected } if field.is_empty() => {
                write!(out, "expected {expected}")
            }
            ImportError::Invalid { field, expected } => write!(out, "{field}: expected {expected}"),
            ImportError::Twice(field) => write!(out, "{field}: stands there twice"),
            ImportError::Price(field, reason) => write!(out, "{field}: {reason}"),
            ImportError::Location(field) => write!(out, "{field}: there is no such location"),
            ImportError::Taken(field) => write!(out, "{field}: is the id of another variant"),
            ImportError::Reserved { field, reserved } => write!(
                out,
                "{field}: orders have reserved {reserved}, which is more than would be there"
            ),
        }
    }
}

impl std::error::Error for ImportError {}

impl From<sqlx::Error> for ImportError {
    fn from(error: sqlx::Error) -> Self {
        ImportError::Store(error.into())
    }
}

/// Imports the catalogue in `text` at the time `at`. The store must have its tables.
pub async fn import(
    database: &DatabaseUrl,
    text: &str,
    at: UtcTime,
) -> Result<ImportReport, ImportError> {
    let store = Store::open(database, 2, DEADLINE)
        .await
        .map_err(ImportError::Store)?;
    let imported = run(&store, text, at).await;
    store.close().await;
    imported
}

async fn run(store: &Store, text: &str, at: UtcTime) -> Result<ImportReport, ImportError> {
    let catalogue = file::read(text, store.currency)?;
    // If anything fails, closing the connection rolls the transaction back.
    let mut connection: AnyConnection = store.write_pool().acquire().await?.detach();
    let dialect = store.dialect;
    sqlx::query(dialect.begin())
        .execute(&mut connection)
        .await?;
    if let Some(lock) = dialect.migration_lock() {
        sqlx::query(lock).execute(&mut connection).await?;
    }
    let mut writing = ImportWriter {
        connection: &mut connection,
        dialect,
        at: at.micros(),
    };
    let imported = writing.all(&catalogue).await?;
    sqlx::query("COMMIT").execute(&mut connection).await?;
    connection.close().await?;
    Ok(imported)
}
