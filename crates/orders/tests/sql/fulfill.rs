//! `fulfill-order`: what leaves, from where, and what becomes of the order.

use crate::cancel::{order, units};
use crate::stage::Stage;
use serde_json::json;

async fn states(stage: &Stage) {
    stage
        .show("SELECT status, created_at, updated_at FROM orders ORDER BY created_at")
        .await;
    stage.show("SELECT line, sku, quantity, fulfilled, cancelled FROM order_lines ORDER BY created_at, line").await;
}

pub(crate) async fn all(stage: &Stage) {
    let id = order(stage).await;
    stage
        .tell(
            "fulfill-order",
            json!({ "orderId": id, "trackingNumbers": ["T1", "T2"] }),
        )
        .await;
    states(stage).await;
    stage.show_stock("%").await;
    stage
        .show("SELECT id, order_id, details, created_at, updated_at FROM fulfillments")
        .await;
    stage.tell("fulfill-order", json!({ "orderId": id })).await;
    insta::assert_snapshot!("all", stage.script());
}

pub(crate) async fn some(stage: &Stage) {
    let id = order(stage).await;
    stage
        .tell("fulfill-order", units(&id, &[("SHIRT-S", 1)]))
        .await;
    states(stage).await;
    stage
        .tell(
            "update-order",
            json!({ "orderId": id, "updates": { "status": "processing" } }),
        )
        .await;
    stage
        .tell("fulfill-order", units(&id, &[("MUG", 2), ("SHIRT-S", 3)]))
        .await;
    states(stage).await;
    stage
        .tell("fulfill-order", units(&id, &[("SHIRT-S", 4)]))
        .await;
    stage.tell("fulfill-order", units(&id, &[("MUG", 1)])).await;
    stage
        .tell(
            "fulfill-order",
            json!({ "orderId": id, "trackingNumbers": [] }),
        )
        .await;
    states(stage).await;
    stage.show_stock("%").await;
    insta::assert_snapshot!("some", stage.script());
}

pub(crate) async fn refusals(stage: &Stage) {
    let order = json!({ "lineItems": [{ "sku": "SHIRT-L", "quantity": 4 }] });
    let made = stage
        .tell("create-sales-order", json!({ "order": order }))
        .await;
    let id = made.order().to_owned();
    stage
        .tell("fulfill-order", json!({ "orderId": "ord_none" }))
        .await;
    stage.tell("fulfill-order", json!({ "orderId": id })).await;
    let address = json!({ "address1": "1", "city": "X", "country": "US" });
    stage
        .tell(
            "update-order",
            json!({ "orderId": id, "updates": { "shippingAddress": address } }),
        )
        .await;
    stage
        .tell(
            "fulfill-order",
            json!({ "orderId": id, "locationId": "loc_nowhere" }),
        )
        .await;
    stage
        .tell(
            "fulfill-order",
            json!({ "orderId": id, "locationId": "loc_east" }),
        )
        .await;
    stage
        .tell("fulfill-order", units(&id, &[("GONE", 1)]))
        .await;
    stage
        .tell("fulfill-order", units(&id, &[("SHIRT-L", 5)]))
        .await;
    states(stage).await;
    stage.show_stock("SHIRT-L").await;
    insta::assert_snapshot!("refusals", stage.script());
}

pub(crate) async fn locations(stage: &Stage) {
    let id = order(stage).await;
    let from = async |location: &str, lines: &[(&str, i64)]| {
        let mut asked = units(&id, lines);
        asked["locationId"] = location.into();
        stage.tell("fulfill-order", asked).await
    };
    from("loc_west", &[("SHIRT-S", 4)]).await;
    from("loc_west", &[("MUG", 1)]).await;
    from("loc_west", &[("SHIRT-S", 2)]).await;
    stage.show_stock("SHIRT-S").await;
    // Five lie in the east and one in the west.
    stage
        .tell("fulfill-order", units(&id, &[("SHIRT-S", 5)]))
        .await;
    stage.show_stock("SHIRT-S").await;
    from("loc_east", &[("MUG", 2)]).await;
    states(stage).await;
    insta::assert_snapshot!("locations", stage.script());
}
