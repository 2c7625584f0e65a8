//! Brings an owner's own catalogue and stock into a store, all of it or nothing. Bringing the same in
//! again changes nothing.

mod file;
mod schema;
mod write;

use super::store::{DatabaseUrl, Store, StoreError};
use crate::model::{MoneyError, UtcTime};
use sqlx::{AnyConnection, Connection as _};
use std::fmt;
use std::time::Duration;
use write::ImportWriter;

/// How long one statement may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// The most units of one SKU at one location.
pub const STOCK_MAX: i64 = 1_000_000_000;

/// The longest file, in bytes.
pub const IMPORT_MAX: u64 = 64 * 1024 * 1024;

/// How many of one kind were made, changed, and left as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportCounts {
    /// Those that were not there.
    pub made: u64,
    /// Those that were different.
    pub changed: u64,
    /// Those that were the same.
    pub same: u64,
}

/// What bringing a catalogue in came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Locations.
    pub locations: ImportCounts,
    /// Products.
    pub products: ImportCounts,
    /// Variants.
    pub variants: ImportCounts,
    /// Counts of one SKU at one location.
    pub stock: ImportCounts,
}

/// Why a catalogue was not brought in; nothing of it was. A `field` is its place in the file, dotted.
#[derive(Debug)]
pub enum ImportError {
    /// The store cannot be used.
    Store(StoreError),
    /// The file is no JSON, or names a member twice.
    Json(String),
    /// Our own schema of the file does not compile.
    Schema,
    /// The file is not what its schema says.
    Invalid {
        /// Where.
        field: String,
        /// What should be there.
        expected: String,
    },
    /// The file names the same id twice.
    Twice(String),
    /// A price is no amount of the store's currency.
    Price(String, MoneyError),
    /// Neither the file nor the store has this location.
    Location(String),
    /// Another variant of the store has this SKU for its id.
    Taken(String),
    /// Orders have reserved more than would be there.
    Reserved {
        /// Where.
        field: String,
        /// How many are reserved.
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

/// Brings the catalogue in `text` into a store that has its tables; it is `at` now.
pub async fn import(
    place: &DatabaseUrl,
    text: &str,
    at: UtcTime,
) -> Result<ImportReport, ImportError> {
    let store = Store::open(place, 2, DEADLINE)
        .await
        .map_err(ImportError::Store)?;
    let imported = brought(&store, text, at).await;
    store.close().await;
    imported
}

async fn brought(store: &Store, text: &str, at: UtcTime) -> Result<ImportReport, ImportError> {
    let catalogue = file::read(text, store.currency)?;
    // Whatever fails, what was begun is rolled back with its connection.
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
