//! Pages of entities out of the database: one statement each, and no more work in a large store than
//! in a small one.

mod catalogue;
mod customers;
mod inventory;
mod orders;
mod place;
mod sent;
mod walk;

use super::store::Store;
use crate::adapter::{Operation, Response};
use crate::failure::Failure;
use crate::model::{
    Currency, Customer, Fulfillment, Inventory, Order, Product, ProductVariant, Return,
};
use crate::query::{PAGE_MAX, Query};
use candor_fault::Cause;
use serde::Serialize;
use serde_json::value::to_raw_value;
use sqlx::any::AnyRow;
use walk::Written;

/// What there are pages of.
trait Paged: Serialize + Sized {
    /// The statement that fetches the rows of at least one entity more than the page has.
    fn written(query: &Query, page_size: i64) -> Result<Written, Failure>;

    /// Reads its rows: entities in the order of pages.
    fn read(rows: &[AnyRow], currency: Currency) -> Result<Vec<Self>, Failure>;

    /// The place behind it.
    fn place(&self) -> String;
}

/// Reads one page.
pub(super) async fn page(store: &Store, query: &Query) -> Result<Response, Failure> {
    match query.operation {
        Operation::GetOrders => page_of::<Order>(store, query).await,
        Operation::GetCustomers => page_of::<Customer>(store, query).await,
        Operation::GetProducts => page_of::<Product>(store, query).await,
        Operation::GetVariants => page_of::<ProductVariant>(store, query).await,
        Operation::GetInventory => page_of::<Inventory>(store, query).await,
        Operation::GetFulfillments => page_of::<Fulfillment>(store, query).await,
        Operation::GetReturns => page_of::<Return>(store, query).await,
        Operation::CreateOrder
        | Operation::UpdateOrder
        | Operation::CancelOrder
        | Operation::FulfillOrder
        | Operation::CreateReturn => Err(Failure::Unsupported),
    }
}

async fn page_of<T: Paged>(store: &Store, query: &Query) -> Result<Response, Failure> {
    let size = query.page_size.clamp(1, PAGE_MAX);
    let written = T::written(query, size)?;
    let rows = store.read(|| written.clone().statement()).await?;
    let mut entities = T::read(&rows, store.currency)?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let more = entities.len() > size;
    entities.truncate(size);
    let next = entities.last().filter(|_| more).map(T::place);
    let items = to_raw_value(&entities).map_err(|error| {
        let cause = Box::new(Cause::error("JsonError", &error));
        Failure::Broken("a page cannot be written", cause)
    })?;
    Ok(Response::Page { items, next })
}

/// Reads entities that have one row each.
fn each<T>(
    rows: &[AnyRow],
    read: impl Fn(&AnyRow) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    rows.iter().map(read).collect()
}

#[cfg(test)]
mod tests;
