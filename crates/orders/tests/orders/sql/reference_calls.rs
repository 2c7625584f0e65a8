//! The recorded calls of the reference server on a real store, in compatibility mode.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions};
use candor_orders::Compat;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The recorded calls, each with the kind of its answer.
const REFERENCE: &str = include_str!("../fixtures/reference.jsonl");

/// Creates the orders that the calls name. The second one is shipped for the return.
async fn create_orders(fixture: &StoreFixture) -> [String; 2] {
    let address = json!({ "address1": "1 Road", "city": "Town", "country": "US" });
    let lines = json!([{ "sku": "WID-001", "quantity": 3 }]);
    let order = json!({ "order": { "lineItems": lines, "shippingAddress": address } });
    let server = &fixture.server;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let created = server.call("create-sales-order", order.clone()).await;
        ids.push(created.order().to_owned());
    }
    ids.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_calls_have_true_answers() {
    let options = StoreOptions {
        compat: Some(Compat::Reference),
        ..StoreOptions::default()
    };
    let fixture = StoreFixture::with_options(TestDatabase::sqlite(), options).await;
    fixture
        .execute("UPDATE variants SET sku = 'WID-001' WHERE sku = 'MUG'")
        .await;
    fixture
        .execute("UPDATE stock SET sku = 'WID-001' WHERE sku = 'MUG'")
        .await;
    let [first, second] = create_orders(&fixture).await;
    let mut table = String::new();
    for line in REFERENCE.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(tool) = line["call"]["name"].as_str() else {
            continue;
        };
        let recorded = line["call"]["arguments"].to_string();
        let arguments = recorded
            .replace("order_001", &first)
            .replace("order_002", &second);
        let message = fixture.server.message(tool, &arguments).await;
        let result = &message["result"];
        let own = match (&message["error"], &result["error"]) {
            (Value::Null, Value::Null) => {
                assert_eq!(result["structuredContent"]["success"], true, "{message}");
                String::from("success")
            }
            (Value::Null, error) => {
                let original = error["details"]["originalError"].as_str();
                format!("{} {}", error["code"], original.unwrap_or_default())
            }
            (error, _) => format!("{} {}", error["code"], error["message"]),
        };
        writeln!(
            table,
            "{tool} {recorded}\n  reference: {}\n  ours: {own}",
            line["answer"]
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

#[tokio::test(flavor = "multi_thread")]
async fn skipped_pages_are_the_pages_of_cursors() {
    let options = StoreOptions {
        compat: Some(Compat::Reference),
        ..StoreOptions::default()
    };
    let fixture = StoreFixture::with_options(TestDatabase::sqlite(), options).await;
    let order = json!({ "order": { "lineItems": [{ "sku": "PIN", "quantity": 1 }] } });
    for _ in 0..25 {
        fixture
            .server
            .call("create-sales-order", order.clone())
            .await;
    }
    let ids = async |arguments: Value| {
        let message = fixture
            .server
            .message("get-orders", &arguments.to_string())
            .await;
        let orders = message["result"]["structuredContent"]["orders"].clone();
        let ids = orders.as_array().unwrap().iter();
        ids.map(|order| order["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all = ids(json!({ "pageSize": 100 })).await;
    assert_eq!(all.len(), 25);
    for skip in [0, 1, 7, 24, 25, 26, 9_999] {
        for sort in ["createdAt", "updatedAt"] {
            let found = ids(json!({ "pageSize": 7, "skip": skip, "sort": sort })).await;
            let expected: Vec<_> = all.iter().skip(skip).take(7).cloned().collect();
            assert_eq!(found, expected, "{skip}");
        }
    }
}
