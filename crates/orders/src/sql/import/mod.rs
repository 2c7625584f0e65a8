//! Brings an owner's own catalogue and stock into a store, all of it or nothing. Bringing the same in
//! again changes nothing.

mod file;
mod write;

pub use file::STOCK_MAX;

use super::store::{Place, Store, Unusable};
use crate::model::{Moment, NotMoney};
use sqlx::{AnyConnection, Connection as _};
use std::fmt;
use std::time::Duration;
use write::Writing;

/// How long one statement may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// The longest file, in bytes.
pub const IMPORT_MAX: u64 = 64 * 1024 * 1024;

/// How many of one kind were made, changed, and left as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Those that were not there.
    pub made: u64,
    /// Those that were different.
    pub changed: u64,
    /// Those that were the same.
    pub same: u64,
}

/// What bringing a catalogue in came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Imported {
    /// Locations.
    pub locations: Tally,
    /// Products.
    pub products: Tally,
    /// Variants.
    pub variants: Tally,
    /// Counts of one SKU at one location.
    pub stock: Tally,
}

/// Why a catalogue was not brought in; nothing of it was. A `field` is its place in the file, dotted.
#[derive(Debug)]
pub enum NotImported {
    /// The store cannot be used.
    Store(Unusable),
    /// The file is no JSON, or names a member twice.
    Json(String),
    /// Our own schema of the file does not compile.
    Schema,
    /// The file is not what its schema says.
    Wrong {
        /// Where.
        field: String,
        /// What should be there.
        expected: String,
    },
    /// The file names the same id twice.
    Twice(String),
    /// A price is no amount of the store's currency.
    Price(String, NotMoney),
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

impl fmt::Display for NotImported {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotImported::Store(unusable) => unusable.fmt(out),
            NotImported::Json(why) => write!(out, "it is no catalogue in JSON: {why}"),
            NotImported::Schema => out.write_str("the schema of catalogues could not be set up"),
            NotImported::Wrong { field, expected } if field.is_empty() => {
                write!(out, "expected {expected}")
            }
            NotImported::Wrong { field, expected } => write!(out, "{field}: expected {expected}"),
            NotImported::Twice(field) => write!(out, "{field}: stands there twice"),
            NotImported::Price(field, why) => write!(out, "{field}: {why}"),
            NotImported::Location(field) => write!(out, "{field}: there is no such location"),
            NotImported::Taken(field) => write!(out, "{field}: is the id of another variant"),
            NotImported::Reserved { field, reserved } => write!(
                out,
                "{field}: orders have reserved {reserved}, which is more than would be there"
            ),
        }
    }
}

impl std::error::Error for NotImported {}

impl From<sqlx::Error> for NotImported {
    fn from(error: sqlx::Error) -> Self {
        NotImported::Store(error.into())
    }
}

/// Brings the catalogue in `text` into a store that has its tables; it is `at` now.
pub async fn import(place: &Place, text: &str, at: Moment) -> Result<Imported, NotImported> {
    let store = Store::open(place, 2, DEADLINE)
        .await
        .map_err(NotImported::Store)?;
    let imported = brought(&store, text, at).await;
    store.close().await;
    imported
}

async fn brought(store: &Store, text: &str, at: Moment) -> Result<Imported, NotImported> {
    let catalogue = file::read(text, store.currency)?;
    // Whatever fails, what was begun is rolled back with its connection.
    let mut connection: AnyConnection = store.writers().acquire().await?.detach();
    let speaks = store.speaks;
    sqlx::query(speaks.begin()).execute(&mut connection).await?;
    if let Some(lock) = speaks.only_one_migrates() {
        sqlx::query(lock).execute(&mut connection).await?;
    }
    let mut writing = Writing {
        connection: &mut connection,
        speaks,
        at: at.micros(),
    };
    let imported = writing.all(&catalogue).await?;
    sqlx::query("COMMIT").execute(&mut connection).await?;
    connection.close().await?;
    Ok(imported)
}
