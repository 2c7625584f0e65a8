//! `create-sales-order`: the new order, the catalogue and the stock.

use crate::fixture::catalogue;
use crate::fixture::store::StoreFixture;
use serde_json::{Value, json};

const CREATE: &str = "create-sales-order";

pub(crate) async fn minimal(fixture: &StoreFixture) {
    let order = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 2 }] } });
    fixture.call_recorded(CREATE, order).await;
    fixture.record_rows("SELECT id, external_id, name, status, currency, customer_id, details, sub_total, discount_total, total, created_at, updated_at FROM orders").await;
    fixture.record_rows("SELECT order_id, line, sku, name, quantity, unit_price, unit_discount, fulfilled, cancelled, returned, created_at FROM order_lines").await;
    insta::assert_snapshot!("minimal", fixture.transcript());
}

pub(crate) async fn full(fixture: &StoreFixture) {
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
    fixture
        .call_recorded(CREATE, json!({ "order": order }))
        .await;
    fixture.record_rows("SELECT id, email, email_key, first_name, last_name, created_at, updated_at FROM customers ORDER BY id").await;
    fixture.record_rows("SELECT details FROM orders").await;
    insta::assert_snapshot!("full", fixture.transcript());
}

pub(crate) async fn catalogue_decides(fixture: &StoreFixture) {
    let lines = json!([
        { "sku": "PIN", "quantity": 3 },
        { "sku": "PIN", "quantity": 1, "name": "Own" },
        { "sku": "PIN", "quantity": 1, "unitPrice": "0" },
        { "sku": "SHIRT-L", "quantity": 1, "unitDiscount": "21.50" }
    ]);
    fixture
        .call_recorded(CREATE, json!({ "order": { "lineItems": lines } }))
        .await;
    insta::assert_snapshot!("catalogue_decides", fixture.transcript());
}

pub(crate) async fn unknown_and_repeated_skus(fixture: &StoreFixture) {
    let create = async |lines: Value| {
        fixture
            .call_recorded(CREATE, json!({ "order": { "lineItems": lines } }))
            .await
    };
    create(json!([{ "sku": "MUG", "quantity": 1 }, { "sku": "mug", "quantity": 1 }])).await;
    create(json!([{ "sku": "MUG'; DROP TABLE orders; --", "quantity": 1 }])).await;
    // Together they exceed the stock.
    create(json!([{ "sku": "SHIRT-S", "quantity": 5 }, { "sku": "SHIRT-S", "quantity": 4 }])).await;
    create(json!([{ "sku": "SHIRT-S", "quantity": 5 }, { "sku": "SHIRT-S", "quantity": 3 }])).await;
    create(json!([{ "sku": "GONE", "quantity": 1 }])).await;
    fixture.record_stock("SHIRT-S").await;
    insta::assert_snapshot!("unknown_and_repeated_skus", fixture.transcript());
}

pub(crate) async fn stock_is_reserved(fixture: &StoreFixture) {
    let create = async |units: i64| {
        let order = json!({ "order": { "lineItems": [{ "sku": "SHIRT-S", "quantity": units }] } });
        fixture.call_recorded(CREATE, order).await
    };
    create(6).await;
    create(3).await;
    create(2).await;
    create(1).await;
    fixture.record_stock("SHIRT-S").await;
    fixture.record_rows("SELECT COUNT(*) FROM orders").await;
    insta::assert_snapshot!("stock_is_reserved", fixture.transcript());
}

pub(crate) async fn five_hundred_lines(fixture: &StoreFixture) {
    const LINES: usize = 500;
    catalogue::bulk(&fixture.pool, LINES).await;
    let long = "é".repeat(255);
    let lines: Vec<_> = (0..LINES)
        .rev()
        .map(|line| json!({ "sku": catalogue::bulk_sku(line), "quantity": 7, "name": long }))
        .collect();
    let made = fixture
        .server
        .call(
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
    let cancelled = fixture.server.call("cancel-order", some.clone()).await;
    assert_eq!(cancelled.status(), "pending");
    let sent = fixture.server.call("fulfill-order", some.clone()).await;
    assert_eq!(
        sent.at("/fulfillment/lineItems").as_array().unwrap().len(),
        LINES
    );
    let mut back = some;
    back["outcome"] = json!("refund");
    let back = fixture.server.call("create-return", back).await;
    assert_eq!(
        back.at("/return/lineItems").as_array().unwrap().len(),
        LINES
    );
    let sent = fixture
        .server
        .call("fulfill-order", json!({ "orderId": id }))
        .await;
    assert_eq!(sent.at("/fulfillment/lineItems/499/quantity"), 3);
    fixture
        .record_rows("SELECT status, COUNT(*) FROM orders GROUP BY status")
        .await;
    fixture.record_rows("SELECT COUNT(*), on_hand, reserved FROM variants WHERE sku LIKE 'BULK%' GROUP BY on_hand, reserved").await;
    insta::assert_snapshot!("five_hundred_lines", fixture.transcript());
}

pub(crate) async fn external_ids(fixture: &StoreFixture) {
    let create = async |id: &str| {
        let order = json!({ "externalId": id, "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
        fixture
            .call_recorded(CREATE, json!({ "order": order }))
            .await
    };
    create("ext").await;
    create("ext").await;
    create("EXT").await;
    create("éxt").await;
    fixture
        .record_rows("SELECT external_id FROM orders ORDER BY external_id")
        .await;
    fixture.record_stock("MUG").await;
    insta::assert_snapshot!("external_ids", fixture.transcript());
}
