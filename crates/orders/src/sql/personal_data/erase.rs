//! Erases the personal data of a customer in one transaction. Changes of running servers wait for
//! it, so that none of them can bring data back that it has read before.

use super::customer_rows::{first_position, load_customer, order_page};
use super::erased::{ERASED, erased_details};
use super::file_cleaning;
use super::personal_values::PersonalValues;
use crate::failure::{FinalFailure, RefusalReason};
use crate::model::Customer;
use crate::sql::connection::{dynamic_sql, get_json, get_number, get_optional_text, get_text, sql};
use crate::sql::dialect::SqlDialect;
use crate::sql::existing_store::{ExistingStore, LOCK_WAIT};
use crate::sql::keys::KeyOutcome;
use crate::sql::lookups::{self, LookupKeys};
use crate::sql::order::OrderRow;
use crate::sql::store::{DatabaseUrl, StoreError};
use crate::sql::stored_details::ReturnDetails;
use candor_fault::to_json;
use sqlx::{AnyConnection, AssertSqlSafe, Executor as _};
use std::fmt;

/// The numbers of erased rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErasedCounts {
    pub orders: u64,
    pub returns: u64,
    /// Stored outcomes of keys.
    pub outcomes: u64,
    pub records: u64,
}

/// The result of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseOutcome {
    Erased(ErasedCounts),
    /// No customer has the address, but an earlier erasure was interrupted, and is complete now.
    EarlierCompleted,
}

/// The reason why data was not erased.
#[derive(Debug)]
pub enum EraseError {
    Store(StoreError),
    /// No customer has this email address.
    UnknownCustomer,
    /// No answer or table contains the data any more, but the file may contain old bytes of it.
    BytesLeft(StoreError),
}

impl fmt::Display for EraseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EraseError::Store(error) => write!(out, "nothing was erased: {error}"),
            EraseError::UnknownCustomer => {
                out.write_str("no customer of the store has this email address")
            }
            EraseError::BytesLeft(error) => write!(
                out,
                "the data was erased, but the file may still contain old bytes of it: {error}"
            ),
        }
    }
}

impl std::error::Error for EraseError {}

impl From<StoreError> for EraseError {
    fn from(error: StoreError) -> Self {
        EraseError::Store(error)
    }
}

impl From<sqlx::Error> for EraseError {
    fn from(error: sqlx::Error) -> Self {
        EraseError::Store(error.into())
    }
}

/// Erases everything personal about the customer with this email address. Amounts and quantities
/// stay. If an earlier erasure was interrupted before the file was clean, the file is cleaned too.
pub async fn erase_customer(
    database: &DatabaseUrl,
    email: &str,
) -> Result<EraseOutcome, EraseError> {
    let mut store = ExistingStore::open(database).await?;
    let dialect = store.dialect;
    let connection = &mut store.connection;
    for statement in dialect.begin_erasure(LOCK_WAIT) {
        connection.execute(AssertSqlSafe(statement)).await?;
    }
    let erased = match load_customer(connection, email).await? {
        None => None,
        Some(customer) => Some(erase(connection, dialect, &customer).await?),
    };
    if erased.is_some() && dialect == SqlDialect::Sqlite {
        file_cleaning::require(connection).await?;
    }
    sql("COMMIT").execute(&mut *connection).await?;
    let is_cleaned = match dialect {
        SqlDialect::Sqlite => file_cleaning::clean_if_required(connection).await,
        SqlDialect::Postgres => Ok(false),
    };
    let is_cleaned = is_cleaned.map_err(EraseError::BytesLeft)?;
    store.close().await?;
    match erased {
        Some(counts) => Ok(EraseOutcome::Erased(counts)),
        None if is_cleaned => Ok(EraseOutcome::EarlierCompleted),
        None => Err(EraseError::UnknownCustomer),
    }
}

/// Erases the rows of a customer, in the transaction of the connection.
async fn erase(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
    customer: &Customer,
) -> Result<ErasedCounts, StoreError> {
    let now = dynamic_sql(format!("SELECT {}", dialect.now()));
    let now = get_number(&now.fetch_one(&mut *connection).await?, 0)?;
    let values = PersonalValues::of_customer(customer);
    let mut counts = ErasedCounts::default();
    let mut position = first_position();
    loop {
        let orders = order_page(connection, &customer.id, &mut position).await?;
        if orders.is_empty() {
            break;
        }
        for order in &orders {
            let values = values.with_order(&order.details);
            erase_order(connection, order, (&values, now)).await?;
            erase_line_names(connection, &order.id, &values).await?;
            counts.orders += 1;
            counts.returns += erase_returns(connection, &order.id, now).await?;
            let (outcomes, records) = erase_outcomes(connection, &order.id).await?;
            counts.outcomes += outcomes;
            counts.records += records;
        }
    }
    let (first, last) = (
        customer.first_name.as_deref(),
        customer.last_name.as_deref(),
    );
    let keys = lookups::of_customer(first, last, customer.phone.as_deref());
    let entity = (customer.id.as_str(), customer.created_at.micros());
    delete_lookups(connection, entity, &keys).await?;
    let statement = sql(
        "UPDATE customers SET email = NULL, email_key = NULL, first_name = NULL, last_name = NULL,
             phone = NULL, updated_at = $1, erased_at = $1 WHERE id = $2",
    );
    let statement = statement.bind(now).bind(customer.id.clone());
    statement.execute(connection).await?;
    Ok(counts)
}

/// Erases the row of an order and the keys that find it by its people.
async fn erase_order(
    connection: &mut AnyConnection,
    order: &OrderRow,
    (values, now): (&PersonalValues, i64),
) -> Result<(), StoreError> {
    let mut details = erased_details(&order.details);
    let payments = details.payments.iter_mut().map(|one| &mut one.reference);
    let refunds = details.refunds.iter_mut().map(|one| &mut one.reference);
    for (index, reference) in payments.chain(refunds).enumerate() {
        if values.are_in(reference) {
            *reference = format!("{ERASED} {}", index + 1);
        }
    }
    let is_kept = |text: &String| !values.are_in(text);
    let name = order.name.clone().filter(is_kept);
    let external_id = match &order.external_id {
        Some(id) if !is_kept(id) => Some(format!("{ERASED} {}", order.id)),
        other => other.clone(),
    };
    let before = lookups::of_order(order.name.as_deref(), &order.details);
    let after = lookups::of_order(name.as_deref(), &details);
    let gone = before.difference(&after).cloned().collect();
    let entity = (order.id.as_str(), order.created_at.micros());
    delete_lookups(connection, entity, &gone).await?;
    let statement = sql(
        "UPDATE orders SET details = $1, name = $2, external_id = $3, updated_at = $4, erased_at = $4
         WHERE id = $5",
    );
    let statement = statement.bind(to_json(&details)).bind(name);
    let statement = statement.bind(external_id).bind(now).bind(order.id.clone());
    statement.execute(connection).await?;
    Ok(())
}

async fn delete_lookups(
    connection: &mut AnyConnection,
    (id, created_at): (&str, i64),
    keys: &LookupKeys,
) -> Result<(), StoreError> {
    for (key, value) in keys {
        sql("DELETE FROM lookups WHERE key = $1 AND created_at = $2 AND id = $3 AND value = $4")
            .bind(key.clone())
            .bind(created_at)
            .bind(id.to_owned())
            .bind(value.clone())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Removes the names of lines that contain personal data, an engraving for example.
async fn erase_line_names(
    connection: &mut AnyConnection,
    order: &str,
    values: &PersonalValues,
) -> Result<(), StoreError> {
    let lines = sql("SELECT line, name FROM order_lines WHERE order_id = $1");
    let lines = lines.bind(order.to_owned());
    for row in lines.fetch_all(&mut *connection).await? {
        let name = get_optional_text(&row, 1)?;
        if name.is_some_and(|name| values.are_in(&name)) {
            sql("UPDATE order_lines SET name = NULL WHERE order_id = $1 AND line = $2")
                .bind(order.to_owned())
                .bind(get_number(&row, 0)?)
                .execute(&mut *connection)
                .await?;
        }
    }
    Ok(())
}

/// Removes the notes of an order's returns, and returns the number of notes.
async fn erase_returns(
    connection: &mut AnyConnection,
    order: &str,
    now: i64,
) -> Result<u64, StoreError> {
    let returns = sql("SELECT id, details FROM returns WHERE order_id = $1");
    let returns = returns.bind(order.to_owned());
    let mut erased = 0;
    for row in returns.fetch_all(&mut *connection).await? {
        let mut details: ReturnDetails<'_> = get_json(&row, 1)?;
        if details.note.take().is_some() {
            sql("UPDATE returns SET details = $1, updated_at = $2 WHERE id = $3")
                .bind(to_json(&details))
                .bind(now)
                .bind(get_text(&row, 0)?)
                .execute(&mut *connection)
                .await?;
            erased += 1;
        }
    }
    Ok(erased)
}

/// Replaces the stored answers about an order, and the fingerprints of their arguments in the
/// records. The key keeps its fingerprint until it expires: without it, a repeated call would be
/// made again. Returns the numbers of both.
async fn erase_outcomes(
    connection: &mut AnyConnection,
    order: &str,
) -> Result<(u64, u64), StoreError> {
    let erased = FinalFailure::Refusal(RefusalReason::CustomerErased.into());
    // A key that expired may since belong to a call with other arguments.
    let outcomes = sql(
        "UPDATE keys SET outcome = $1 WHERE outcome LIKE '{\"done\":%'
         AND (client, tool, key, fingerprint) IN
             (SELECT client, tool, key, fingerprint FROM records WHERE order_id = $2)",
    );
    let outcomes = outcomes
        .bind(to_json(&KeyOutcome::Failed(erased)))
        .bind(order.to_owned());
    let outcomes = outcomes.execute(&mut *connection).await?.rows_affected();
    let records = sql("UPDATE records SET fingerprint = '' WHERE order_id = $1");
    let records = records.bind(order.to_owned()).execute(connection).await?;
    Ok((outcomes, records.rows_affected()))
}
