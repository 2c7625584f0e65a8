//! Each way to damage a store is found.

use super::{Invariant, MAX_NAMED, VerifyReport, verify};
use crate::sql::dialect::SqlDialect;
use crate::sql::store::DatabaseUrl;
use crate::sql::test_databases::Databases;
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _};
use std::collections::BTreeSet;
use std::fs;

/// A change to a store, the invariant that it breaks, and the id that is named.
struct Damage {
    invariant: Invariant,
    id: &'static str,
    /// Some statements are possible on one database only.
    only: Option<SqlDialect>,
    statement: &'static str,
}

const fn damage(invariant: Invariant, id: &'static str, statement: &'static str) -> Damage {
    Damage {
        invariant,
        id,
        only: None,
        statement,
    }
}

const fn on_postgres(invariant: Invariant, id: &'static str, statement: &'static str) -> Damage {
    Damage {
        only: Some(SqlDialect::Postgres),
        ..damage(invariant, id, statement)
    }
}

/// The samples have each status; the order of these statements matters to none of them.
const DAMAGE: [Damage; 46] = [
    damage(Invariant::Format, "format", "DELETE FROM migrations"),
    damage(
        Invariant::Erasure,
        "pending",
        "INSERT INTO settings (name, value) VALUES ('erasure', 'pending')",
    ),
    damage(
        Invariant::StockOnHand,
        "MUG-350-SND",
        "UPDATE stock SET on_hand = on_hand + 1 WHERE sku = 'MUG-350-SND' AND location_id = 'loc_lisbon'",
    ),
    damage(
        Invariant::StockReserved,
        "TEE-BLK-M",
        "UPDATE variants SET reserved = reserved + 1 WHERE sku = 'TEE-BLK-M'",
    ),
    damage(
        Invariant::StockBounds,
        "TEE-BLK-L",
        "UPDATE variants SET reserved = on_hand + 1 WHERE sku = 'TEE-BLK-L'",
    ),
    damage(
        Invariant::StockLocations,
        "NONE",
        "INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at) VALUES ('NONE', 'loc_berlin', 0, 1, 1)",
    ),
    damage(
        Invariant::StockLocations,
        "TEE-BLK-S",
        "INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at) VALUES ('TEE-BLK-S', 'none', 0, 1, 1)",
    ),
    damage(
        Invariant::Variants,
        "TEE-BLK-S",
        "UPDATE variants SET price = -1 WHERE sku = 'TEE-BLK-S'",
    ),
    damage(
        Invariant::OrderRows,
        "ord_0000002",
        "UPDATE orders SET status = 'lost' WHERE id = 'ord_0000002'",
    ),
    damage(
        Invariant::OrderRows,
        "ord_0000003",
        "UPDATE orders SET details = '{' WHERE id = 'ord_0000003'",
    ),
    damage(
        Invariant::OrderRows,
        "ord_0000004",
        "UPDATE order_lines SET unit_price = 9000000000000000000 WHERE order_id = 'ord_0000004'",
    ),
    damage(
        Invariant::OrderLines,
        "ord_0000005",
        "DELETE FROM order_lines WHERE order_id = 'ord_0000005'",
    ),
    damage(
        Invariant::OrderLines,
        "ord_0000006",
        "UPDATE order_lines SET created_at = 1 WHERE order_id = 'ord_0000006'",
    ),
    damage(
        Invariant::OrderNumbers,
        "ord_0000007",
        "UPDATE orders SET number = 7 WHERE id = 'ord_0000007'",
    ),
    damage(
        Invariant::Tables,
        "orders_by_number",
        "DROP INDEX orders_by_number",
    ),
    damage(
        Invariant::OrderNumbers,
        "5000",
        "UPDATE orders SET number = 5000 WHERE id IN ('ord_0000008', 'ord_0000009')",
    ),
    on_postgres(
        Invariant::OrderNumbers,
        "7000",
        "UPDATE orders SET number = 7000 WHERE id = 'ord_0000030'",
    ),
    on_postgres(
        Invariant::ExternalIds,
        "sample-0000008",
        "ALTER TABLE orders DROP CONSTRAINT orders_external_id_key;
         UPDATE orders SET external_id = 'sample-0000008' WHERE id = 'ord_0000009'",
    ),
    damage(
        Invariant::LineNumbers,
        "ord_0000010",
        "UPDATE orders SET next_line = 0 WHERE id = 'ord_0000010'",
    ),
    damage(
        Invariant::LineQuantities,
        "ord_0000011",
        "UPDATE order_lines SET quantity = 0, fulfilled = 0, cancelled = 0, returned = 0 WHERE order_id = 'ord_0000011'",
    ),
    damage(
        Invariant::LineQuantities,
        "ord_0000012",
        "UPDATE order_lines SET cancelled = quantity + 1 WHERE order_id = 'ord_0000012'",
    ),
    damage(
        Invariant::LineVariants,
        "ord_0000013",
        "UPDATE order_lines SET sku = 'NONE' WHERE order_id = 'ord_0000013'",
    ),
    damage(
        Invariant::LineTax,
        "ord_0000014",
        "UPDATE order_lines SET tax = 100000000 WHERE order_id = 'ord_0000014'",
    ),
    damage(
        Invariant::OrderSums,
        "ord_0000015",
        "UPDATE orders SET total = total + 1 WHERE id = 'ord_0000015'",
    ),
    damage(
        Invariant::OrderSums,
        "ord_0000016",
        "UPDATE orders SET sub_total = sub_total + 1, total = total + 1 WHERE id = 'ord_0000016'",
    ),
    damage(
        Invariant::OrderSums,
        "ord_0000017",
        "UPDATE orders SET tax_total = 5, total = total + 5 WHERE id = 'ord_0000017'",
    ),
    damage(
        Invariant::OrderStatus,
        "ord_0000018",
        "UPDATE orders SET status = CASE status WHEN 'cancelled' THEN 'shipped' ELSE 'cancelled' END WHERE id = 'ord_0000018'",
    ),
    damage(
        Invariant::OrderCustomer,
        "ord_0000019",
        "UPDATE orders SET customer_id = 'none' WHERE id = 'ord_0000019'",
    ),
    damage(
        Invariant::OrderCustomer,
        "ord_0000020",
        "UPDATE orders SET customer_id = NULL WHERE id = 'ord_0000020'",
    ),
    damage(
        Invariant::Payments,
        "ord_0000021",
        "UPDATE orders SET paid_total = 1, payment_status = 'partially-paid' WHERE id = 'ord_0000021'",
    ),
    damage(
        Invariant::Payments,
        "ord_0000022",
        "UPDATE orders SET payment_status = 'refunded' WHERE id = 'ord_0000022'",
    ),
    damage(
        Invariant::ShippedUnits,
        "ord_0000023",
        "INSERT INTO fulfillments (id, order_id, details, created_at, updated_at) VALUES ('ful_y', 'ord_0000023', '{\"lineItems\":[{\"sku\":\"EXTRA\",\"quantity\":1}]}', 1, 1)",
    ),
    damage(
        Invariant::ReturnedUnits,
        "ord_0000024",
        "INSERT INTO returns (id, order_id, outcome, details, created_at, updated_at) VALUES ('ret_y', 'ord_0000024', 'refund', '{\"lineItems\":[{\"sku\":\"EXTRA\",\"quantity\":1}]}', 1, 1)",
    ),
    damage(
        Invariant::Fulfillments,
        "ful_x",
        "INSERT INTO fulfillments (id, order_id, details, created_at, updated_at) VALUES ('ful_x', 'none', '{\"lineItems\":[]}', 1, 1)",
    ),
    damage(
        Invariant::Returns,
        "ret_x",
        "INSERT INTO returns (id, order_id, outcome, details, created_at, updated_at) VALUES ('ret_x', 'none', 'refund', '{\"lineItems\":[]}', 1, 1)",
    ),
    damage(
        Invariant::Returns,
        "ret_y",
        "UPDATE returns SET refund_amount = 77 WHERE id = 'ret_y'",
    ),
    damage(
        Invariant::Exchanges,
        "ord_0000025",
        "UPDATE orders SET exchange_for = 'none' WHERE id = 'ord_0000025'",
    ),
    damage(
        Invariant::Exchanges,
        "ret_z",
        "INSERT INTO returns (id, order_id, outcome, details, created_at, updated_at) VALUES ('ret_z', 'ord_0000026', 'exchange', '{\"lineItems\":[],\"exchangeOrderId\":\"ord_0000027\"}', 1, 1)",
    ),
    damage(
        Invariant::Customers,
        "cust_0001",
        "UPDATE customers SET email = 'Other@example.com' WHERE id = 'cust_0001'",
    ),
    damage(
        Invariant::ErasedData,
        "ord_0000028",
        "UPDATE orders SET erased_at = updated_at WHERE id = 'ord_0000028'",
    ),
    damage(
        Invariant::OrderLookups,
        "ord_0000029",
        "DELETE FROM lookups WHERE id = 'ord_0000029' AND key LIKE 'oc:%'",
    ),
    damage(
        Invariant::OrderLookups,
        "nobody",
        "INSERT INTO lookups (key, created_at, id, value) VALUES ('oc:keller', 1, 'nobody', '')",
    ),
    damage(
        Invariant::CustomerLookups,
        "cust_0002",
        "UPDATE customers SET last_name = 'Changed' WHERE id = 'cust_0002'",
    ),
    damage(
        Invariant::FulfillmentLookups,
        "ful_y",
        "INSERT INTO lookups (key, created_at, id, value) VALUES ('ft:123', 1, 'ful_y', '')",
    ),
    damage(
        Invariant::Keys,
        "k",
        "INSERT INTO keys (client, tool, key, fingerprint, at) VALUES ('c', 't', 'k', 'f', 1)",
    ),
    damage(
        Invariant::Records,
        "rec_x",
        "INSERT INTO records (id, at, client, tool, key, fingerprint, outcome) VALUES ('rec_x', 1, 'c', 't', 'l', 'f', 'done')",
    ),
];

/// Further damage that earlier rows of the table would hide.
const LATER_DAMAGE: [Damage; 3] = [
    damage(
        Invariant::KeyRecords,
        "m",
        "INSERT INTO keys (client, tool, key, fingerprint, outcome, at) VALUES ('c', 't', 'm', 'f', '{\"done\":{}}', 1)",
    ),
    damage(
        Invariant::Keys,
        "n",
        "INSERT INTO keys (client, tool, key, fingerprint, outcome, at) VALUES ('c', 't', 'n', 'f', '{\"lost\":{}}', 1)",
    ),
    damage(
        Invariant::Records,
        "rec_y",
        "INSERT INTO records (id, at, client, tool, key, fingerprint, outcome) VALUES ('rec_y', 1, 'c', 't', 'l', 'f', 'lost')",
    ),
];

/// Runs statements on a connection that does not check constraints.
async fn run(database: &DatabaseUrl, statements: &str) {
    let mut connection = AnyConnection::connect(database.url()).await.unwrap();
    let unchecked: &[&str] = match database.dialect() {
        SqlDialect::Sqlite => &["PRAGMA ignore_check_constraints = ON"],
        SqlDialect::Postgres => &[
            "ALTER TABLE variants DROP CONSTRAINT IF EXISTS variants_check",
            "ALTER TABLE order_lines DROP CONSTRAINT IF EXISTS order_lines_check",
        ],
    };
    for statement in unchecked.iter().copied().chain(statements.split(';')) {
        let done = sqlx::query(AssertSqlSafe(statement.to_owned()));
        let done = done.execute(&mut connection).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    connection.close().await.unwrap();
}

fn count(report: &VerifyReport, of: &Damage) -> u64 {
    let mut broken = report.broken.iter();
    let broken = broken.find(|one| one.invariant == of.invariant);
    let named = broken.is_some_and(|broken| broken.ids.iter().any(|id| id == of.id));
    match named {
        true => broken.map_or(0, |broken| broken.count),
        false => 0,
    }
}

#[tokio::test]
async fn every_damage_is_found() {
    let databases = Databases::filled(100).await;
    for database in &databases.databases {
        let mut report = verify(database).await.unwrap();
        assert_eq!((report.orders, report.broken.len()), (100, 0), "{report:?}");
        let possible = DAMAGE.iter().chain(&LATER_DAMAGE);
        let possible =
            possible.filter(|one| one.only.is_none_or(|only| only == database.dialect()));
        let mut seen = BTreeSet::new();
        for damage in possible {
            run(database, damage.statement).await;
            let after = verify(database).await.unwrap();
            let (before, now) = (count(&report, damage), count(&after, damage));
            assert!(before < now, "{}: {after:#?}", damage.statement);
            seen.insert(damage.invariant);
            report = after;
        }
        let all: BTreeSet<_> = Invariant::ALL.iter().copied().collect();
        let unseen: Vec<_> = all.difference(&seen).copied().collect();
        match database.dialect() {
            SqlDialect::Sqlite => assert_eq!(unseen, [Invariant::File, Invariant::ExternalIds]),
            SqlDialect::Postgres => assert_eq!(unseen, [Invariant::File]),
        }
    }
}

#[tokio::test]
async fn damaged_file_and_missing_table_are_found() {
    let databases = Databases::filled(100).await;
    let file = &databases.databases[0];
    run(file, "DROP INDEX orders_by_status").await;
    run(file, "DROP TABLE records").await;
    let report = verify(file).await.unwrap();
    let missing = report.broken.iter();
    let mut missing = missing.filter(|one| one.invariant == Invariant::Tables);
    let expected = ["records", "orders_by_status", "records_by_order"];
    assert_eq!(missing.next().unwrap().ids, expected, "{report:?}");
    // A page of an index is overwritten.
    run(file, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    let path = file.url().trim_start_matches("sqlite://");
    let path = path.split('?').next().unwrap();
    let mut bytes = fs::read(path).unwrap();
    let page = bytes.len() / 4096 / 2 * 4096;
    bytes[page..page + 4096].fill(0x5a);
    fs::write(path, bytes).unwrap();
    let report = verify(file).await.unwrap();
    assert_eq!(report.broken[0].invariant, Invariant::File, "{report:?}");
}

#[tokio::test]
async fn number_of_named_ids_is_bounded() {
    let databases = Databases::filled(100).await;
    for database in &databases.databases {
        run(database, "UPDATE orders SET total = total + 1").await;
        let report = verify(database).await.unwrap();
        let sums = report.broken.iter();
        let mut sums = sums.filter(|one| one.invariant == Invariant::OrderSums);
        let sums = sums.next().unwrap();
        assert_eq!((sums.count, sums.ids.len()), (100, MAX_NAMED));
        assert_eq!(sums.ids[0], "ord_0000001");
    }
}
