//! The tables: only text and integers, money in the smallest unit, times in microseconds.

use super::dialect::SqlDialect;

/// The format version of the tables.
pub(super) const FORMAT: i64 = 1;

/// The statements that create the tables. `{text}` is the type of text that is compared byte by
/// byte.
const TABLES: [&str; 31] = [
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
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)",
    "CREATE INDEX customers_by_time ON customers (created_at, id)",
    "CREATE INDEX customers_by_change ON customers (updated_at, created_at, id)",
    // details is JSON with customer, addresses, tags, fields and notes; it is never searched.
    "CREATE TABLE orders (
        id {text} NOT NULL PRIMARY KEY, external_id {text} UNIQUE, name {text},
        status {text} NOT NULL, currency {text} NOT NULL, customer_id {text}, details {text} NOT NULL,
        sub_total BIGINT NOT NULL, discount_total BIGINT NOT NULL, total BIGINT NOT NULL,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)",
    "CREATE INDEX orders_by_time ON orders (created_at, id)",
    "CREATE INDEX orders_by_status ON orders (status, created_at, id)",
    "CREATE INDEX orders_by_customer ON orders (customer_id, created_at, id)",
    // Finds what changed since a time; the rows are then sorted into the order of pages.
    "CREATE INDEX orders_by_change ON orders (updated_at, created_at, id)",
    // created_at is that of the order, so that the index by SKU has the order of pages.
    "CREATE TABLE order_lines (
        order_id {text} NOT NULL, line BIGINT NOT NULL, sku {text} NOT NULL, name {text},
        quantity BIGINT NOT NULL, unit_price BIGINT NOT NULL, unit_discount BIGINT NOT NULL,
        fulfilled BIGINT NOT NULL, cancelled BIGINT NOT NULL, returned BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        CHECK (fulfilled + cancelled <= quantity AND returned <= fulfilled),
        PRIMARY KEY (order_id, line))",
    "CREATE INDEX order_lines_by_sku ON order_lines (sku, created_at, order_id)",
    "CREATE TABLE fulfillments (
        id {text} NOT NULL PRIMARY KEY, order_id {text} NOT NULL, details {text} NOT NULL,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)",
    "CREATE INDEX fulfillments_by_time ON fulfillments (created_at, id)",
    "CREATE INDEX fulfillments_by_change ON fulfillments (updated_at, created_at, id)",
    "CREATE INDEX fulfillments_by_order ON fulfillments (order_id, created_at, id)",
    "CREATE TABLE returns (
        id {text} NOT NULL PRIMARY KEY, order_id {text} NOT NULL, outcome {text} NOT NULL,
        details {text} NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)",
    "CREATE INDEX returns_by_time ON returns (created_at, id)",
    "CREATE INDEX returns_by_change ON returns (updated_at, created_at, id)",
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
];

/// Returns the statements that create the tables of this database.
pub(super) fn statements(dialect: SqlDialect) -> impl Iterator<Item = String> {
    let text = dialect.text_type();
    TABLES
        .iter()
        .map(move |statement| statement.replace("{text}", text))
}
