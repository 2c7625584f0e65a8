//! Writes everything about a customer as JSON, order by order.

use super::customer_rows::{first_position, load_customer, order_page};
use crate::model::{Currency, Fulfillment, Order, Return};
use crate::sql::connection::{get_text, sql};
use crate::sql::existing_store::ExistingStore;
use crate::sql::order::{OrderRow, line_row, lines_query};
use crate::sql::query::{read_fulfillments, read_returns};
use crate::sql::record_pages::{ChangeRecord, record_page};
use crate::sql::store::{DatabaseUrl, StoreError};
use candor_fault::to_json;
use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::AnyConnection;
use std::io::{self, Write};

/// The reason why a customer was not exported.
#[derive(Debug)]
pub enum ExportError {
    Store(StoreError),
    /// No customer has this email address.
    UnknownCustomer,
    Output(io::Error),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        ExportError::Store(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        ExportError::Output(error)
    }
}

/// An order with everything that belongs to it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportedOrder {
    order: Order,
    fulfillments: Vec<Fulfillment>,
    returns: Vec<Return>,
    records: Vec<ChangeRecord>,
    /// The answers that are kept for repeated calls.
    stored_answers: Vec<StoredAnswer>,
}

#[derive(Serialize)]
struct StoredAnswer {
    client: String,
    tool: String,
    key: String,
    outcome: Box<RawValue>,
}

/// Writes everything about the customer with this email address, as one JSON object. Reads one
/// snapshot of the store.
pub async fn export_customer(
    database: &DatabaseUrl,
    email: &str,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let mut store = ExistingStore::open(database).await?;
    store.begin_snapshot().await.map_err(StoreError::from)?;
    let currency = store.currency;
    let connection = &mut store.connection;
    let customer = load_customer(connection, email).await?;
    let customer = customer.ok_or(ExportError::UnknownCustomer)?;
    write!(out, "{{\"customer\":{},\n\"orders\":[", to_json(&customer))?;
    let mut position = first_position();
    let mut separator = "\n";
    loop {
        let orders = order_page(connection, &customer.id, &mut position).await?;
        if orders.is_empty() {
            break;
        }
        for order in orders {
            let order = load_parts(connection, order, currency).await?;
            write!(out, "{separator}{}", to_json(&order))?;
            separator = ",\n";
        }
    }
    out.write_all(b"]}\n")?;
    out.flush()?;
    store.close().await?;
    Ok(())
}

async fn load_parts(
    connection: &mut AnyConnection,
    order: OrderRow,
    currency: Currency,
) -> Result<ExportedOrder, StoreError> {
    let id = order.id.clone();
    let lines = lines_query(&[&id]).fetch_all(&mut *connection).await?;
    let lines: Result<Vec<_>, _> = lines.iter().map(line_row).collect();
    let fulfillments = sql(
        "SELECT id, order_id, details, created_at, updated_at FROM fulfillments
         WHERE order_id = $1 ORDER BY created_at, id",
    );
    let fulfillments = fulfillments.bind(id.clone());
    let fulfillments = fulfillments.fetch_all(&mut *connection).await?;
    let returns = sql(
        "SELECT id, order_id, details, created_at, updated_at, outcome, status FROM returns
         WHERE order_id = $1 ORDER BY created_at, id",
    );
    let returns = returns.bind(id.clone()).fetch_all(&mut *connection).await?;
    Ok(ExportedOrder {
        fulfillments: read_fulfillments(&fulfillments, currency)?,
        returns: read_returns(&returns, currency)?,
        records: load_records(connection, &id).await?,
        stored_answers: load_answers(connection, &id).await?,
        order: order.into_entity(lines?),
    })
}

async fn load_records(
    connection: &mut AnyConnection,
    order: &str,
) -> Result<Vec<ChangeRecord>, StoreError> {
    let mut records: Vec<ChangeRecord> = Vec::new();
    loop {
        let after = records.last().map_or("", |last| last.id.as_str());
        let page = record_page(connection, order, after).await?;
        if page.is_empty() {
            return Ok(records);
        }
        records.extend(page);
    }
}

async fn load_answers(
    connection: &mut AnyConnection,
    order: &str,
) -> Result<Vec<StoredAnswer>, StoreError> {
    let rows = sql(
        "SELECT DISTINCT keys.at, keys.client, keys.tool, keys.key, keys.outcome FROM records JOIN keys
             ON keys.client = records.client AND keys.tool = records.tool AND keys.key = records.key
             AND keys.fingerprint = records.fingerprint
         WHERE records.order_id = $1 ORDER BY keys.at, keys.key",
    );
    let rows = rows.bind(order.to_owned()).fetch_all(connection).await?;
    let mut answers = Vec::new();
    for row in rows {
        let outcome = RawValue::from_string(get_text(&row, 4)?);
        let unread = |_| StoreError::Foreign("a row of theirs has another form");
        answers.push(StoredAnswer {
            client: get_text(&row, 1)?,
            tool: get_text(&row, 2)?,
            key: get_text(&row, 3)?,
            outcome: outcome.map_err(unread)?,
        });
    }
    Ok(answers)
}
