//! Counts the result of a run twice: with SQL, and with the tools.

use super::client::{OrderIds, units};
use crate::orders::fixture::{OrdersFixture, UNLIMITED};
use crate::orders::requests::OrderCalls;
use serde_json::{Value, json};

/// Checks that exactly these orders, stock, keys and records exist.
pub(super) fn check(fixture: &OrdersFixture, orders: usize, ids: &OrderIds) {
    assert_eq!(ids.len(), orders);
    let reserved: usize = (0..orders).map(units).sum();
    by_sql(fixture, orders, reserved, ids);
    by_tools(fixture, orders, reserved, ids);
}

fn by_sql(fixture: &OrdersFixture, orders: usize, reserved: usize, ids: &OrderIds) {
    let database = fixture.database();
    let count = |table: &str| database.lines(&format!("SELECT COUNT(*) FROM {table}"));
    let all = orders.to_string();
    for table in [
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
        assert_eq!(count(table), all, "{table}");
    }
    assert_eq!(database.broken_invariants(), [""; 0]);
    let stock = "SELECT on_hand, reserved FROM variants WHERE sku = 'TEA'";
    assert_eq!(database.lines(stock), format!("1000000 {reserved}"));
    let lines = "SELECT CAST(SUM(quantity) AS BIGINT) FROM order_lines";
    assert_eq!(database.lines(lines), reserved.to_string());
    assert_eq!(count("customers"), "8", "Ada and seven buyers");
    let orders_found = database.rows("SELECT external_id, id FROM orders");
    let orders_found: OrderIds = orders_found
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    assert!(
        orders_found == *ids,
        "clients were told of other orders than there are"
    );
}

fn by_tools(fixture: &OrdersFixture, orders: usize, reserved: usize, ids: &OrderIds) {
    let server = fixture.http(&UNLIMITED);
    let mut server = &server;
    let (mut orders_found, mut listed) = (OrderIds::new(), 0);
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({ "pageSize": 100 });
        if cursor.is_string() {
            arguments["cursor"] = cursor;
        }
        let page = server.call_ok("get-orders", &arguments);
        for order in page["orders"].as_array().unwrap() {
            let text = |member: &str| order[member].as_str().unwrap().to_owned();
            orders_found.insert(text("externalId"), text("id"));
            listed += 1;
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(listed, orders);
    assert!(
        orders_found == *ids,
        "the tools show other orders than there are"
    );
    let stock = server.call_ok("get-inventory", &json!({ "skus": ["TEA"] }));
    assert_eq!(stock["inventory"][0]["onHand"], 1_000_000);
    assert_eq!(stock["inventory"][0]["reservedTotal"], reserved);
    assert_eq!(
        stock["inventory"][0]["availableTotal"],
        1_000_000 - reserved
    );
}
