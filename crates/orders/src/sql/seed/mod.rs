//! Fills a store with samples: a catalogue with stock, customers, and as many orders as are wanted.
//! Filling it again changes nothing.

mod fill;
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

/// The most sample orders that can be asked for.
pub const SAMPLE_ORDERS_MAX: u64 = 1_000_000;

/// How many orders one transaction has.
const BATCH: u64 = 8_192;

/// How long one statement may take.
const DEADLINE: Duration = Duration::from_secs(600);

/// What a store is filled with, beside the catalogue and the customers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeedOptions {
    /// How many orders: those that are there already among them.
    pub orders: u64,
}

/// How many there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SampleCounts {
    /// Locations.
    pub locations: u64,
    /// Products.
    pub products: u64,
    /// Variants.
    pub variants: u64,
    /// Customers.
    pub customers: u64,
    /// Orders.
    pub orders: u64,
}

/// What filling a store came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeedReport {
    /// What was made.
    pub made: SampleCounts,
    /// What was there already.
    pub there: SampleCounts,
}

/// Fills a store that has its tables. `progress` hears how many orders are done, and of how many.
pub async fn seed(
    place: &DatabaseUrl,
    plan: SeedOptions,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<SeedReport, StoreError> {
    let store = Store::open(place, 2, DEADLINE).await?;
    let seeded = fill(&store, plan, progress).await;
    store.close().await;
    seeded
}

fn unreachable(error: sqlx::Error) -> StoreError {
    error.into()
}

async fn fill(
    store: &Store,
    plan: SeedOptions,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<SeedReport, StoreError> {
    let connection = store.write_pool().acquire().await.map_err(unreachable)?;
    // Whatever fails, what was begun is rolled back with its connection.
    let mut connection = connection.detach();
    let samples = SampleData::new(store.currency);
    let mut seeded = SeedReport::default();
    begin(&mut connection, store.dialect).await?;
    let catalogue = samples.catalogue(&mut connection, &mut seeded).await;
    catalogue.map_err(unreachable)?;
    commit(&mut connection).await?;
    let wanted = plan.orders.min(SAMPLE_ORDERS_MAX);
    if wanted > 0 {
        let samples = samples.known_here(&mut connection).await?;
        let mut done = 0;
        while done < wanted {
            progress(done, wanted);
            let end = wanted.min(done + BATCH);
            begin(&mut connection, store.dialect).await?;
            let made = samples.orders(&mut connection, done + 1..=end).await;
            let made = made.map_err(unreachable)?;
            commit(&mut connection).await?;
            seeded.made.orders += made;
            seeded.there.orders += end - done - made;
            done = end;
        }
        progress(done, wanted);
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
