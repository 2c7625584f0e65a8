//! `cancel-order`: all or some of it, and the stock that is free again.

use crate::stage::Stage;
use serde_json::{Value, json};

/// An order of two lines of one SKU and one of another, with an address.
pub(crate) async fn order(stage: &Stage) -> String {
    let order = json!({
        "lineItems": [
            { "sku": "SHIRT-S", "quantity": 3 },
            { "sku": "MUG", "quantity": 2 },
            { "sku": "SHIRT-S", "quantity": 4 }
        ],
        "shippingAddress": { "address1": "1", "city": "X", "country": "US" }
    });
    let made = stage
        .tell("create-sales-order", json!({ "order": order }))
        .await;
    made.order().to_owned()
}

/// Arguments about some units.
pub(crate) fn units(order: &str, lines: &[(&str, i64)]) -> Value {
    let lines: Vec<_> = lines
        .iter()
        .map(|(sku, quantity)| json!({ "sku": sku, "quantity": quantity }))
        .collect();
    json!({ "orderId": order, "lineItems": lines })
}

pub(crate) async fn all(stage: &Stage) {
    let id = order(stage).await;
    stage.show_stock("%").await;
    stage
        .tell(
            "cancel-order",
            json!({ "orderId": id, "reason": "changed my mind" }),
        )
        .await;
    stage.show_stock("%").await;
    stage
        .tell("cancel-order", json!({ "orderId": id, "reason": "again" }))
        .await;
    stage.tell("fulfill-order", json!({ "orderId": id })).await;
    stage
        .tell("cancel-order", json!({ "orderId": "ord_none" }))
        .await;
    stage.show("SELECT status, details FROM orders").await;
    insta::assert_snapshot!("all", stage.script());
}

pub(crate) async fn some(stage: &Stage) {
    let id = order(stage).await;
    stage
        .tell("cancel-order", units(&id, &[("SHIRT-S", 5)]))
        .await;
    stage.show_stock("SHIRT-S").await;
    stage
        .tell("cancel-order", units(&id, &[("SHIRT-S", 3)]))
        .await;
    stage
        .tell(
            "cancel-order",
            units(&id, &[("MUG", 1), ("SHIRT-S", 1), ("SHIRT-S", 2)]),
        )
        .await;
    stage.tell("cancel-order", units(&id, &[("PIN", 1)])).await;
    stage
        .tell("cancel-order", units(&id, &[("MUG", 1), ("SHIRT-S", 1)]))
        .await;
    stage
        .tell("cancel-order", units(&id, &[("MUG", 1), ("SHIRT-S", 1)]))
        .await;
    stage.show_stock("%S%").await;
    insta::assert_snapshot!("some", stage.script());
}

pub(crate) async fn after_shipping(stage: &Stage) {
    let id = order(stage).await;
    stage
        .tell("fulfill-order", units(&id, &[("SHIRT-S", 4), ("MUG", 2)]))
        .await;
    stage.tell("cancel-order", units(&id, &[("MUG", 1)])).await;
    stage
        .tell("cancel-order", units(&id, &[("SHIRT-S", 1)]))
        .await;
    // What is left of it has left the house.
    stage
        .tell(
            "cancel-order",
            json!({ "orderId": id, "reason": "the rest" }),
        )
        .await;
    stage.tell("cancel-order", json!({ "orderId": id })).await;
    stage.show_stock("%").await;
    insta::assert_snapshot!("after_shipping", stage.script());
}
