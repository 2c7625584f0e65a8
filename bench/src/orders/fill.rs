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

/// `{kind}` three times: always in stock, again always in stock, never in stock.
const VARIANTS: &str = "INSERT INTO variants (sku, id, product_id, name, price, on_hand, reserved, created_at, updated_at)
     {numbers} SELECT '{kind}-' || substr(CAST(100 + i AS TEXT), 2), 'var_{kind}_' || CAST(i AS TEXT), 'prd_1',
         'A thing of the ' || CAST(i AS TEXT) || 'th kind', 1990, {on_hand}, 0, 1735689600000000, 1735689600000000 FROM n";

const CUSTOMERS: &str =
    "INSERT INTO customers (id, email, email_key, first_name, last_name, created_at, updated_at)
     {numbers} SELECT 'cus_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2),
         'c' || substr(CAST(10000000000 + i AS TEXT), 2) || '@example.org',
         'c' || substr(CAST(10000000000 + i AS TEXT), 2) || '@example.org',
         'Ada', 'Byron', 1735689600000000 + i, 1735689600000000 + i FROM n";

const ORDERS: &str = "INSERT INTO orders (id, external_id, name, status, currency, customer_id, details,
         sub_total, discount_total, total, created_at, updated_at, number, next_line)
     {numbers} SELECT 'ord_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2), NULL, NULL,
         CASE i % 6 WHEN 0 THEN 'pending' WHEN 1 THEN 'confirmed' WHEN 2 THEN 'processing'
             WHEN 3 THEN 'shipped' WHEN 4 THEN 'delivered' ELSE 'cancelled' END,
         'USD', 'cus_000000000000000' || substr(CAST(10000000000 + i % {customers} AS TEXT), 2),
         '{\"customer\":{\"id\":\"cus_000000000000000' || substr(CAST(10000000000 + i % {customers} AS TEXT), 2)
             || '\",\"email\":\"c' || substr(CAST(10000000000 + i % {customers} AS TEXT), 2)
             || '@example.org\",\"firstName\":\"Ada\",\"lastName\":\"Byron\"},\"shippingAddress\":{\"address1\":\"1 Long Road\",\"city\":\"Springfield\",\"zipCodeOrPostalCode\":\"12345\",\"country\":\"US\"}}',
         5970, 0, 5970, 1735689600000000 + i * {step}, 1735689600000000 + i * {step}, 1001 + i, 2 FROM n";

/// One of the two lines of each order.
const LINES: &str =
    "INSERT INTO order_lines (order_id, line, sku, name, quantity, unit_price, unit_discount,
         fulfilled, cancelled, returned, created_at)
     {numbers} SELECT 'ord_000000000000000' || substr(CAST(10000000000 + i AS TEXT), 2), {line},
         '{kind}-' || substr(CAST(100 + i % 100 AS TEXT), 2),
         'A thing of the ' || CAST(i % 100 AS TEXT) || 'th kind', {line} + 1, 1990, 0, 0, 0, 0,
         1735689600000000 + i * {step} FROM n";

/// All text that decides the content of a store.
pub(super) const RECIPE: [&str; 5] = [NUMBERS, VARIANTS, CUSTOMERS, ORDERS, LINES];

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
    for (kind, on_hand) in [
        ("SKU", "1000000000000"),
        ("SKV", "1000000000000"),
        ("NIL", "0"),
    ] {
        let statement = VARIANTS.replace("{kind}", kind);
        run(&mut store, statement.replace("{on_hand}", on_hand), 0..100).await?;
    }
    let customers = amount.customers;
    run(&mut store, CUSTOMERS.to_owned(), 0..customers).await?;
    let step = (YEAR / amount.orders).to_string();
    for from in (0..amount.orders).step_by(AT_ONCE as usize) {
        let to = (from + AT_ONCE).min(amount.orders);
        let orders = ORDERS.replace("{customers}", &customers.to_string());
        run(&mut store, orders.replace("{step}", &step), from..to).await?;
        for (line, kind) in [("0", "SKU"), ("1", "SKV")] {
            let lines = LINES.replace("{line}", line).replace("{kind}", kind);
            run(&mut store, lines.replace("{step}", &step), from..to).await?;
        }
        let (done, all) = (thousands(to as f64), thousands(amount.orders as f64));
        progress.say(&format!("orders: filling a store, {done} of {all}"));
    }
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
