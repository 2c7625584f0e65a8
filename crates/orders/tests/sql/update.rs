//! `update-order`: steps of the status, and what else may be set.

use crate::stage::Stage;
use serde_json::{Value, json};

const STATES: [&str; 6] = [
    "pending",
    "confirmed",
    "processing",
    "shipped",
    "delivered",
    "cancelled",
];

/// A new order that has come to this status.
pub(crate) async fn order_in(stage: &Stage, status: &str) -> String {
    let order = json!({
        "lineItems": [{ "sku": "MUG", "quantity": 1 }],
        "shippingAddress": { "address1": "1", "city": "X", "country": "US" }
    });
    let made = stage
        .house
        .ask("create-sales-order", json!({ "order": order }))
        .await;
    let id = made.order().to_owned();
    let update = async |status: &str| {
        stage
            .house
            .ask(
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
        let done = stage
            .house
            .ask("cancel-order", json!({ "orderId": id }))
            .await;
        assert_eq!(done.status(), "cancelled");
    }
    if status == "shipped" || status == "delivered" {
        let done = stage
            .house
            .ask("fulfill-order", json!({ "orderId": id }))
            .await;
        assert!(!done.is_failure(), "{}", done.whole);
    }
    if status == "delivered" {
        assert_eq!(update("delivered").await.status(), "delivered");
    }
    id
}

pub(crate) async fn steps(stage: &Stage) {
    let mut table = String::new();
    for from in STATES {
        for to in ["confirmed", "processing", "delivered"] {
            let id = order_in(stage, from).await;
            let asked = json!({ "orderId": id, "updates": { "status": to } });
            let said = stage.house.ask("update-order", asked).await;
            let became = if said.is_failure() {
                format!(
                    "{:?} {} {}",
                    said.failure(),
                    said.context("status"),
                    said.context("field")
                )
            } else {
                said.status().to_owned()
            };
            let now = stage
                .rows(&format!("SELECT status FROM orders WHERE id = '{id}'"))
                .await;
            table.push_str(&format!("{from} -> {to}: {became}; now {}\n", now[0]));
        }
    }
    // What other tools decide cannot be set at all.
    for to in ["pending", "shipped", "cancelled"] {
        stage
            .tell(
                "update-order",
                json!({ "orderId": "any", "updates": { "status": to } }),
            )
            .await;
    }
    insta::assert_snapshot!("steps", table + "\n" + &stage.script());
}

pub(crate) async fn details(stage: &Stage) {
    let id = order_in(stage, "pending").await;
    let update = async |updates: Value| {
        stage
            .tell("update-order", json!({ "orderId": id, "updates": updates }))
            .await
    };
    update(json!({ "tags": ["x"], "notes": "n", "name": "N", "customFields": [{ "name": "a", "value": "b" }] })).await;
    update(json!({ "shippingAddress": { "address1": "2", "city": "Y", "country": "FR" } })).await;
    update(json!({ "billingAddress": { "address1": "3", "city": "Z", "country": "GB" }, "status": "confirmed" })).await;
    update(json!({ "tags": [], "customFields": [], "notes": "" })).await;
    // A refused step sets nothing else either.
    update(json!({ "notes": "never", "status": "delivered" })).await;
    update(json!({ "shippingAddress": { "address1": "2", "city": "Y", "country": "XX" } })).await;
    update(json!({})).await;
    stage
        .tell(
            "update-order",
            json!({ "orderId": "ord_none", "updates": { "notes": "n" } }),
        )
        .await;
    stage
        .show("SELECT name, status, details, created_at, updated_at FROM orders")
        .await;
    insta::assert_snapshot!("details", stage.script());
}
