//! 2001, 2002 and 2003: wrong arguments that the schema admits.

use crate::orders::fixture::OrdersFixture;
use crate::orders::masking::{all_equal, mask};
use crate::orders::requests::{OrderCalls, order};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Makes the same failures happen on every database, and on both wires; the answers must be the same.
fn on_all_databases_and_transports(cause: impl Fn(&mut dyn OrderCalls) -> Vec<String>) -> String {
    let mut answers = Vec::new();
    for fixture in OrdersFixture::for_each_database() {
        answers.push(mask(&cause(&mut &fixture.http(&[])).join("\n")));
        let other = OrdersFixture::sqlite();
        answers.push(mask(&cause(&mut other.stdio(&[])).join("\n")));
    }
    all_equal(answers)
}

fn with(key: &str, member: &str, value: Value) -> Value {
    let mut arguments = order(key, "TEA", 2);
    arguments["order"][member] = value;
    arguments
}

#[test]
fn inconsistent_amounts_are_2001() {
    let answers = on_all_databases_and_transports(|server| {
        let range = json!({ "createdAtMin": "2026-01-02T00:00:00Z", "createdAtMax": "2026-01-01T00:00:00Z" });
        vec![
            server
                .call_err_in_both_eras("create-sales-order", &with("k1", "total", json!("25.01"))),
            server.call_err_in_both_eras("get-orders", &range),
            server
                .call_err_in_both_eras("create-sales-order", &with("k2", "currency", json!("XYZ"))),
            server.call_err_in_both_eras(
                "create-sales-order",
                &with(
                    "k3",
                    "shippingAddress",
                    json!({ "address1": "1", "city": "Oslo", "country": "XX" }),
                ),
            ),
        ]
    });
    assert_snapshot!(answers);
}

#[test]
fn order_without_an_address_is_2002() {
    let answers = on_all_databases_and_transports(|server| {
        let id = server.create_order(&order("k1", "TEA", 1));
        let fulfil = json!({ "orderId": id, "idempotencyKey": "k2" });
        vec![server.call_err_in_both_eras("fulfill-order", &fulfil)]
    });
    assert_snapshot!(answers);
}

#[test]
fn malformed_values_are_2003() {
    let answers = on_all_databases_and_transports(|server| {
        for number in 0..2 {
            server.create_order(&order(&format!("k{number}"), "TEA", 1));
        }
        let page = server.call_ok("get-orders", &json!({ "pageSize": 1 }));
        let cursor = page["nextCursor"].as_str().unwrap().to_owned();
        let other = json!({ "statuses": ["pending"], "cursor": cursor });
        let mut decimals = order("k9", "TEA", 1);
        decimals["order"]["lineItems"][0]["unitPrice"] = json!("0.125");
        vec![
            server.call_err_in_both_eras("get-orders", &other),
            server.call_err_in_both_eras("get-customers", &json!({ "cursor": cursor })),
            server.call_err_in_both_eras("get-orders", &json!({ "cursor": "bm90IG91cnM" })),
            server.call_err_in_both_eras("create-sales-order", &decimals),
        ]
    });
    assert_snapshot!(answers);
}
