//! Records: one row for every new final outcome, none for one that came again.

use crate::stage::Stage;
use serde_json::json;

pub(crate) async fn one_for_each_outcome(stage: &Stage) {
    let mug = json!({ "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
    let make = json!({ "order": mug, "idempotencyKey": "make" });
    let made = stage.tell("create-sales-order", make.clone()).await;
    stage.tell("create-sales-order", make).await;
    let id = made.order().to_owned();
    let never =
        json!({ "orderId": id, "updates": { "status": "delivered" }, "idempotencyKey": "never" });
    stage.tell("update-order", never.clone()).await;
    stage.tell("update-order", never.clone()).await;
    // Another payload under a key is an outcome of no key.
    let mut reused = never;
    reused["updates"]["status"] = "confirmed".into();
    stage.tell("update-order", reused).await;
    stage
        .tell(
            "update-order",
            json!({ "orderId": "none", "updates": { "notes": "" }, "idempotencyKey": "none" }),
        )
        .await;
    // What no order system was asked is none of its outcomes.
    stage
        .tell(
            "create-sales-order",
            json!({ "order": { "lineItems": [] }, "idempotencyKey": "empty" }),
        )
        .await;
    stage
        .tell(
            "cancel-order",
            json!({ "orderId": id, "idempotencyKey": "cancel" }),
        )
        .await;
    stage
        .show("SELECT id, at, client, tool, key, order_id, outcome FROM records ORDER BY at")
        .await;
    stage
        .show("SELECT client, tool, key, outcome, at FROM keys ORDER BY at")
        .await;
    insta::assert_snapshot!("one_for_each_outcome", stage.script());
}
