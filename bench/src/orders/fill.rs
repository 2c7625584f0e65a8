//! Fills a store with bulk statements for SQLite and PostgreSQL: the same rows in every run.

use crate::report::terminal::ProgressLine;
use crate::report::thousands;
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _};

/// The number of rows in a store.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowCounts {
    pub(super) orders: u64,
    pub(super) customers: u64,
}

/// The orders that one statement creates.
const AT_ONCE: u64 = 50_000;

/// The year that orders are spread over, in microseconds.
const YEAR: u64 = 365 * 24 * 60 * 60 * 1_000_000;

/// The numbers from `{from}` to `{last}`.
const NUMBERS: &str =
    "WITH RECURSIVE n(i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i < {last})";

const LOCATION: &str = "INSERT INTO locations (id, name, created_at, updated_at)
     {numbers} SELECT 'loc_1', 'The warehouse', 1735689600000000, 1735689600000000 FROM n";

/// `{kind}` three times: always in stock, again always in stock, never in stock.
const VARIANTS: &str = "INSERT INTO variants (sku, id, product_id, name, price, on_hand, reserved, created_at, updated_at)
     {numbers} SELECT '{kind}-' || substr(CAST(100 + i AS TEXT), 2), 'var_{kind}_' || CAST(i AS TEXT), 'prd_1',
         'A thing of the ' || CAST(i AS TEXT) || 'th kind', 1990, {on_hand}, 0, 1735689600000000, 1735689600000000 FROM n";

const STOCK: &str = "INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at)
     {numbers} SELECT '{kind}-' || substr(CAST(100 + i AS TEXT), 2), 'loc_1', {on_hand},
         1735689600000000, 1735689600000000 FROM n";

const CUSTOMERS: &str =
    "INSERT INTO customers (id, email, email_key, first_name, last_name, created_at, updated_at)
     {numbers} SELECT 'cus_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2),
         'c' || substr(CAST(10000000000 + i AS TEXT), 2) || '@example.org',
         'c' || substr(CAST(10000000000 + i AS TEXT), 2) || '@example.org',
         'Ada', 'Byron' || substr(CAST(10000000 + i AS TEXT), 2), 1735689600000000 + i, 1735689600000000 + i FROM n";

/// One of the keys by which each customer is looked up.
const CUSTOMER_LOOKUPS: &str = "INSERT INTO lookups (key, created_at, id, value)
     {numbers} SELECT '{start}' || substr(CAST(10000000 + i AS TEXT), 2) || '{end}', 1735689600000000 + i,
         'cus_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2), '' FROM n";

/// The start and the end of the keys of a customer, which has a number in its last name.
const CUSTOMER_KEYS: [[&str; 2]; 3] = [
    ["cn:ada byron", ""],
    ["cn:byron", ", ada"],
    ["cn:byron", ""],
];

/// Orders in all six statuses. The units of `shipped` and `delivered` ones were shipped.
const ORDERS: &str = "INSERT INTO orders (id, external_id, name, status, currency, customer_id, details,
         sub_total, discount_total, total, created_at, updated_at, number, next_line)
     {numbers} SELECT 'ord_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2), NULL,
         'N' || substr(CAST(10000000 + i AS TEXT), 2),
         CASE i % 6 WHEN 0 THEN 'pending' WHEN 1 THEN 'confirmed' WHEN 2 THEN 'processing'
             WHEN 3 THEN 'shipped' WHEN 4 THEN 'delivered' ELSE 'cancelled' END,
         'USD', 'cus_000000000000000' || substr(CAST(10000000000 + i % {customers} AS TEXT), 2),
         '{\"customer\":{\"id\":\"cus_000000000000000' || substr(CAST(10000000000 + i % {customers} AS TEXT), 2)
             || '\",\"email\":\"c' || substr(CAST(10000000000 + i % {customers} AS TEXT), 2)
             || '@example.org\",\"firstName\":\"Ada\",\"lastName\":\"Byron'
             || substr(CAST(10000000 + i % {customers} AS TEXT), 2) || '\",\"phone\":\"+1 555 '
             || substr(CAST(10000000 + i % {customers} AS TEXT), 2) || '\"},\"shippingAddress\":{\"address1\":\"1 Long Road\",\"city\":\"Springfield\",\"zipCodeOrPostalCode\":\"12345\",\"country\":\"US\"}}',
         5970, 0, 5970, 1735689600000000 + i * {step}, 1735689600000000 + i * {step}, 1001 + i, 2 FROM n";

/// One of the two lines of each order.
const LINES: &str =
    "INSERT INTO order_lines (order_id, line, sku, name, quantity, unit_price, unit_discount,
         fulfilled, cancelled, returned, created_at)
     {numbers} SELECT 'ord_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2), {line},
         '{kind}-' || substr(CAST(100 + i % 100 AS TEXT), 2),
         'A thing of the ' || CAST(i % 100 AS TEXT) || 'th kind', {line} + 1, 1990, 0,
         CASE WHEN i % 6 IN (3, 4) THEN {line} + 1 ELSE 0 END,
         CASE WHEN i % 6 = 5 THEN {line} + 1 ELSE 0 END, 0,
         1735689600000000 + i * {step} FROM n";

/// The number of a shipped order among all shipped ones, from 0.
const SHIPPED: &str = "substr(CAST(10000000 + i / 6 * 2 + i % 6 - 3 AS TEXT), 2)";

/// One shipment for each shipped order.
const FULFILLMENTS: &str = "INSERT INTO fulfillments (id, order_id, details, created_at, updated_at)
     {numbers} SELECT 'ful_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2),
         'ord_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2),
         '{\"lineItems\":[{\"sku\":\"SKU-' || substr(CAST(100 + i % 100 AS TEXT), 2)
             || '\",\"quantity\":1,\"locationId\":\"loc_1\"},{\"sku\":\"SKV-'
             || substr(CAST(100 + i % 100 AS TEXT), 2)
             || '\",\"quantity\":2,\"locationId\":\"loc_1\"}],\"trackingNumbers\":[\"T' || {shipped} || '\"]}',
         1735689600000000 + i * {step}, 1735689600000000 + i * {step} FROM n WHERE i % 6 IN (3, 4)";

/// One of the keys by which orders and shipments are looked up.
const LOOKUPS: &str = "INSERT INTO lookups (key, created_at, id, value)
     {numbers} SELECT {key}, 1735689600000000 + i * {step},
         '{kind}_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2), {value} FROM n WHERE {which}";

/// The end of the keys of an order that contain its customer.
const CUSTOMER_NUMBER: &str = "substr(CAST(10000000 + i % {customers} AS TEXT), 2)";

/// The keys: whose they are, the key, the value beside it, and which orders have it.
const KEYS: [[&str; 4]; 7] = [
    ["ord", "'op:' || {customer}", "'1555' || {customer}", "true"],
    ["ord", "'oc:ada byron' || {customer}", "''", "true"],
    ["ord", "'oc:byron' || {customer} || ', ada'", "''", "true"],
    ["ord", "'oc:byron' || {customer}", "''", "true"],
    [
        "ord",
        "'on:n' || substr(CAST(10000000 + i AS TEXT), 2)",
        "''",
        "true",
    ],
    ["ord", "'ot:T' || {shipped}", "''", "i % 6 IN (3, 4)"],
    ["ful", "'ft:T' || {shipped}", "''", "i % 6 IN (3, 4)"],
];

/// Reserves what is open, after all orders.
const RESERVED: &str = "UPDATE variants SET reserved = COALESCE(
     (SELECT SUM(order_lines.quantity - order_lines.fulfilled - order_lines.cancelled)
      FROM order_lines WHERE order_lines.sku = variants.sku), 0)";

/// All text that decides the content of a store.
pub(super) const RECIPE: ([&str; 12], [[&str; 2]; 3], [[&str; 4]; 7]) = (
    [
        NUMBERS,
        LOCATION,
        VARIANTS,
        STOCK,
        CUSTOMERS,
        CUSTOMER_LOOKUPS,
        ORDERS,
        LINES,
        SHIPPED,
        FULFILLMENTS,
        LOOKUPS,
        RESERVED,
    ],
    CUSTOMER_KEYS,
    KEYS,
);

/// Fills a store that has only its tables.
pub(super) async fn fill(
    url: &str,
    amount: RowCounts,
    progress: &mut ProgressLine,
) -> Result<(), sqlx::Error> {
    sqlx::any::install_default_drivers();
    let mut store = AnyConnection::connect(url).await?;
    let sqlite = url.starts_with("sqlite:");
    if sqlite {
        // The store is not used before it is complete.
        for pragma in ["PRAGMA synchronous = OFF", "PRAGMA cache_size = -262144"] {
            store.execute(pragma).await?;
        }
    }
    run(&mut store, LOCATION.to_owned(), 0..1).await?;
    for (kind, on_hand) in [
        ("SKU", "1000000000000"),
        ("SKV", "1000000000000"),
        ("NIL", "0"),
    ] {
        for statement in [VARIANTS, STOCK] {
            let statement = statement.replace("{kind}", kind);
            run(&mut store, statement.replace("{on_hand}", on_hand), 0..100).await?;
        }
    }
    let customers = amount.customers;
    run(&mut store, CUSTOMERS.to_owned(), 0..customers).await?;
    for [start, end] in CUSTOMER_KEYS {
        let lookups = CUSTOMER_LOOKUPS.replace("{start}", start);
        run(&mut store, lookups.replace("{end}", end), 0..customers).await?;
    }
    for from in (0..amount.orders).step_by(AT_ONCE as usize) {
        let to = (from + AT_ONCE).min(amount.orders);
        for statement in order_statements(amount) {
            run(&mut store, statement, from..to).await?;
        }
        let (done, all) = (thousands(to as f64), thousands(amount.orders as f64));
        progress.say(&format!("orders: filling a store, {done} of {all}"));
    }
    store.execute(RESERVED).await?;
    // A server does both by itself eventually; a file has no statistics.
    let last: &[&'static str] = match sqlite {
        true => &["PRAGMA wal_checkpoint(TRUNCATE)"],
        false => &[
            "SELECT setval('order_numbers', (SELECT MAX(number) FROM orders))",
            "VACUUM ANALYZE",
            "CHECKPOINT",
        ],
    };
    for statement in last {
        store.execute(*statement).await?;
    }
    store.close().await
}

/// Returns the statements that create orders with everything that belongs to them.
fn order_statements(amount: RowCounts) -> Vec<String> {
    let lines = [("0", "SKU"), ("1", "SKV")];
    let lines = lines.map(|(line, kind)| LINES.replace("{line}", line).replace("{kind}", kind));
    let lookups = KEYS.map(|[kind, key, value, which]| {
        let lookups = LOOKUPS.replace("{kind}", kind).replace("{key}", key);
        lookups.replace("{value}", value).replace("{which}", which)
    });
    let all = [ORDERS, FULFILLMENTS].map(str::to_owned).into_iter();
    let all = all.chain(lines).chain(lookups).map(|statement| {
        statement
            .replace("{shipped}", SHIPPED)
            .replace("{customer}", CUSTOMER_NUMBER)
            .replace("{customers}", &amount.customers.to_string())
            .replace("{step}", &(YEAR / amount.orders).to_string())
    });
    all.collect()
}

async fn run(
    store: &mut AnyConnection,
    statement: String,
    numbers: std::ops::Range<u64>,
) -> Result<(), sqlx::Error> {
    let from = format!("CAST({} AS BIGINT)", numbers.start);
    let last = numbers.end.saturating_sub(1).to_string();
    let numbers = NUMBERS.replace("{from}", &from).replace("{last}", &last);
    let statement = statement.replace("{numbers}", &numbers);
    store.execute(AssertSqlSafe(statement)).await.map(drop)
}
