//! `fulfill-order`: shipped units, their locations, and the status of the order.

use crate::fixture::store::StoreFixture;
use crate::sql::cancel::{order, units};
use serde_json::json;

async fn states(fixture: &StoreFixture) {
    fixture
        .record_rows("SELECT status, created_at, updated_at FROM orders ORDER BY created_at")
        .await;
    fixture.record_rows("SELECT line, sku, quantity, fulfilled, cancelled FROM order_lines ORDER BY created_at, line").await;
}

pub(crate) async fn all(fixture: &StoreFixture) {
    let id = order(fixture).await;
    fixture
        .call_recorded(
            "fulfill-order",
            json!({ "orderId": id, "trackingNumbers": ["T1", "T2"] }),
        )
        .await;
    states(fixture).await;
    fixture.record_stock("%").await;
    fixture
        .record_rows("SELECT id, order_id, details, created_at, updated_at FROM fulfillments")
        .await;
    fixture
        .call_recorded("fulfill-order", json!({ "orderId": id }))
        .await;
    insta::assert_snapshot!("all", fixture.transcript());
}

pub(crate) async fn some(fixture: &StoreFixture) {
    let id = order(fixture).await;
    fixture
        .call_recorded("fulfill-order", units(&id, &[("SHIRT-S", 1)]))
        .await;
    states(fixture).await;
    fixture
        .call_recorded(
            "update-order",
            json!({ "orderId": id, "updates": { "status": "processing" } }),
        )
        .await;
    fixture
        .call_recorded("fulfill-order", units(&id, &[("MUG", 2), ("SHIRT-S", 3)]))
        .await;
    states(fixture).await;
    fixture
        .call_recorded("fulfill-order", units(&id, &[("SHIRT-S", 4)]))
        .await;
    fixture
        .call_recorded("fulfill-order", units(&id, &[("MUG", 1)]))
        .await;
    fixture
        .call_recorded(
            "fulfill-order",
            json!({ "orderId": id, "trackingNumbers": [] }),
        )
        .await;
    states(fixture).await;
    fixture.record_stock("%").await;
    insta::assert_snapshot!("some", fixture.transcript());
}

pub(crate) async fn refusals(fixture: &StoreFixture) {
    let order = json!({ "lineItems": [{ "sku": "SHIRT-L", "quantity": 4 }] });
    let made = fixture
        .call_recorded("create-sales-order", json!({ "order": order }))
        .await;
    let id = made.order().to_owned();
    fixture
        .call_recorded("fulfill-order", json!({ "orderId": "ord_none" }))
        .await;
    fixture
        .call_recorded("fulfill-order", json!({ "orderId": id }))
        .await;
    let address = json!({ "address1": "1", "city": "X", "country": "US" });
    fixture
        .call_recorded(
            "update-order",
            json!({ "orderId": id, "updates": { "shippingAddress": address } }),
        )
        .await;
    fixture
        .call_recorded(
            "fulfill-order",
            json!({ "orderId": id, "locationId": "loc_nowhere" }),
        )
        .await;
    fixture
        .call_recorded(
            "fulfill-order",
            json!({ "orderId": id, "locationId": "loc_east" }),
        )
        .await;
    fixture
        .call_recorded("fulfill-order", units(&id, &[("GONE", 1)]))
        .await;
    fixture
        .call_recorded("fulfill-order", units(&id, &[("SHIRT-L", 5)]))
        .await;
    states(fixture).await;
    fixture.record_stock("SHIRT-L").await;
    insta::assert_snapshot!("refusals", fixture.transcript());
}

pub(crate) async fn locations(fixture: &StoreFixture) {
    let id = order(fixture).await;
    let from = async |location: &str, lines: &[(&str, i64)]| {
        let mut arguments = units(&id, lines);
        arguments["locationId"] = location.into();
        fixture.call_recorded("fulfill-order", arguments).await
    };
    from("loc_west", &[("SHIRT-S", 4)]).await;
    from("loc_west", &[("MUG", 1)]).await;
    from("loc_west", &[("SHIRT-S", 2)]).await;
    fixture.record_stock("SHIRT-S").await;
    // There are five in the east and one in the west.
    fixture
        .call_recorded("fulfill-order", units(&id, &[("SHIRT-S", 5)]))
        .await;
    fixture.record_stock("SHIRT-S").await;
    from("loc_east", &[("MUG", 2)]).await;
    states(fixture).await;
    insta::assert_snapshot!("locations", fixture.transcript());
}
