//! The records of an order: who changed it, when and how.

use super::connection::{AnyQuery, get_number, get_optional_text, get_text, sql};
use super::existing_store::ExistingStore;
use super::store::{DatabaseUrl, StoreError};
use crate::failure::FinalFailure;
use crate::model::UtcTime;
use serde::Serialize;
use sqlx::AnyConnection;
use sqlx::any::AnyRow;

/// The records that are read at once.
pub const RECORDS_AT_ONCE: i64 = 500;

/// A final outcome of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeRecord {
    pub id: String,
    pub at: UtcTime,
    pub client: String,
    pub tool: String,
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_id: Option<String>,
    /// `done`, or the reason of the refusal.
    pub outcome: String,
}

/// The number of records of an order, and whether the order exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordCount {
    pub records: u64,
    pub order_exists: bool,
}

/// Reads the records of an order from the oldest to the newest. `show` gets some at a time.
pub async fn records<E: From<StoreError>>(
    database: &DatabaseUrl,
    order: &str,
    mut show: impl FnMut(&[ChangeRecord]) -> Result<(), E>,
) -> Result<RecordCount, E> {
    let mut store = ExistingStore::open(database).await?;
    let mut after = String::new();
    let mut count = 0;
    loop {
        let page = record_page(&mut store.connection, order, &after).await?;
        let Some(last) = page.last() else {
            break;
        };
        after = last.id.clone();
        count += page.len() as u64;
        show(&page)?;
    }
    let exists = order_exists(&mut store.connection, order).await;
    let order_exists = exists.map_err(StoreError::from)?;
    store.close().await?;
    Ok(RecordCount {
        records: count,
        order_exists,
    })
}

async fn order_exists(connection: &mut AnyConnection, order: &str) -> Result<bool, sqlx::Error> {
    let found = sql("SELECT id FROM orders WHERE id = $1").bind(order.to_owned());
    Ok(found.fetch_optional(connection).await?.is_some())
}

/// Returns the records of an order after an id, which sorts by time.
pub(super) async fn record_page(
    connection: &mut AnyConnection,
    order: &str,
    after: &str,
) -> Result<Vec<ChangeRecord>, StoreError> {
    let rows = page_query(order, after).fetch_all(connection).await?;
    let read: Result<Vec<_>, _> = rows.iter().map(read_record).collect();
    Ok(read?)
}

fn page_query(order: &str, after: &str) -> AnyQuery {
    sql(
        "SELECT id, at, client, tool, key, order_id, outcome FROM records
         WHERE order_id = $1 AND id > $2 ORDER BY id LIMIT $3",
    )
    .bind(order.to_owned())
    .bind(after.to_owned())
    .bind(RECORDS_AT_ONCE)
}

fn read_record(row: &AnyRow) -> Result<ChangeRecord, crate::failure::Failure> {
    let outcome = get_text(row, 6)?;
    let failure = serde_json::from_str::<FinalFailure>(&outcome).ok();
    Ok(ChangeRecord {
        id: get_text(row, 0)?,
        at: UtcTime::of_micros(get_number(row, 1)?),
        client: get_text(row, 2)?,
        tool: get_text(row, 3)?,
        key: get_text(row, 4)?,
        order_id: get_optional_text(row, 5)?,
        outcome: failure.map_or(outcome, |failure| failure.identifier().to_owned()),
    })
}
