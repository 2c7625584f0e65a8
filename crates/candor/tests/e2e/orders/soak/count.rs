//! Counts the result of a run twice: with SQL, and with the tools.

use super::client::{Made, units};
use crate::orders::fixture::{OrdersFixture, UNLIMITED};
use crate::orders::requests::OrderCalls;
use serde_json::{Value, json};

/// Checks that exactly these orders, stock, keys and records exist.
pub(super) fn check(fixture: &OrdersFixture, orders: usize, made: &Made) {
    assert_eq!(made.len(), orders);
    let reserved: usize = (0..orders).map(units).sum();
    by_sql(fixture, orders, reserved, made);
    by_tools(fixture, orders, reserved, made);
}

fn by_sql(fixture: &OrdersFixture, orders: usize, reserved: usize, made: &Made) {
    let database = fixture.database();
    let count = |what: &str| database.lines(&format!("SELECT COUNT(*) FROM {what}"));
    let all = orders.to_string();
    for what in [
        "orders",
        "order_lines",
        "(SELECT DISTINCT external_id FROM orders) AS each_once",
        "records WHERE outcome = 'done'",
        "records",
        "(SELECT DISTINCT order_id FROM records WHERE outcome = 'done') AS each_once",
        "(SELECT DISTINCT client, tool, key FROM records) AS each_once",
        "keys",
        "keys WHERE outcome IS NOT NULL",
        "keys JOIN records ON keys.client = records.client AND keys.tool = records.tool
            AND keys.key = records.key AND keys.fingerprint = records.fingerprint",
    ] {
        assert_eq!(count(what), all, "{what}");
    }
    assert_eq!(database.broken_invariants(), [""; 0]);
    let stock = "SELECT on_hand, reserved FROM variants WHERE sku = 'TEA'";
    assert_eq!(database.lines(stock), format!("1000000 {reserved}"));
    let lines = "SELECT CAST(SUM(quantity) AS BIGINT) FROM order_lines";
    assert_eq!(database.lines(lines), reserved.to_string());
    assert_eq!(count("customers"), "8", "Ada and seven buyers");
    let found = database.rows("SELECT external_id, id FROM orders");
    let found: Made = found
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    assert!(
        found == *made,
        "clients were told of other orders than there are"
    );
}

fn by_tools(fixture: &OrdersFixture, orders: usize, reserved: usize, made: &Made) {
    let server = fixture.http(&UNLIMITED);
    let mut server = &server;
    let (mut found, mut seen) = (Made::new(), 0);
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({ "pageSize": 100 });
        if cursor.is_string() {
            arguments["cursor"] = cursor;
        }
        let page = server.call_ok("get-orders", &arguments);
        for order in page["orders"].as_array().unwrap() {
            let text = |member: &str| order[member].as_str().unwrap().to_owned();
            found.insert(text("externalId"), text("id"));
            seen += 1;
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, orders);
    assert!(found == *made, "the tools show other orders than there are");
    let stock = server.call_ok("get-inventory", &json!({ "skus": ["TEA"] }));
    assert_eq!(stock["inventory"][0]["onHand"], 1_000_000);
    assert_eq!(stock["inventory"][0]["reservedTotal"], reserved);
    assert_eq!(
        stock["inventory"][0]["availableTotal"],
        1_000_000 - reserved
    );
}
