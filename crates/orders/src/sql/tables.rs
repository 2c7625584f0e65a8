//! The tables: only text and integers, money in the smallest unit, times in microseconds.

use super::dialect::SqlDialect;

/// The format version of the tables.
pub(super) const FORMAT: i64 = 2;

/// The statements that create the tables. `{text}` is the type of text that is compared byte by
/// byte.
const TABLES: [&str; 42] = [
    "CREATE TABLE settings (name {text} NOT NULL PRIMARY KEY, value {text} NOT NULL)",
    "CREATE TABLE locations (
        id {text} NOT NULL PRIMARY KEY, name {text} NOT NULL,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)",
    "CREATE TABLE products (
        id {text} NOT NULL PRIMARY KEY, name {text} NOT NULL, description {text},
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)",
    "CREATE INDEX products_by_time ON products (created_at, id)",
    // on_hand is the sum of stock.on_hand over all locations; reserved never exceeds it.
    "CREATE TABLE variants (
        sku {text} NOT NULL PRIMARY KEY, id {text} NOT NULL UNIQUE, product_id {text} NOT NULL,
        name {text} NOT NULL, price BIGINT NOT NULL,
        on_hand BIGINT NOT NULL CHECK (on_hand >= 0),
        reserved BIGINT NOT NULL CHECK (reserved >= 0 AND reserved <= on_hand),
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)",
    "CREATE INDEX variants_by_time ON variants (created_at, id)",
    "CREATE INDEX variants_by_product ON variants (product_id, created_at, id)",
    "CREATE TABLE stock (
        sku {text} NOT NULL, location_id {text} NOT NULL,
        on_hand BIGINT NOT NULL CHECK (on_hand >= 0),
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
        PRIMARY KEY (sku, location_id))",
    "CREATE INDEX stock_by_time ON stock (created_at, sku, location_id)",
    "CREATE INDEX stock_by_location ON stock (location_id, created_at, sku)",
    "CREATE TABLE customers (
        id {text} NOT NULL PRIMARY KEY, email {text}, email_key {text} UNIQUE,
        first_name {text}, last_name {text},
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, phone {text}, erased_at BIGINT)",
    "CREATE INDEX customers_by_time ON customers (created_at, id)",
    "CREATE INDEX customers_by_change ON customers (updated_at, id, created_at)",
    "CREATE INDEX customers_by_period ON customers ((created_at / 86400000000), updated_at)",
    // details is JSON with customer, addresses, shipping, payments, tags, fields and notes; it is
    // never searched. next_line is the number of the line that the next new one gets; order_lines
    // counts from 0, answers from 1.
    "CREATE TABLE orders (
        id {text} NOT NULL PRIMARY KEY, external_id {text} UNIQUE, name {text},
        status {text} NOT NULL, currency {text} NOT NULL, customer_id {text}, details {text} NOT NULL,
        sub_total BIGINT NOT NULL, discount_total BIGINT NOT NULL, total BIGINT NOT NULL,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
        number BIGINT NOT NULL DEFAULT 0,
        shipping_total BIGINT NOT NULL DEFAULT 0, shipping_tax BIGINT NOT NULL DEFAULT 0,
        order_discount BIGINT NOT NULL DEFAULT 0, order_tax BIGINT NOT NULL DEFAULT 0,
        tax_total BIGINT NOT NULL DEFAULT 0, tax_included BIGINT NOT NULL DEFAULT 0,
        paid_total BIGINT NOT NULL DEFAULT 0, refunded_total BIGINT NOT NULL DEFAULT 0,
        payment_status {text} NOT NULL DEFAULT 'unpaid', next_line BIGINT NOT NULL DEFAULT 0,
        exchange_for {text}, erased_at BIGINT)",
    "CREATE UNIQUE INDEX orders_by_number ON orders (number)",
    "CREATE INDEX orders_by_payment ON orders (payment_status, created_at, id)",
    // For pages in the order of creation that changed in some time: days without a match are
    // skipped.
    "CREATE INDEX orders_by_period ON orders ((created_at / 86400000000), updated_at)",
    "CREATE INDEX orders_by_time ON orders (created_at, id)",
    "CREATE INDEX orders_by_status ON orders (status, created_at, id)",
    "CREATE INDEX orders_by_customer ON orders (customer_id, created_at, id)",
    // The order of pages that are sorted by the time of the last change.
    "CREATE INDEX orders_by_change ON orders (updated_at, id, created_at)",
    // created_at is that of the order, so that the index by SKU has the order of pages.
    "CREATE TABLE order_lines (
        order_id {text} NOT NULL, line BIGINT NOT NULL, sku {text} NOT NULL, name {text},
        quantity BIGINT NOT NULL, unit_price BIGINT NOT NULL, unit_discount BIGINT NOT NULL,
        fulfilled BIGINT NOT NULL, cancelled BIGINT NOT NULL, returned BIGINT NOT NULL,
        created_at BIGINT NOT NULL, tax BIGINT NOT NULL DEFAULT 0,
        CHECK (fulfilled + cancelled <= quantity AND returned <= fulfilled),
        PRIMARY KEY (order_id, line))",
    "CREATE INDEX order_lines_by_sku ON order_lines (sku, created_at, order_id)",
    "CREATE TABLE fulfillments (
        id {text} NOT NULL PRIMARY KEY, order_id {text} NOT NULL, details {text} NOT NULL,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)",
    "CREATE INDEX fulfillments_by_time ON fulfillments (created_at, id)",
    "CREATE INDEX fulfillments_by_change ON fulfillments (updated_at, id, created_at)",
    "CREATE INDEX fulfillments_by_period ON fulfillments ((created_at / 86400000000), updated_at)",
    "CREATE INDEX fulfillments_by_order ON fulfillments (order_id, created_at, id)",
    "CREATE TABLE returns (
        id {text} NOT NULL PRIMARY KEY, order_id {text} NOT NULL, outcome {text} NOT NULL,
        details {text} NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
        status {text} NOT NULL DEFAULT 'requested', refund_amount BIGINT NOT NULL DEFAULT 0)",
    "CREATE INDEX returns_by_time ON returns (created_at, id)",
    "CREATE INDEX returns_by_change ON returns (updated_at, id, created_at)",
    "CREATE INDEX returns_by_period ON returns ((created_at / 86400000000), updated_at)",
    "CREATE INDEX returns_by_status ON returns (status, created_at, id)",
    "CREATE INDEX returns_by_outcome ON returns (outcome, created_at, id)",
    "CREATE INDEX returns_by_order ON returns (order_id, created_at, id)",
    // outcome is the first final one; a row without an outcome is never committed.
    "CREATE TABLE keys (
        client {text} NOT NULL, tool {text} NOT NULL, key {text} NOT NULL,
        fingerprint {text} NOT NULL, outcome {text}, at BIGINT NOT NULL,
        PRIMARY KEY (client, tool, key))",
    "CREATE INDEX keys_by_time ON keys (at)",
    // The permanent record of requests and their outcomes.
    "CREATE TABLE records (
        id {text} NOT NULL PRIMARY KEY, at BIGINT NOT NULL, client {text} NOT NULL,
        tool {text} NOT NULL, key {text} NOT NULL, fingerprint {text} NOT NULL,
        order_id {text}, outcome {text} NOT NULL)",
    "CREATE INDEX records_by_order ON records (order_id, id)",
    LOOKUPS,
    MIGRATIONS,
];

/// Keys by which entities are found, see `lookups.rs`. created_at and id are those of the entity.
const LOOKUPS: &str = "CREATE TABLE lookups (
        key {text} NOT NULL, created_at BIGINT NOT NULL, id {text} NOT NULL, value {text} NOT NULL,
        PRIMARY KEY (key, created_at, id, value))";

const MIGRATIONS: &str = "CREATE TABLE migrations (
        version BIGINT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, program {text} NOT NULL)";

/// The statements that bring tables of format 1 to format 2, before their rows are completed.
const ADDITIONS: [&str; 32] = [
    LOOKUPS,
    MIGRATIONS,
    "ALTER TABLE customers ADD COLUMN phone {text}",
    "ALTER TABLE customers ADD COLUMN erased_at BIGINT",
    "ALTER TABLE orders ADD COLUMN number BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN shipping_total BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN shipping_tax BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN order_discount BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN order_tax BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN tax_total BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN tax_included BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN paid_total BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN refunded_total BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN payment_status {text} NOT NULL DEFAULT 'unpaid'",
    "ALTER TABLE orders ADD COLUMN next_line BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE orders ADD COLUMN exchange_for {text}",
    "ALTER TABLE orders ADD COLUMN erased_at BIGINT",
    "ALTER TABLE order_lines ADD COLUMN tax BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE returns ADD COLUMN status {text} NOT NULL DEFAULT 'requested'",
    "ALTER TABLE returns ADD COLUMN refund_amount BIGINT NOT NULL DEFAULT 0",
    "DROP INDEX customers_by_change",
    "DROP INDEX orders_by_change",
    "DROP INDEX fulfillments_by_change",
    "DROP INDEX returns_by_change",
    // Orders are numbered in the order of their creation.
    "UPDATE orders SET number = 1000 + numbered.position,
         next_line = (SELECT COALESCE(MAX(line) + 1, 0) FROM order_lines WHERE order_id = orders.id),
         payment_status = CASE orders.total WHEN 0 THEN 'paid' ELSE 'unpaid' END
     FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY created_at, id) AS position FROM orders) AS numbered
     WHERE numbered.id = orders.id",
    // A return had no steps: everything that was recorded has come back.
    "UPDATE returns SET status = 'completed'",
    // Failures about arguments bind no key any more.
    "DELETE FROM keys WHERE outcome LIKE '{\"failed\":{\"Wrong\"%'",
    // Callers without a name share one set of keys. If two have the same key, the older one stays.
    "DELETE FROM keys WHERE client IN ('anonymous', 'bearer', 'write-bearer') AND EXISTS
         (SELECT 1 FROM keys AS older WHERE older.tool = keys.tool AND older.key = keys.key
          AND older.client IN ('default', 'anonymous', 'bearer', 'write-bearer')
          AND (older.at < keys.at OR (older.at = keys.at AND older.client < keys.client)))",
    "UPDATE keys SET client = 'default' WHERE client IN ('anonymous', 'bearer', 'write-bearer')",
    "UPDATE records SET client = 'default' WHERE client IN ('anonymous', 'bearer', 'write-bearer')",
    "CREATE UNIQUE INDEX orders_by_number ON orders (number)",
    "UPDATE settings SET value = '2' WHERE name = 'format'",
];

/// The indexes that only format 2 has, created when the rows are complete.
fn added_indexes() -> impl Iterator<Item = &'static str> {
    const ADDED: [&str; 12] = [
        "orders_by_payment",
        "orders_by_period",
        "orders_by_change",
        "customers_by_change",
        "customers_by_period",
        "fulfillments_by_change",
        "fulfillments_by_period",
        "returns_by_change",
        "returns_by_period",
        "returns_by_status",
        "returns_by_outcome",
        "records_by_order",
    ];
    let is_added = |statement: &&str| {
        let name = statement.strip_prefix("CREATE INDEX ").unwrap_or_default();
        let name = name.split(' ').next().unwrap_or_default();
        !name.is_empty() && ADDED.contains(&name)
    };
    TABLES.into_iter().filter(is_added)
}

/// Returns the statements that create the tables of this database.
pub(super) fn statements(dialect: SqlDialect) -> impl Iterator<Item = String> {
    let sequence = dialect.create_order_numbers();
    let tables = TABLES.into_iter().chain(sequence);
    tables.map(move |statement| statement.replace("{text}", dialect.text_type()))
}

/// Returns the statements that bring tables of format 1 to format 2. The refund amounts of returns
/// and the keys in `lookups` are computed from the rows, and are not among them.
pub(super) fn upgrade_statements(dialect: SqlDialect) -> impl Iterator<Item = String> {
    let sequence = dialect.create_order_numbers().into_iter();
    let continued = dialect.continue_order_numbers();
    let statements = ADDITIONS.into_iter().chain(added_indexes());
    let statements = statements.chain(sequence).chain(continued);
    statements.map(move |statement| statement.replace("{text}", dialect.text_type()))
}

/// Returns the names of all tables.
pub(super) fn table_names(dialect: SqlDialect) -> Vec<String> {
    names(dialect, &["CREATE TABLE "])
}

/// Returns the names of all indexes that have one of their own.
pub(super) fn index_names(dialect: SqlDialect) -> Vec<String> {
    names(dialect, &["CREATE UNIQUE INDEX ", "CREATE INDEX "])
}

/// Returns the names in the statements that start like this.
fn names(dialect: SqlDialect, starts: &[&str]) -> Vec<String> {
    let name = |statement: String| {
        let rest = starts
            .iter()
            .find_map(|start| statement.strip_prefix(start))?;
        Some(rest.split(' ').next().unwrap_or_default().to_owned())
    };
    statements(dialect).filter_map(name).collect()
}
