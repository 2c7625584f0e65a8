//! `cancel-order`: all or some units, and the stock that is released.

use crate::fixture::store::StoreFixture;
use serde_json::{Value, json};

/// Creates an order with two lines of one SKU, one of another, and an address.
pub(crate) async fn order(fixture: &StoreFixture) -> String {
    let order = json!({
        "lineItems": [
            { "sku": "SHIRT-S", "quantity": 3 },
            { "sku": "MUG", "quantity": 2 },
            { "sku": "SHIRT-S", "quantity": 4 }
        ],
        "shippingAddress": { "address1": "1", "city": "X", "country": "US" }
    });
    let made = fixture
        .call_recorded("create-sales-order", json!({ "order": order }))
        .await;
    made.order().to_owned()
}

/// Returns arguments with these units.
pub(crate) fn units(order: &str, lines: &[(&str, i64)]) -> Value {
    let lines: Vec<_> = lines
        .iter()
        .map(|(sku, quantity)| json!({ "sku": sku, "quantity": quantity }))
        .collect();
    json!({ "orderId": order, "lineItems": lines })
}

pub(crate) async fn all(fixture: &StoreFixture) {
    let id = order(fixture).await;
    fixture.record_stock("%").await;
    fixture
        .call_recorded(
            "cancel-order",
            json!({ "orderId": id, "reason": "changed my mind" }),
        )
        .await;
    fixture.record_stock("%").await;
    fixture
        .call_recorded("cancel-order", json!({ "orderId": id, "reason": "again" }))
        .await;
    fixture
        .call_recorded("fulfill-order", json!({ "orderId": id }))
        .await;
    fixture
        .call_recorded("cancel-order", json!({ "orderId": "ord_none" }))
        .await;
    fixture
        .record_rows("SELECT status, details FROM orders")
        .await;
    insta::assert_snapshot!("all", fixture.transcript());
}

pub(crate) async fn some(fixture: &StoreFixture) {
    let id = order(fixture).await;
    fixture
        .call_recorded("cancel-order", units(&id, &[("SHIRT-S", 5)]))
        .await;
    fixture.record_stock("SHIRT-S").await;
    fixture
        .call_recorded("cancel-order", units(&id, &[("SHIRT-S", 3)]))
        .await;
    fixture
        .call_recorded(
            "cancel-order",
            units(&id, &[("MUG", 1), ("SHIRT-S", 1), ("SHIRT-S", 2)]),
        )
        .await;
    fixture
        .call_recorded("cancel-order", units(&id, &[("PIN", 1)]))
        .await;
    fixture
        .call_recorded("cancel-order", units(&id, &[("MUG", 1), ("SHIRT-S", 1)]))
        .await;
    fixture
        .call_recorded("cancel-order", units(&id, &[("MUG", 1), ("SHIRT-S", 1)]))
        .await;
    fixture.record_stock("%S%").await;
    insta::assert_snapshot!("some", fixture.transcript());
}

pub(crate) async fn after_shipping(fixture: &StoreFixture) {
    let id = order(fixture).await;
    fixture
        .call_recorded("fulfill-order", units(&id, &[("SHIRT-S", 4), ("MUG", 2)]))
        .await;
    fixture
        .call_recorded("cancel-order", units(&id, &[("MUG", 1)]))
        .await;
    fixture
        .call_recorded("cancel-order", units(&id, &[("SHIRT-S", 1)]))
        .await;
    // Everything that is left of the order has been shipped.
    fixture
        .call_recorded(
            "cancel-order",
            json!({ "orderId": id, "reason": "the rest" }),
        )
        .await;
    fixture
        .call_recorded("cancel-order", json!({ "orderId": id }))
        .await;
    fixture.record_stock("%").await;
    insta::assert_snapshot!("after_shipping", fixture.transcript());
}
