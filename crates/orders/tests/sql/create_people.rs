//! `create-sales-order`: who orders.

use crate::stage::Stage;
use serde_json::{Value, json};

async fn create(stage: &Stage, customer: Value) {
    let order = json!({ "customer": customer, "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
    stage
        .tell("create-sales-order", json!({ "order": order }))
        .await;
}

async fn people(stage: &Stage) {
    stage
        .show("SELECT id, email, email_key, first_name, last_name FROM customers ORDER BY id")
        .await;
    stage
        .show("SELECT customer_id FROM orders ORDER BY created_at")
        .await;
}

pub(crate) async fn by_id(stage: &Stage) {
    create(stage, json!({ "id": "cus_ada" })).await;
    create(stage, json!({ "id": "cus_ada", "firstName": "Augusta" })).await;
    create(stage, json!({ "id": "cus_bob" })).await;
    create(stage, json!({ "id": "cus_nobody" })).await;
    create(stage, json!({ "firstName": "Nobody" })).await;
    people(stage).await;
    insta::assert_snapshot!("by_id", stage.script());
}

pub(crate) async fn by_email(stage: &Stage) {
    create(stage, json!({ "email": "ADA@example.com" })).await;
    create(stage, json!({ "email": "bob@example.com" })).await;
    create(
        stage,
        json!({ "email": "Ünal@example.com", "lastName": "Ünal" }),
    )
    .await;
    create(stage, json!({ "email": "ünal@EXAMPLE.com" })).await;
    people(stage).await;
    insta::assert_snapshot!("by_email", stage.script());
}

pub(crate) async fn both(stage: &Stage) {
    create(
        stage,
        json!({ "id": "cus_bob", "email": "BOB@example.com" }),
    )
    .await;
    create(
        stage,
        json!({ "id": "cus_bob", "email": "ada@example.com" }),
    )
    .await;
    create(
        stage,
        json!({ "id": "cus_bob", "email": "new@example.com" }),
    )
    .await;
    create(
        stage,
        json!({ "id": "cus_nobody", "email": "ada@example.com" }),
    )
    .await;
    people(stage).await;
    insta::assert_snapshot!("both", stage.script());
}
