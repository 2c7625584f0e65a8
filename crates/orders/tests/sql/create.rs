//! `create-sales-order`: what is made, and what the catalogue and the stock say to it.

use crate::catalogue;
use crate::stage::Stage;
use serde_json::{Value, json};

const CREATE: &str = "create-sales-order";

pub(crate) async fn minimal(stage: &Stage) {
    let order = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 2 }] } });
    stage.tell(CREATE, order).await;
    stage.show("SELECT id, external_id, name, status, currency, customer_id, details, sub_total, discount_total, total, created_at, updated_at FROM orders").await;
    stage.show("SELECT order_id, line, sku, name, quantity, unit_price, unit_discount, fulfilled, cancelled, returned, created_at FROM order_lines").await;
    insta::assert_snapshot!("minimal", stage.script());
}

pub(crate) async fn full(stage: &Stage) {
    let address = json!({
        "address1": "Hauptstraße 1", "address2": "Hinterhaus", "city": "Köln",
        "stateOrProvince": "NW", "zipCodeOrPostalCode": "50667", "country": "DE",
        "firstName": "Ada", "lastName": "Lovelace", "company": "Engines", "phone": "+49 221 1"
    });
    let order = json!({
        "externalId": "ext-1", "name": "#1001", "currency": "USD",
        "lineItems": [
            { "sku": "SHIRT-S", "quantity": 2, "unitPrice": "20", "unitDiscount": "1.5", "name": "Gift" },
            { "sku": "PIN", "quantity": 3 }
        ],
        "customer": { "email": "new@example.com", "firstName": "Neu", "lastName": "Mann" },
        "shippingAddress": address, "billingAddress": address,
        "tags": ["b", "a", "b"], "customFields": [{ "name": "po", "value": "" }],
        "notes": "one\ntwo\t😀", "subTotal": "40.30", "discountTotal": "3.00", "total": "37.3"
    });
    stage.tell(CREATE, json!({ "order": order })).await;
    stage.show("SELECT id, email, email_key, first_name, last_name, created_at, updated_at FROM customers ORDER BY id").await;
    stage.show("SELECT details FROM orders").await;
    insta::assert_snapshot!("full", stage.script());
}

pub(crate) async fn catalogue_decides(stage: &Stage) {
    let lines = json!([
        { "sku": "PIN", "quantity": 3 },
        { "sku": "PIN", "quantity": 1, "name": "Own" },
        { "sku": "PIN", "quantity": 1, "unitPrice": "0" },
        { "sku": "SHIRT-L", "quantity": 1, "unitDiscount": "21.50" }
    ]);
    stage
        .tell(CREATE, json!({ "order": { "lineItems": lines } }))
        .await;
    insta::assert_snapshot!("catalogue_decides", stage.script());
}

pub(crate) async fn unknown_and_repeated_skus(stage: &Stage) {
    let create = async |lines: Value| {
        stage
            .tell(CREATE, json!({ "order": { "lineItems": lines } }))
            .await
    };
    create(json!([{ "sku": "MUG", "quantity": 1 }, { "sku": "mug", "quantity": 1 }])).await;
    create(json!([{ "sku": "MUG'; DROP TABLE orders; --", "quantity": 1 }])).await;
    // Together they are more than there is.
    create(json!([{ "sku": "SHIRT-S", "quantity": 5 }, { "sku": "SHIRT-S", "quantity": 4 }])).await;
    create(json!([{ "sku": "SHIRT-S", "quantity": 5 }, { "sku": "SHIRT-S", "quantity": 3 }])).await;
    create(json!([{ "sku": "GONE", "quantity": 1 }])).await;
    stage.show_stock("SHIRT-S").await;
    insta::assert_snapshot!("unknown_and_repeated_skus", stage.script());
}

pub(crate) async fn stock_is_reserved(stage: &Stage) {
    let create = async |units: i64| {
        let order = json!({ "order": { "lineItems": [{ "sku": "SHIRT-S", "quantity": units }] } });
        stage.tell(CREATE, order).await
    };
    create(6).await;
    create(3).await;
    create(2).await;
    create(1).await;
    stage.show_stock("SHIRT-S").await;
    stage.show("SELECT COUNT(*) FROM orders").await;
    insta::assert_snapshot!("stock_is_reserved", stage.script());
}

pub(crate) async fn five_hundred_lines(stage: &Stage) {
    const LINES: usize = 500;
    catalogue::bulk(&stage.pool, LINES).await;
    let long = "é".repeat(255);
    let lines: Vec<_> = (0..LINES)
        .rev()
        .map(|line| json!({ "sku": catalogue::bulk_sku(line), "quantity": 7, "name": long }))
        .collect();
    let made = stage
        .house
        .ask(
            CREATE,
            json!({ "order": {
        "lineItems": lines,
        "shippingAddress": { "address1": "1", "city": "X", "country": "US" }
    } }),
        )
        .await;
    let id = made.order();
    assert_eq!(made.at("/order/total"), "3500.00");
    assert_eq!(made.at("/order/lineItems/499/sku"), "BULK-000");
    let some: Vec<_> = (0..LINES)
        .map(|line| json!({ "sku": catalogue::bulk_sku(line), "quantity": 2 }))
        .collect();
    let some = json!({ "orderId": id, "lineItems": some });
    let cancelled = stage.house.ask("cancel-order", some.clone()).await;
    assert_eq!(cancelled.status(), "pending");
    let sent = stage.house.ask("fulfill-order", some.clone()).await;
    assert_eq!(
        sent.at("/fulfillment/lineItems").as_array().unwrap().len(),
        LINES
    );
    let mut back = some;
    back["outcome"] = json!("refund");
    let back = stage.house.ask("create-return", back).await;
    assert_eq!(
        back.at("/return/lineItems").as_array().unwrap().len(),
        LINES
    );
    let sent = stage
        .house
        .ask("fulfill-order", json!({ "orderId": id }))
        .await;
    assert_eq!(sent.at("/fulfillment/lineItems/499/quantity"), 3);
    stage
        .show("SELECT status, COUNT(*) FROM orders GROUP BY status")
        .await;
    stage.show("SELECT COUNT(*), on_hand, reserved FROM variants WHERE sku LIKE 'BULK%' GROUP BY on_hand, reserved").await;
    insta::assert_snapshot!("five_hundred_lines", stage.script());
}

pub(crate) async fn external_ids(stage: &Stage) {
    let create = async |id: &str| {
        let order = json!({ "externalId": id, "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
        stage.tell(CREATE, json!({ "order": order })).await
    };
    create("ext").await;
    create("ext").await;
    create("EXT").await;
    create("éxt").await;
    stage
        .show("SELECT external_id FROM orders ORDER BY external_id")
        .await;
    stage.show_stock("MUG").await;
    insta::assert_snapshot!("external_ids", stage.script());
}
