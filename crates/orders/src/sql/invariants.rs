//! Checks what must hold in every store between two transactions.

use super::connection::{dynamic_sql, placeholders, sql};
use super::lookups::{self, LookupKeys};
use super::order::OrderDetails;
use super::store::{DatabaseUrl, Store, StoreError};
use crate::model::{Currency, Money, RecordedStatus};
use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Connection as _, Row as _};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The time that one statement may take.
const DEADLINE: Duration = Duration::from_secs(600);

/// The most rows that one check names.
const NAMED: usize = 20;

/// The orders that are compared with their shipments at once.
const AT_ONCE: i64 = 4_096;

/// Facts that hold for every row, each with a query that returns the names of the rows for which it
/// does not hold.
const FACTS: [(&str, &str); 17] = [
    (
        "a variant has on hand what lies at all locations",
        "SELECT variants.sku FROM variants LEFT JOIN
             (SELECT sku, CAST(SUM(on_hand) AS BIGINT) AS units FROM stock GROUP BY sku) AS lying
             ON lying.sku = variants.sku
         WHERE variants.on_hand <> COALESCE(lying.units, 0)",
    ),
    (
        "a variant has reserved what is open in open orders",
        "SELECT variants.sku FROM variants LEFT JOIN
             (SELECT order_lines.sku AS sku,
                 CAST(SUM(order_lines.quantity - order_lines.fulfilled - order_lines.cancelled) AS BIGINT) AS units
              FROM order_lines JOIN orders ON orders.id = order_lines.order_id
              WHERE orders.status IN ('pending', 'confirmed', 'processing') GROUP BY order_lines.sku) AS wanted
             ON wanted.sku = variants.sku
         WHERE variants.reserved <> COALESCE(wanted.units, 0)",
    ),
    (
        "no more is reserved than there is, and nothing is less than none",
        "SELECT sku FROM variants WHERE reserved < 0 OR reserved > on_hand
         UNION ALL SELECT sku FROM stock WHERE on_hand < 0",
    ),
    (
        "stock is of a known variant at a known location",
        "SELECT sku FROM stock WHERE sku NOT IN (SELECT sku FROM variants)
         OR location_id NOT IN (SELECT id FROM locations)",
    ),
    (
        "the quantities of a line fit together",
        "SELECT order_id FROM order_lines WHERE quantity < 1 OR fulfilled < 0 OR cancelled < 0
         OR returned < 0 OR fulfilled + cancelled > quantity OR returned > fulfilled",
    ),
    (
        "a line is of a known variant",
        "SELECT order_id FROM order_lines WHERE sku NOT IN (SELECT sku FROM variants)",
    ),
    (
        "a line belongs to an order of its time",
        "SELECT order_lines.order_id FROM order_lines LEFT JOIN orders ON orders.id = order_lines.order_id
         WHERE orders.id IS NULL OR orders.created_at <> order_lines.created_at",
    ),
    (
        "an order has lines, and its sums are theirs",
        "SELECT orders.id FROM orders LEFT JOIN
             (SELECT order_id, CAST(SUM(quantity * unit_price) AS BIGINT) AS price,
                 CAST(SUM(quantity * unit_discount) AS BIGINT) AS off,
                 CAST(SUM(tax) AS BIGINT) AS tax
              FROM order_lines GROUP BY order_id) AS sums ON sums.order_id = orders.id
         WHERE sums.order_id IS NULL OR sums.price <> orders.sub_total
         OR sums.off + orders.order_discount <> orders.discount_total
         OR sums.tax + orders.shipping_tax + orders.order_tax <> orders.tax_total
         OR orders.discount_total > orders.sub_total OR orders.shipping_tax > orders.shipping_total
         OR orders.total <> orders.sub_total - orders.discount_total + orders.shipping_total
             + CASE orders.tax_included WHEN 0 THEN orders.tax_total ELSE 0 END",
    ),
    (
        "no more is refunded than was paid, and the payment status follows from the sums",
        "SELECT id FROM orders WHERE refunded_total < 0 OR refunded_total > paid_total
         OR payment_status <> CASE
             WHEN refunded_total > 0 AND refunded_total = paid_total THEN 'refunded'
             WHEN refunded_total > 0 THEN 'partially-refunded'
             WHEN paid_total >= total THEN 'paid'
             WHEN paid_total > 0 THEN 'partially-paid'
             ELSE 'unpaid' END",
    ),
    (
        "an order has a number, and its lines were numbered before the next one",
        "SELECT id FROM orders WHERE number < 1001 OR EXISTS
             (SELECT 1 FROM order_lines WHERE order_id = orders.id AND line >= orders.next_line)",
    ),
    (
        "the tax of a line is at most its amount",
        "SELECT order_id FROM order_lines WHERE tax < 0
         OR tax > quantity * (unit_price - unit_discount)",
    ),
    (
        "a return has a known status and amount, and its exchange refers back to it",
        "SELECT id FROM returns WHERE refund_amount < 0
         OR status NOT IN ('requested', 'received', 'completed', 'declined')
         UNION ALL SELECT id FROM orders WHERE exchange_for IS NOT NULL
         AND exchange_for NOT IN (SELECT id FROM returns)",
    ),
    (
        "the status of an order is that of its lines",
        "SELECT orders.id FROM orders JOIN
             (SELECT order_id, CAST(SUM(fulfilled) AS BIGINT) AS sent,
                 CAST(SUM(quantity - fulfilled - cancelled) AS BIGINT) AS open
              FROM order_lines GROUP BY order_id) AS sums ON sums.order_id = orders.id
         WHERE NOT CASE orders.status
             WHEN 'pending' THEN open > 0 AND sent = 0
             WHEN 'confirmed' THEN open > 0
             WHEN 'processing' THEN open > 0
             WHEN 'shipped' THEN open = 0 AND sent > 0
             WHEN 'delivered' THEN open = 0 AND sent > 0
             WHEN 'cancelled' THEN open = 0 AND sent = 0
             ELSE 1 = 0 END",
    ),
    (
        "the customer of an order is known",
        "SELECT id FROM orders WHERE customer_id IS NOT NULL
         AND customer_id NOT IN (SELECT id FROM customers)",
    ),
    (
        "a shipment belongs to an order",
        "SELECT id FROM fulfillments WHERE order_id NOT IN (SELECT id FROM orders)",
    ),
    (
        "a return belongs to an order",
        "SELECT id FROM returns WHERE order_id NOT IN (SELECT id FROM orders)",
    ),
    (
        "a key has an outcome",
        "SELECT key FROM keys WHERE outcome IS NULL",
    ),
];

/// Returns every violation in a store: none, unless something is broken. Reads one snapshot of the
/// whole store.
pub async fn invariants(database: &DatabaseUrl) -> Result<Vec<String>, StoreError> {
    let store = Store::open(database, 2, DEADLINE).await?;
    let found = async {
        let mut connection = store.write_pool().acquire().await?.detach();
        let begin = sql(store.dialect.begin_snapshot());
        begin.execute(&mut connection).await?;
        let mut found = Vec::new();
        for (fact, exceptions) in FACTS {
            let rows = dynamic_sql(format!("{exceptions} LIMIT {NAMED}"));
            for row in rows.fetch_all(&mut connection).await? {
                let name: String = row.try_get(0)?;
                found.push(format!("{name}: not true that {fact}"));
            }
        }
        let fact = "as much has left, and come back, as its lines say";
        let exceptions = find_wrong_moves(&mut connection).await?;
        found.extend(
            exceptions
                .into_iter()
                .map(|name| format!("{name}: not true that {fact}")),
        );
        let fact = "its payments come to its sums, and its names and phones find it";
        let exceptions = find_wrong_details(&mut connection).await?;
        found.extend(
            exceptions
                .into_iter()
                .map(|name| format!("{name}: not true that {fact}")),
        );
        connection.close().await?;
        Ok::<_, StoreError>(found)
    };
    let found = found.await;
    store.close().await;
    found
}

/// The shipped and returned units of each SKU of each order.
type MovedUnits = BTreeMap<(String, String), (i64, i64)>;

/// Returns the orders whose lines disagree with their shipments and returns.
async fn find_wrong_moves(connection: &mut AnyConnection) -> Result<Vec<String>, sqlx::Error> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let last = sql(
            "SELECT MAX(id) FROM (SELECT id FROM orders WHERE id > $1 ORDER BY id LIMIT $2) AS batch",
        );
        let last = last.bind(after.clone()).bind(AT_ONCE);
        let last: Option<String> = last.fetch_one(&mut *connection).await?.try_get(0)?;
        let Some(last) = last.filter(|_| found.len() < NAMED) else {
            return Ok(found);
        };
        let mut by_lines = MovedUnits::new();
        let lines =
            "SELECT order_id, sku, CAST(SUM(fulfilled) AS BIGINT), CAST(SUM(returned) AS BIGINT)
             FROM order_lines WHERE order_id > $1 AND order_id <= $2 GROUP BY order_id, sku";
        for row in sql(lines)
            .bind(after.clone())
            .bind(last.clone())
            .fetch_all(&mut *connection)
            .await?
        {
            let counts: (i64, i64) = (row.try_get(2)?, row.try_get(3)?);
            if counts != (0, 0) {
                by_lines.insert((row.try_get(0)?, row.try_get(1)?), counts);
            }
        }
        let mut by_moves = MovedUnits::new();
        for (table, sent) in [("fulfillments", true), ("returns", false)] {
            let counted = if sent {
                ""
            } else {
                " AND status <> 'declined'"
            };
            let moves = dynamic_sql(format!(
                "SELECT order_id, details FROM {table} WHERE order_id > $1 AND order_id <= $2{counted}"
            ));
            let moves = moves.bind(after.clone()).bind(last.clone());
            for row in moves.fetch_all(&mut *connection).await? {
                add(&mut by_moves, &row, sent)?;
            }
        }
        let differs = |(of, counts): &(&(String, String), &(i64, i64)), other: &MovedUnits| {
            other.get(*of) != Some(*counts)
        };
        let lines = by_lines.iter().filter(|one| differs(one, &by_moves));
        let moves = by_moves.iter().filter(|one| differs(one, &by_lines));
        let mut names: Vec<_> = lines
            .chain(moves)
            .map(|((order, sku), _)| format!("{order} {sku}"))
            .collect();
        names.sort_unstable();
        names.dedup();
        found.extend(names);
        after = last;
    }
}

/// Returns the orders whose details contradict their payment sums or their keys in `lookups`.
async fn find_wrong_details(connection: &mut AnyConnection) -> Result<Vec<String>, sqlx::Error> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let rows = sql(
            "SELECT id, name, currency, details, paid_total, refunded_total, created_at
             FROM orders WHERE id > $1 ORDER BY id LIMIT $2",
        );
        let rows = rows.bind(after.clone()).bind(AT_ONCE);
        let rows = rows.fetch_all(&mut *connection).await?;
        let Some(last) = rows.last().filter(|_| found.len() < NAMED) else {
            return Ok(found);
        };
        after = last.try_get(0)?;
        for row in &rows {
            let (id, details): (String, String) = (row.try_get(0)?, row.try_get(3)?);
            let Ok(details) = serde_json::from_str::<OrderDetails>(&details) else {
                found.push(id);
                continue;
            };
            let name: Option<String> = row.try_get(1)?;
            let sums = (row.try_get(4)?, row.try_get(5)?);
            let currency = Currency::read(&row.try_get::<String, _>(2)?);
            let created_at: i64 = row.try_get(6)?;
            let keys = lookups::of_order(name.as_deref(), &details);
            let missing = count_missing(connection, (&id, created_at), &keys).await?;
            if currency.and_then(|currency| payment_sums(&details, currency)) != Some(sums)
                || missing > 0
            {
                found.push(id);
            }
        }
    }
}

/// Returns the captured and the refunded amount in the smallest unit.
fn payment_sums(details: &OrderDetails, currency: Currency) -> Option<(i64, i64)> {
    let minor = |text: &str| Money::parse(text, currency).ok().map(Money::minor);
    let mut sums = (0, 0);
    for payment in &details.payments {
        let amount = minor(&payment.amount)?;
        sums.0 += i64::from(payment.status == RecordedStatus::Captured) * amount;
    }
    for refund in &details.refunds {
        sums.1 += minor(&refund.amount)?;
    }
    Some(sums)
}

/// Counts the keys of an order that are not in the table.
async fn count_missing(
    connection: &mut AnyConnection,
    (id, created_at): (&str, i64),
    keys: &LookupKeys,
) -> Result<usize, sqlx::Error> {
    if keys.is_empty() {
        return Ok(0);
    }
    let names: BTreeSet<_> = keys.iter().map(|(key, _)| key).collect();
    let rows = dynamic_sql(format!(
        "SELECT key, value FROM lookups WHERE created_at = $1 AND id = $2 AND key IN ({})",
        placeholders(names.len(), 3)
    ));
    let rows = rows.bind(created_at).bind(id.to_owned());
    let rows = names
        .iter()
        .fold(rows, |query, key| query.bind((*key).clone()));
    let mut found = LookupKeys::new();
    for row in rows.fetch_all(&mut *connection).await? {
        found.insert((row.try_get(0)?, row.try_get(1)?));
    }
    Ok(keys.difference(&found).count())
}

fn add(moved: &mut MovedUnits, row: &AnyRow, sent: bool) -> Result<(), sqlx::Error> {
    let (order, details): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    // Details in another form count as nothing, and so as a violation.
    let details: Value = serde_json::from_str(&details).unwrap_or_default();
    let lines = details.get("lineItems").and_then(Value::as_array);
    for line in lines.into_iter().flatten() {
        let sku = line.get("sku").and_then(Value::as_str).unwrap_or_default();
        let units = line.get("quantity").and_then(Value::as_i64);
        let counts = moved.entry((order.clone(), sku.to_owned())).or_default();
        let count = if sent { &mut counts.0 } else { &mut counts.1 };
        *count += units.unwrap_or_default();
    }
    Ok(())
}
