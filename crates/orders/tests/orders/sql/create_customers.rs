//! `create-sales-order`: known and new customers.

use crate::fixture::store::StoreFixture;
use serde_json::{Value, json};

async fn create(fixture: &StoreFixture, customer: Value) {
    let order = json!({ "customer": customer, "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
    fixture
        .call_recorded("create-sales-order", json!({ "order": order }))
        .await;
}

async fn people(fixture: &StoreFixture) {
    fixture
        .record_rows(
            "SELECT id, email, email_key, first_name, last_name FROM customers ORDER BY id",
        )
        .await;
    fixture
        .record_rows("SELECT customer_id FROM orders ORDER BY created_at")
        .await;
}

pub(crate) async fn by_id(fixture: &StoreFixture) {
    create(fixture, json!({ "id": "cus_ada" })).await;
    create(fixture, json!({ "id": "cus_ada", "firstName": "Augusta" })).await;
    create(fixture, json!({ "id": "cus_bob" })).await;
    create(fixture, json!({ "id": "cus_nobody" })).await;
    create(fixture, json!({ "firstName": "Nobody" })).await;
    people(fixture).await;
    insta::assert_snapshot!("by_id", fixture.transcript());
}

pub(crate) async fn by_email(fixture: &StoreFixture) {
    create(fixture, json!({ "email": "ADA@example.com" })).await;
    create(fixture, json!({ "email": "bob@example.com" })).await;
    create(
        fixture,
        json!({ "email": "Ünal@example.com", "lastName": "Ünal" }),
    )
    .await;
    create(fixture, json!({ "email": "ünal@EXAMPLE.com" })).await;
    people(fixture).await;
    insta::assert_snapshot!("by_email", fixture.transcript());
}

pub(crate) async fn both(fixture: &StoreFixture) {
    create(
        fixture,
        json!({ "id": "cus_bob", "email": "BOB@example.com" }),
    )
    .await;
    create(
        fixture,
        json!({ "id": "cus_bob", "email": "ada@example.com" }),
    )
    .await;
    create(
        fixture,
        json!({ "id": "cus_bob", "email": "new@example.com" }),
    )
    .await;
    create(
        fixture,
        json!({ "id": "cus_nobody", "email": "ada@example.com" }),
    )
    .await;
    people(fixture).await;
    insta::assert_snapshot!("both", fixture.transcript());
}
