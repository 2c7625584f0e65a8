//! Fills a store with samples: a catalogue with stock, customers, and any number of orders. Filling
//! it again changes nothing.

pub(super) mod fill;
pub(super) mod insert;
mod orders;
mod samples;
pub(super) mod splitmix;
pub(super) mod tables;

use super::dialect::SqlDialect;
use super::store::{DatabaseUrl, Store, StoreError};
use fill::SampleData;
use sqlx::{AnyConnection, Connection as _};
use std::time::Duration;

/// The most sample orders.
pub const MAX_SAMPLE_ORDERS: u64 = 1_000_000;

/// The orders of one transaction.
const BATCH: u64 = 8_192;

/// The time that one statement may take.
const DEADLINE: Duration = Duration::from_secs(600);

/// The options of filling a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeedOptions {
    /// The number of orders, including existing ones.
    pub orders: u64,
}

/// The number of rows of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SampleCounts {
    pub locations: u64,
    pub products: u64,
    pub variants: u64,
    pub customers: u64,
    pub orders: u64,
}

/// The result of filling a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeedReport {
    pub made: SampleCounts,
    /// Rows that existed before.
    pub there: SampleCounts,
}

/// Fills a store that has its tables. `progress` is called with the number of orders done and the
/// total.
pub async fn seed(
    database: &DatabaseUrl,
    options: SeedOptions,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<SeedReport, StoreError> {
    let store = Store::open(database, 2, DEADLINE).await?;
    let seeded = fill(&store, options, progress).await;
    store.close().await;
    seeded
}

fn unreachable(error: sqlx::Error) -> StoreError {
    error.into()
}

async fn fill(
    store: &Store,
    options: SeedOptions,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<SeedReport, StoreError> {
    let connection = store.write_pool().acquire().await.map_err(unreachable)?;
    // If anything fails, closing the connection rolls the transaction back.
    let mut connection = connection.detach();
    let samples = SampleData::new(store.currency);
    let mut seeded = SeedReport::default();
    begin(&mut connection, store.dialect).await?;
    let catalogue = samples.catalogue(&mut connection, &mut seeded).await;
    catalogue.map_err(unreachable)?;
    commit(&mut connection).await?;
    let total = options.orders.min(MAX_SAMPLE_ORDERS);
    if total > 0 {
        let samples = samples.with_store_customers(&mut connection).await?;
        let mut done = 0;
        while done < total {
            progress(done, total);
            let end = total.min(done + BATCH);
            begin(&mut connection, store.dialect).await?;
            let made = samples
                .orders(&mut connection, store.dialect, done + 1..=end)
                .await;
            let made = made.map_err(unreachable)?;
            commit(&mut connection).await?;
            seeded.made.orders += made;
            seeded.there.orders += end - done - made;
            done = end;
        }
        progress(done, total);
        if let Some(statement) = store.dialect.update_statistics() {
            let done = sqlx::query(statement).execute(&mut connection).await;
            done.map_err(unreachable)?;
        }
    }
    connection.close().await.map_err(unreachable)?;
    Ok(seeded)
}

async fn begin(connection: &mut AnyConnection, dialect: SqlDialect) -> Result<(), StoreError> {
    let begun = sqlx::query(dialect.begin()).execute(connection).await;
    begun.map(|_| ()).map_err(unreachable)
}

async fn commit(connection: &mut AnyConnection) -> Result<(), StoreError> {
    let done = sqlx::query("COMMIT").execute(connection).await;
    done.map(|_| ()).map_err(unreachable)
}

#[cfg(test)]
mod tests;
