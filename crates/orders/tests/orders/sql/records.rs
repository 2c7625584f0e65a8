//! Records: one row for every new final outcome, none for a repeated one.

use crate::fixture::store::StoreFixture;
use serde_json::json;

pub(crate) async fn one_for_each_outcome(fixture: &StoreFixture) {
    let mug = json!({ "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
    let make = json!({ "order": mug, "idempotencyKey": "make" });
    let made = fixture
        .call_recorded("create-sales-order", make.clone())
        .await;
    fixture.call_recorded("create-sales-order", make).await;
    let id = made.order().to_owned();
    let never =
        json!({ "orderId": id, "updates": { "status": "delivered" }, "idempotencyKey": "never" });
    fixture.call_recorded("update-order", never.clone()).await;
    fixture.call_recorded("update-order", never.clone()).await;
    // Other arguments under the same key are not an outcome of the key.
    let mut reused = never;
    reused["updates"]["status"] = "confirmed".into();
    fixture.call_recorded("update-order", reused).await;
    fixture
        .call_recorded(
            "update-order",
            json!({ "orderId": "none", "updates": { "notes": "" }, "idempotencyKey": "none" }),
        )
        .await;
    // Calls that do not reach the order system have no outcome.
    fixture
        .call_recorded(
            "create-sales-order",
            json!({ "order": { "lineItems": [] }, "idempotencyKey": "empty" }),
        )
        .await;
    fixture
        .call_recorded(
            "cancel-order",
            json!({ "orderId": id, "idempotencyKey": "cancel" }),
        )
        .await;
    fixture
        .record_rows("SELECT id, at, client, tool, key, order_id, outcome FROM records ORDER BY at")
        .await;
    fixture
        .record_rows("SELECT client, tool, key, outcome, at FROM keys ORDER BY at")
        .await;
    insta::assert_snapshot!("one_for_each_outcome", fixture.transcript());
}
