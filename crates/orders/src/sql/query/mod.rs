//! Pages of entities. Each page is one query whose work does not grow with the store.

mod catalogue;
mod customers;
mod index_scan;
mod inventory;
mod orders;
mod position;
mod shipments;

use super::store::Store;
use crate::adapter::{OrderOperation, Response};
use crate::failure::Failure;
use crate::model::{
    Currency, Customer, Fulfillment, Inventory, Order, Product, ProductVariant, Return,
};
use crate::model::{EntityQuery, MAX_PAGE_SIZE, SortOrder, UtcTime};
use candor_fault::Cause;
use index_scan::PageQuery;
use serde::Serialize;
use serde_json::value::to_raw_value;
use sqlx::any::AnyRow;

/// An entity that has pages.
trait PagedEntity: Serialize + Sized {
    /// Returns the query for the rows of a page and of at least one more entity.
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure>;

    /// Reads entities from rows, in the order of pages.
    fn read(rows: &[AnyRow], currency: Currency, sort: SortOrder) -> Result<Vec<Self>, Failure>;

    /// Returns the position after the entity.
    fn position(&self, sort: SortOrder) -> String;
}

/// Reads one page.
pub(super) async fn page(store: &Store, query: &EntityQuery) -> Result<Response, Failure> {
    match query.operation {
        OrderOperation::GetOrders => page_of::<Order>(store, query).await,
        OrderOperation::GetCustomers => page_of::<Customer>(store, query).await,
        OrderOperation::GetProducts => page_of::<Product>(store, query).await,
        OrderOperation::GetVariants => page_of::<ProductVariant>(store, query).await,
        OrderOperation::GetInventory => page_of::<Inventory>(store, query).await,
        OrderOperation::GetFulfillments => page_of::<Fulfillment>(store, query).await,
        OrderOperation::GetReturns => page_of::<Return>(store, query).await,
        OrderOperation::CreateOrder
        | OrderOperation::UpdateOrder
        | OrderOperation::CancelOrder
        | OrderOperation::FulfillOrder
        | OrderOperation::CreateReturn => Err(Failure::Unsupported),
    }
}

async fn page_of<T: PagedEntity>(store: &Store, query: &EntityQuery) -> Result<Response, Failure> {
    let size = query.page_size.clamp(1, MAX_PAGE_SIZE);
    let build_query = T::build_query(query, size)?;
    let rows = store
        .read(|| build_query.clone().statement(store.dialect))
        .await?;
    let mut entities = T::read(&rows, store.currency, query.sort())?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let more = entities.len() > size;
    entities.truncate(size);
    let next = entities
        .last()
        .filter(|_| more)
        .map(|last| last.position(query.sort()));
    let items = to_raw_value(&entities).map_err(|error| {
        let cause = Box::new(Cause::error("JsonError", &error));
        Failure::Internal("a page cannot be written", cause)
    })?;
    Ok(Response::page(items, next))
}

/// Reads fulfilments from the columns `id, order_id, details, created_at, updated_at`.
pub(super) fn read_fulfillments(
    rows: &[AnyRow],
    currency: Currency,
) -> Result<Vec<Fulfillment>, Failure> {
    Fulfillment::read(rows, currency, SortOrder::CreatedAt)
}

/// Reads returns from the columns of [`read_fulfillments`], `outcome` and `status`.
pub(super) fn read_returns(rows: &[AnyRow], currency: Currency) -> Result<Vec<Return>, Failure> {
    Return::read(rows, currency, SortOrder::CreatedAt)
}

/// Returns the time of an entity by which pages are sorted, in microseconds.
fn sorted_at(sort: SortOrder, created_at: UtcTime, updated_at: UtcTime) -> i64 {
    match sort {
        SortOrder::CreatedAt => created_at.micros(),
        SortOrder::UpdatedAt => updated_at.micros(),
    }
}

/// Reads entities with one row each.
fn each<T>(
    rows: &[AnyRow],
    read: impl Fn(&AnyRow) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    rows.iter().map(read).collect()
}

#[cfg(test)]
mod tests;
