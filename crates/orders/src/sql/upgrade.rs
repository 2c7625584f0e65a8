//! The upgrade of tables from format 1 to format 2, and the copy of a file before it.

use super::connection::sql;
use super::dialect::SqlDialect;
use super::lookups::{self, LookupKeys, LookupKind};
use super::migrate::format;
use super::order::OrderDetails;
use super::seed::fill::lookup_rows;
use super::seed::tables::LOOKUP;
use super::store::StoreError;
use super::stored_details::{FulfillmentDetails, ReturnDetails};
use super::tables;
use crate::model::{Currency, Money, ReturnOutcome};
use candor_fault::to_json;
use serde::de::DeserializeOwned;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Row as _};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The end of the name of the copy that is made of a file.
const COPY_SUFFIX: &str = ".format1";

/// The rows that are completed at once.
const AT_ONCE: i64 = 2_048;

fn unwritten(error: &io::Error) -> StoreError {
    StoreError::Unreachable(format!("its copy cannot be written: {error}"))
}

fn unread(_: serde_json::Error) -> StoreError {
    StoreError::Foreign("a row of theirs has another form")
}

/// Writes a consistent copy of a file of format 1 beside it. The copy has its name only when it is
/// complete and synced.
pub(super) async fn copy_file(connection: &mut AnyConnection) -> Result<(), StoreError> {
    let files = sql("PRAGMA database_list")
        .fetch_all(&mut *connection)
        .await?;
    let file: String = match files.first() {
        Some(row) => row.try_get(2)?,
        None => return Ok(()),
    };
    let (copy, draft) = (
        with_suffix(&file, COPY_SUFFIX),
        with_suffix(&file, ".format1-draft"),
    );
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritten(&error)),
        _ => {}
    }
    let into = format!(
        "VACUUM INTO '{}'",
        draft.display().to_string().replace('\'', "''")
    );
    sqlx::query(AssertSqlSafe(into))
        .execute(&mut *connection)
        .await?;
    // Another process may have upgraded the file in the meantime; its copy is the right one.
    if is_first_format(&draft).await? {
        publish(&draft, &copy).map_err(|error| unwritten(&error))
    } else {
        fs::remove_file(&draft).map_err(|error| unwritten(&error))
    }
}

fn with_suffix(file: &str, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{file}{suffix}"))
}

async fn is_first_format(file: &Path) -> Result<bool, StoreError> {
    let url = super::store::DatabaseUrl::file(file);
    let url = url.ok_or(StoreError::Foreign("its path is not UTF-8"))?;
    let mut copy = AnyConnection::connect(url.url()).await?;
    let found = format(&mut copy, SqlDialect::Sqlite).await;
    copy.close().await?;
    Ok(found? == Some(1))
}

/// Syncs the copy and gives it its name.
fn publish(draft: &Path, copy: &Path) -> io::Result<()> {
    File::open(draft)?.sync_all()?;
    fs::rename(draft, copy)?;
    match copy.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Returns the statements of the upgrade, and comments for the rows that are computed.
pub(super) fn described_statements(dialect: SqlDialect) -> Vec<String> {
    let mut statements: Vec<_> = tables::upgrade_statements(dialect).collect();
    statements.push(String::from(
        "-- for each order, customer and fulfilment: INSERT INTO lookups (key, created_at, id, value)",
    ));
    statements.push(String::from(
        "-- for each return: UPDATE returns SET refund_amount = …, details = … WHERE id = …",
    ));
    statements
}

/// Brings the tables to format 2, in the transaction of the connection.
pub(super) async fn upgrade(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
) -> Result<(), StoreError> {
    for statement in tables::upgrade_statements(dialect) {
        let done = sqlx::query(AssertSqlSafe(statement));
        done.execute(&mut *connection).await?;
    }
    add_keys(
        connection,
        "SELECT id, created_at, name, details FROM orders",
        order_keys,
    )
    .await?;
    let customers = "SELECT id, created_at, first_name, last_name FROM customers";
    add_keys(connection, customers, customer_keys).await?;
    let fulfillments = "SELECT fulfillments.id AS id, fulfillments.created_at, fulfillments.details, orders.id, orders.created_at
         FROM fulfillments JOIN orders ON orders.id = fulfillments.order_id";
    add_keys(connection, fulfillments, fulfillment_keys).await?;
    complete_returns(connection).await
}

/// The id, the time and the keys of an entity.
type EntityKeys = (String, i64, LookupKeys);

/// Inserts the keys of all rows of a query, which selects the id first.
async fn add_keys(
    connection: &mut AnyConnection,
    query: &str,
    keys: fn(&AnyRow) -> Result<Vec<EntityKeys>, StoreError>,
) -> Result<(), StoreError> {
    let id = match query.contains("fulfillments.id") {
        true => "fulfillments.id",
        false => "id",
    };
    let mut after = String::new();
    loop {
        let page = format!("{query} WHERE {id} > $1 ORDER BY {id} LIMIT $2");
        let page = sqlx::query(AssertSqlSafe(page)).bind(after.clone());
        let rows = page.bind(AT_ONCE).fetch_all(&mut *connection).await?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        after = last.try_get(0)?;
        let mut entities = Vec::new();
        for row in &rows {
            entities.extend(keys(row)?);
        }
        let rows = lookup_rows(entities.into_iter());
        LOOKUP.insert(connection, rows).await?;
    }
}

fn json<T: DeserializeOwned>(row: &AnyRow, index: usize) -> Result<T, StoreError> {
    let text: String = row.try_get(index)?;
    serde_json::from_str(&text).map_err(unread)
}

fn order_keys(row: &AnyRow) -> Result<Vec<EntityKeys>, StoreError> {
    let name: Option<String> = row.try_get(2)?;
    let details: OrderDetails = json(row, 3)?;
    let keys = lookups::of_order(name.as_deref(), &details);
    Ok(vec![(row.try_get(0)?, row.try_get(1)?, keys)])
}

fn customer_keys(row: &AnyRow) -> Result<Vec<EntityKeys>, StoreError> {
    let (first, last): (Option<String>, Option<String>) = (row.try_get(2)?, row.try_get(3)?);
    let keys = lookups::of_customer(first.as_deref(), last.as_deref(), None);
    Ok(vec![(row.try_get(0)?, row.try_get(1)?, keys)])
}

fn fulfillment_keys(row: &AnyRow) -> Result<Vec<EntityKeys>, StoreError> {
    let details: FulfillmentDetails<'_> = json(row, 2)?;
    let keys = |kind| lookups::of_tracking(kind, &details.tracking_numbers);
    let own = (
        row.try_get(0)?,
        row.try_get(1)?,
        keys(LookupKind::FulfillmentTracking),
    );
    let of_order = (
        row.try_get(3)?,
        row.try_get(4)?,
        keys(LookupKind::OrderTracking),
    );
    Ok(vec![own, of_order])
}

/// The lines of an order: SKU, discounted price, and the units that no return has claimed yet.
type OpenLines = Vec<(String, i64, i64)>;

/// Sets the refund amount of each return: the price of its units for a refund, otherwise nothing.
async fn complete_returns(connection: &mut AnyConnection) -> Result<(), StoreError> {
    let mut lines: BTreeMap<String, OpenLines> = BTreeMap::new();
    let rows = sql("SELECT returns.id, returns.order_id, returns.outcome, returns.details, orders.currency
         FROM returns JOIN orders ON orders.id = returns.order_id ORDER BY returns.created_at, returns.id");
    for row in rows.fetch_all(&mut *connection).await? {
        let order: String = row.try_get(1)?;
        if !lines.contains_key(&order) {
            let open = load_lines(connection, &order).await?;
            lines.insert(order.clone(), open);
        }
        let mut details: ReturnDetails<'static> = json(&row, 3)?;
        let outcome = ReturnOutcome::read(&row.try_get::<String, _>(2)?);
        let open = lines.entry(order).or_default();
        let claimed = details.line_items.iter().map(|line| {
            let quantity = line.quantity.get();
            claim(open, &line.sku, quantity)
        });
        let price: i128 = claimed.sum();
        let price = match outcome {
            Some(ReturnOutcome::Refund) => Money::of_minor(price).unwrap_or_default(),
            _ => Money::default(),
        };
        let currency = Currency::read(&row.try_get::<String, _>(4)?);
        details.refund_amount = currency.map(|currency| price.text(currency));
        sql("UPDATE returns SET refund_amount = $1, details = $2 WHERE id = $3")
            .bind(price.minor())
            .bind(to_json(&details))
            .bind(row.try_get::<String, _>(0)?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

async fn load_lines(connection: &mut AnyConnection, order: &str) -> Result<OpenLines, StoreError> {
    let rows = sql(
        "SELECT sku, unit_price - unit_discount, fulfilled FROM order_lines
         WHERE order_id = $1 ORDER BY line",
    );
    let rows = rows.bind(order.to_owned());
    let mut lines = OpenLines::new();
    for row in rows.fetch_all(&mut *connection).await? {
        lines.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    }
    Ok(lines)
}

/// Takes units from the lines of a SKU, in their order, and returns their price.
fn claim(lines: &mut OpenLines, sku: &str, units: i64) -> i128 {
    let (mut left, mut price) = (units, 0);
    for (_, unit_price, open) in lines.iter_mut().filter(|(of, ..)| of == sku) {
        let taken = left.min(*open);
        left -= taken;
        *open -= taken;
        price += i128::from(taken) * i128::from(*unit_price);
    }
    price
}
