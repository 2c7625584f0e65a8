//! Fills a store with samples: a catalogue with stock, customers, and as many orders as are wanted.
//! Filling it again changes nothing.

pub(super) mod chance;
mod filling;
pub(super) mod insert;
mod orders;
mod samples;
pub(super) mod tables;

use super::dialect::Speaks;
use super::store::{Place, Store, Unusable};
use filling::Samples;
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
pub struct SeedPlan {
    /// How many orders: those that are there already among them.
    pub orders: u64,
}

/// How many there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
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
pub struct Seeded {
    /// What was made.
    pub made: Counts,
    /// What was there already.
    pub there: Counts,
}

/// Fills a store that has its tables. `progress` hears how many orders are done, and of how many.
pub async fn seed(
    place: &Place,
    plan: SeedPlan,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Seeded, Unusable> {
    let store = Store::open(place, 2, DEADLINE).await?;
    let seeded = fill(&store, plan, progress).await;
    store.close().await;
    seeded
}

fn unreachable(error: sqlx::Error) -> Unusable {
    error.into()
}

async fn fill(
    store: &Store,
    plan: SeedPlan,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Seeded, Unusable> {
    let connection = store.writers().acquire().await.map_err(unreachable)?;
    // Whatever fails, what was begun is rolled back with its connection.
    let mut connection = connection.detach();
    let samples = Samples::new(store.currency);
    let mut seeded = Seeded::default();
    begin(&mut connection, store.speaks).await?;
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
            begin(&mut connection, store.speaks).await?;
            let made = samples.orders(&mut connection, done + 1..=end).await;
            let made = made.map_err(unreachable)?;
            commit(&mut connection).await?;
            seeded.made.orders += made;
            seeded.there.orders += end - done - made;
            done = end;
        }
        progress(done, wanted);
        if let Some(statement) = store.speaks.after_many_rows() {
            let done = sqlx::query(statement).execute(&mut connection).await;
            done.map_err(unreachable)?;
        }
    }
    connection.close().await.map_err(unreachable)?;
    Ok(seeded)
}

async fn begin(connection: &mut AnyConnection, speaks: Speaks) -> Result<(), Unusable> {
    let begun = sqlx::query(speaks.begin()).execute(connection).await;
    begun.map(|_| ()).map_err(unreachable)
}

async fn commit(connection: &mut AnyConnection) -> Result<(), Unusable> {
    let done = sqlx::query("COMMIT").execute(connection).await;
    done.map(|_| ()).map_err(unreachable)
}

#[cfg(test)]
mod tests;
