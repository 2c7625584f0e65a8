//! The statements of the order tools, as the bare handler runs them. The benchmark compares them
//! with what PostgreSQL receives from the order tools, and stops if they differ.

pub(super) const GET: &str =
    "WITH page AS MATERIALIZED (SELECT orders.created_at, orders.id FROM orders
     WHERE (orders.created_at, orders.id) > ($2, $3) AND orders.created_at <= $4 AND orders.id IN ($1)
     ORDER BY orders.created_at, orders.id LIMIT 21)
     SELECT orders.id, orders.external_id, orders.name, orders.status, orders.currency, orders.details,
         orders.sub_total, orders.discount_total, orders.total, orders.created_at, orders.updated_at,
         orders.number, orders.shipping_total, orders.shipping_tax, orders.order_discount,
         orders.order_tax, orders.tax_total, orders.tax_included, orders.paid_total,
         orders.refunded_total, orders.next_line, orders.exchange_for,
         CAST(NULL AS BIGINT) AS line, CAST(NULL AS BIGINT) AS returned
     FROM page CROSS JOIN orders WHERE orders.id = page.id
     UNION ALL
     SELECT order_lines.order_id, order_lines.sku, order_lines.name, NULL, NULL, NULL,
         order_lines.quantity, order_lines.unit_price, order_lines.unit_discount,
         order_lines.fulfilled, order_lines.cancelled, order_lines.tax,
         NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
         order_lines.line, order_lines.returned
     FROM page CROSS JOIN order_lines WHERE order_lines.order_id = page.id";

pub(super) const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = 4999";
pub(super) const BEGIN_SQLITE: &str = "PRAGMA busy_timeout = 4999; BEGIN IMMEDIATE";
pub(super) const COMMIT: &str = "COMMIT";

/// The claim of a key, with the time of the database.
pub(super) const CLAIM: &str = "INSERT INTO keys (client, tool, key, fingerprint, outcome, at)
     VALUES ($1, $2, $3, $4, NULL, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))
     ON CONFLICT (client, tool, key) DO UPDATE
     SET fingerprint = excluded.fingerprint, outcome = NULL, at = excluded.at
     WHERE keys.at < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) - CAST($5 AS BIGINT)
     RETURNING at";

/// The claim of a key, with the time of the server.
pub(super) const CLAIM_SQLITE: &str =
    "INSERT INTO keys (client, tool, key, fingerprint, outcome, at)
     VALUES ($1, $2, $3, $4, NULL, CAST($6 AS BIGINT))
     ON CONFLICT (client, tool, key) DO UPDATE
     SET fingerprint = excluded.fingerprint, outcome = NULL, at = excluded.at
     WHERE keys.at < CAST($6 AS BIGINT) - CAST($5 AS BIGINT)
     RETURNING at";

pub(super) const CUSTOMER: &str =
    "SELECT id, email, first_name, last_name, phone FROM customers WHERE email_key = $1";

pub(super) const VARIANTS: &str =
    "SELECT sku, name, price, on_hand - reserved FROM variants WHERE sku IN ($1, $2) ORDER BY sku";

pub(super) const ORDER: &str =
    "INSERT INTO orders (id, external_id, name, status, currency, customer_id, details,
         sub_total, discount_total, total, created_at, updated_at, shipping_total, shipping_tax,
         order_discount, order_tax, tax_total, tax_included, paid_total, payment_status,
         next_line, exchange_for, number)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
         $19, $20, $21, $22, nextval('order_numbers'))
     ON CONFLICT (external_id) DO NOTHING RETURNING number";

/// As [`ORDER`], in a file, which has one writer.
pub(super) const ORDER_SQLITE: &str =
    "INSERT INTO orders (id, external_id, name, status, currency, customer_id, details,
         sub_total, discount_total, total, created_at, updated_at, shipping_total, shipping_tax,
         order_discount, order_tax, tax_total, tax_included, paid_total, payment_status,
         next_line, exchange_for, number)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
         $19, $20, $21, $22, (SELECT COALESCE(MAX(number), 1000) + 1 FROM orders))
     ON CONFLICT (external_id) DO NOTHING RETURNING number";

pub(super) const LINES: &str =
    "INSERT INTO order_lines (order_id, line, sku, name, quantity, unit_price, unit_discount,
         fulfilled, cancelled, returned, created_at, tax) VALUES
     (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS BIGINT), CAST($9 AS BIGINT), CAST($10 AS BIGINT), CAST($11 AS BIGINT), CAST($12 AS BIGINT)),
     (CAST($13 AS TEXT), CAST($14 AS BIGINT), CAST($15 AS TEXT), CAST($16 AS TEXT), CAST($17 AS BIGINT), CAST($18 AS BIGINT), CAST($19 AS BIGINT), CAST($20 AS BIGINT), CAST($21 AS BIGINT), CAST($22 AS BIGINT), CAST($23 AS BIGINT), CAST($24 AS BIGINT))";

/// The keys under which an order is found by the name of its customer.
pub(super) const LOOKUPS: &str = "INSERT INTO lookups (key, created_at, id, value) VALUES
     (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS TEXT)),
     (CAST($5 AS TEXT), CAST($6 AS BIGINT), CAST($7 AS TEXT), CAST($8 AS TEXT)),
     (CAST($9 AS TEXT), CAST($10 AS BIGINT), CAST($11 AS TEXT), CAST($12 AS TEXT))
     ON CONFLICT DO NOTHING";

/// Reserves stock on PostgreSQL: locks the rows in the order of their SKUs, and updates them.
pub(super) const STOCK: &str = "WITH locked AS MATERIALIZED
     (SELECT sku FROM variants WHERE sku IN ($1, $4) ORDER BY sku FOR UPDATE)
     UPDATE variants SET on_hand = on_hand + v.column2, reserved = reserved + v.column3
     FROM (VALUES (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS BIGINT)), (CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS BIGINT))) AS v
     WHERE variants.sku = v.column1 AND on_hand + v.column2 >= reserved + v.column3
     AND (SELECT COUNT(*) FROM locked) > 0";

/// Reserves stock in a file, which is locked as a whole.
pub(super) const STOCK_SQLITE: &str = "UPDATE variants SET on_hand = on_hand + v.column2, reserved = reserved + v.column3
     FROM (VALUES (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS BIGINT)), (CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($6 AS BIGINT))) AS v
     WHERE variants.sku = v.column1 AND on_hand + v.column2 >= reserved + v.column3";

pub(super) const SETTLE: &str =
    "UPDATE keys SET outcome = v.column4 FROM (VALUES (CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT))) AS v
     WHERE client = v.column1 AND tool = v.column2 AND key = v.column3";

pub(super) const RECORD: &str =
    "INSERT INTO records (id, at, client, tool, key, fingerprint, order_id, outcome) VALUES
     (CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS TEXT), CAST($8 AS TEXT))";

/// The settings of every new connection to PostgreSQL.
pub(super) const GREETING: &[&str] = &[
    "SET statement_timeout = 10000",
    "SET idle_in_transaction_session_timeout = 20000",
    "SET synchronous_commit = on",
    "SET default_transaction_isolation = 'read committed'",
];

/// The settings of every new connection to SQLite.
pub(super) const GREETING_SQLITE: &[&str] = &[
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA busy_timeout = 10000",
];

/// The further settings of every new connection to SQLite that writes.
pub(super) const GREETING_SQLITE_WRITES: &[&str] =
    &["PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -16384"];
