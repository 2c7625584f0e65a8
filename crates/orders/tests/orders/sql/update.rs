//! `update-order`: steps of the status, and the other members.

use crate::fixture::store::StoreFixture;
use serde_json::{Value, json};

const STATES: [&str; 6] = [
    "pending",
    "confirmed",
    "processing",
    "shipped",
    "delivered",
    "cancelled",
];

/// Creates an order and brings it to this status.
pub(crate) async fn order_in(fixture: &StoreFixture, status: &str) -> String {
    let order = json!({
        "lineItems": [{ "sku": "MUG", "quantity": 1 }],
        "shippingAddress": { "address1": "1", "city": "X", "country": "US" }
    });
    let made = fixture
        .server
        .call("create-sales-order", json!({ "order": order }))
        .await;
    let id = made.order().to_owned();
    let update = async |status: &str| {
        fixture
            .server
            .call(
                "update-order",
                json!({ "orderId": id, "updates": { "status": status } }),
            )
            .await
    };
    let steps: &[&str] = match status {
        "pending" | "cancelled" | "shipped" | "delivered" => &[],
        "confirmed" => &["confirmed"],
        _ => &["confirmed", "processing"],
    };
    for step in steps {
        assert_eq!(update(step).await.status(), *step);
    }
    if status == "cancelled" {
        let done = fixture
            .server
            .call("cancel-order", json!({ "orderId": id }))
            .await;
        assert_eq!(done.status(), "cancelled");
    }
    if status == "shipped" || status == "delivered" {
        let done = fixture
            .server
            .call("fulfill-order", json!({ "orderId": id }))
            .await;
        assert!(!done.is_failure(), "{}", done.whole);
    }
    if status == "delivered" {
        assert_eq!(update("delivered").await.status(), "delivered");
    }
    id
}

pub(crate) async fn steps(fixture: &StoreFixture) {
    let mut table = String::new();
    for from in STATES {
        for to in ["confirmed", "processing", "delivered"] {
            let id = order_in(fixture, from).await;
            let arguments = json!({ "orderId": id, "updates": { "status": to } });
            let response = fixture.server.call("update-order", arguments).await;
            let became = if response.is_failure() {
                format!(
                    "{:?} {} {}",
                    response.failure(),
                    response.context("status"),
                    response.context("field")
                )
            } else {
                response.status().to_owned()
            };
            let now = fixture
                .rows(&format!("SELECT status FROM orders WHERE id = '{id}'"))
                .await;
            table.push_str(&format!("{from} -> {to}: {became}; now {}\n", now[0]));
        }
    }
    // A status that another tool sets cannot be set.
    for to in ["pending", "shipped", "cancelled"] {
        fixture
            .call_recorded(
                "update-order",
                json!({ "orderId": "any", "updates": { "status": to } }),
            )
            .await;
    }
    insta::assert_snapshot!("steps", table + "\n" + &fixture.transcript());
}

pub(crate) async fn details(fixture: &StoreFixture) {
    let id = order_in(fixture, "pending").await;
    let update = async |updates: Value| {
        fixture
            .call_recorded("update-order", json!({ "orderId": id, "updates": updates }))
            .await
    };
    update(json!({ "tags": ["x"], "notes": "n", "name": "N", "customFields": [{ "name": "a", "value": "b" }] })).await;
    update(json!({ "shippingAddress": { "address1": "2", "city": "Y", "country": "FR" } })).await;
    update(json!({ "billingAddress": { "address1": "3", "city": "Z", "country": "GB" }, "status": "confirmed" })).await;
    update(json!({ "tags": [], "customFields": [], "notes": "" })).await;
    // A refused step changes nothing else either.
    update(json!({ "notes": "never", "status": "delivered" })).await;
    update(json!({ "shippingAddress": { "address1": "2", "city": "Y", "country": "XX" } })).await;
    update(json!({})).await;
    fixture
        .call_recorded(
            "update-order",
            json!({ "orderId": "ord_none", "updates": { "notes": "n" } }),
        )
        .await;
    fixture
        .record_rows("SELECT name, status, details, created_at, updated_at FROM orders")
        .await;
    insta::assert_snapshot!("details", fixture.transcript());
}
