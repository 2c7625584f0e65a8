//! Keys: one effect and one answer each, however often and in whatever form the call is sent.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions};
use crate::requests::ToolResponse;
use serde_json::{Value, json};
use std::time::Duration;

const CREATE: &str = "create-sales-order";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn mugs(key: &str, quantity: i64) -> serde_json::Value {
    json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": quantity }] }, "idempotencyKey": key })
}

async fn orders(fixture: &StoreFixture) -> i64 {
    fixture.number("SELECT COUNT(*) FROM orders").await
}

/// Every tool, successful and refused: a repeated call returns the same bytes and changes no table.
pub(crate) async fn replayed(fixture: &StoreFixture) {
    let made = fixture.server.call(CREATE, mugs("made", 4)).await;
    let id = made.order();
    let address = json!({ "address1": "1", "city": "X", "country": "US" });
    let calls = [
        (CREATE, mugs("made", 4)),
        (CREATE, mugs("refused", 1000)),
        (
            "update-order",
            json!({ "orderId": id, "updates": { "shippingAddress": address } }),
        ),
        (
            "update-order",
            json!({ "orderId": id, "updates": { "status": "delivered" } }),
        ),
        (
            "fulfill-order",
            json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": 2 }] }),
        ),
        (
            "fulfill-order",
            json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": 3 }] }),
        ),
        (
            "cancel-order",
            json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": 1 }] }),
        ),
        (
            "create-return",
            json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": 1 }], "outcome": "refund" }),
        ),
        (
            "create-return",
            json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": 9 }], "outcome": "refund" }),
        ),
        ("cancel-order", json!({ "orderId": id })),
        ("cancel-order", json!({ "orderId": id, "reason": "late" })),
    ];
    let tables = async || {
        let mut all = Vec::new();
        for table in [
            "orders",
            "order_lines",
            "fulfillments",
            "returns",
            "stock",
            "keys",
            "records",
        ] {
            all.push(
                fixture
                    .number(&format!("SELECT COUNT(*) FROM {table}"))
                    .await,
            );
        }
        all.extend(
            fixture
                .rows("SELECT on_hand, reserved FROM variants ORDER BY sku")
                .await
                .iter()
                .flat_map(|row| {
                    row.split(' ')
                        .map(|cell| cell.parse().unwrap())
                        .collect::<Vec<i64>>()
                }),
        );
        all
    };
    let mut firsts = Vec::new();
    for (number, (tool, mut arguments)) in calls.into_iter().enumerate() {
        if arguments["idempotencyKey"].is_null() {
            arguments["idempotencyKey"] = format!("key-{number}").into();
        }
        let first = fixture.server.call(tool, arguments.clone()).await;
        let before = tables().await;
        let again = fixture.server.call(tool, arguments.clone()).await;
        assert_eq!(again.whole, first.whole);
        assert_eq!(tables().await, before, "{tool} {arguments}");
        firsts.push((tool, arguments, first));
    }
    let failed = firsts
        .iter()
        .filter(|(_, _, first)| first.is_failure())
        .count();
    assert_eq!(
        (firsts[0].2.whole.as_str(), failed),
        (made.whole.as_str(), 5)
    );
    // Later, the first answers are still returned.
    let before = tables().await;
    for (tool, arguments, first) in firsts {
        let again = fixture.server.call(tool, arguments).await;
        assert_eq!(again.whole, first.whole);
    }
    assert_eq!(tables().await, before);
}

pub(crate) async fn written_differently(fixture: &StoreFixture) {
    let first = fixture.server.call(CREATE, mugs("k", 2)).await;
    for arguments in [
        r#"{"order":{"lineItems":[{"sku":"MUG","quantity":2}]},"idempotencyKey":"k"}"#,
        r#"{"idempotencyKey":"k","order":{"lineItems":[{"quantity":2.0,"sku":"MUG"}]}}"#,
        r#" { "idempotencyKey" : "\u006b" , "order" : { "lineItems" : [ { "sku" : "M\u0055G", "quantity" : 20e-1 } ] } } "#,
    ] {
        let again = fixture
            .server
            .call_text(None, CREATE, arguments.to_owned())
            .await;
        assert_eq!(again.whole, first.whole, "{arguments}");
    }
    assert_eq!(orders(fixture).await, 1);
    let refused = fixture.server.call(CREATE, mugs("r", 101)).await;
    let again = r#"{"idempotencyKey":"r","order":{"lineItems":[{"quantity":101.0,"sku":"MUG"}]}}"#;
    let again = fixture
        .server
        .call_text(None, CREATE, again.to_owned())
        .await;
    assert_eq!(
        (again.whole, again.text.contains("INSUFFICIENT_INVENTORY")),
        (refused.whole, true)
    );
}

pub(crate) async fn reused_and_apart(fixture: &StoreFixture) {
    fixture.call_recorded(CREATE, mugs("k", 2)).await;
    fixture.call_recorded(CREATE, mugs("k", 3)).await;
    let tagged = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 2 }], "tags": [] }, "idempotencyKey": "k" });
    fixture.call_recorded(CREATE, tagged).await;
    assert_eq!(orders(fixture).await, 1);
    // The first outcome is kept.
    fixture.call_recorded(CREATE, mugs("k", 2)).await;
    // Keys are scoped to a tool and are case-sensitive. Callers share them, whatever token they show.
    fixture
        .call_recorded(
            "cancel-order",
            json!({ "orderId": "none", "idempotencyKey": "k" }),
        )
        .await;
    fixture.call_recorded(CREATE, mugs("K", 2)).await;
    fixture.call_recorded(CREATE, mugs("ｋ", 2)).await;
    for client in ["a", "b", "a"] {
        fixture
            .server
            .call_text(Some(client), CREATE, mugs("shared", 5).to_string())
            .await;
    }
    assert_eq!(orders(fixture).await, 4);
    fixture
        .record_rows("SELECT client, tool, key FROM keys ORDER BY client, tool, key")
        .await;
    insta::assert_snapshot!("reused_and_apart", fixture.transcript());
}

/// A call that breaks a rule of the store leaves its key free: the corrected call succeeds with it.
pub(crate) async fn violations(fixture: &StoreFixture) {
    let line = |more: Value| {
        let mut line = json!({ "sku": "PIN", "quantity": 2 });
        line.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "lineItems": [line] })
    };
    let with = |name: &str, value: &str| {
        let mut order = line(json!({}));
        order[name] = value.into();
        order
    };
    let cases = [
        ("total", with("total", "1.00"), with("total", "0.20")),
        ("total", with("subTotal", "1.00"), with("subTotal", "0.20")),
        (
            "discount",
            line(json!({ "unitDiscount": "0.11" })),
            line(json!({ "unitDiscount": "0.10" })),
        ),
        (
            "catalogueCurrency",
            with("currency", "EUR"),
            with("currency", "USD"),
        ),
        (
            "places",
            line(json!({ "unitPrice": "1.234" })),
            line(json!({ "unitPrice": "1.23" })),
        ),
        (
            "digits",
            line(json!({ "quantity": 1_000_000, "unitPrice": "9999999999999.99" })),
            line(json!({ "quantity": 3, "unitPrice": "9.99" })),
        ),
    ];
    let stored = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)";
    for (made, (reason, wrong, right)) in cases.into_iter().enumerate() {
        let wrong = json!({ "order": wrong, "idempotencyKey": format!("k{made}") });
        let right = json!({ "order": right, "idempotencyKey": format!("k{made}") });
        let before = fixture.rows(stored).await;
        for _ in 0..2 {
            let refused = fixture.server.call(CREATE, wrong.clone()).await;
            assert_eq!(refused.at("/error/details/reason"), reason);
            assert_left_free(&refused);
            assert_eq!(fixture.rows(stored).await, before);
        }
        let corrected = fixture.server.call(CREATE, right.clone()).await;
        assert_eq!(corrected.status(), "pending", "{}", corrected.whole);
        // The key is bound to the corrected call now, whatever the store would say to others.
        let reused = fixture.server.call(CREATE, wrong).await;
        assert_eq!(reused.failure(), (4001, "IDEMPOTENCY_KEY_REUSED"));
        assert_eq!(reused.context("key"), "bound");
        let again = fixture.server.call(CREATE, right).await;
        assert_eq!(again.whole, corrected.whole);
    }
    let order = fixture.server.call(CREATE, mugs("order", 1)).await;
    let ship = json!({ "orderId": order.order(), "idempotencyKey": "ship" });
    let refused = fixture.server.call("fulfill-order", ship.clone()).await;
    assert_eq!(refused.failure(), (2002, ""));
    assert_left_free(&refused);
    let address = json!({ "address1": "1", "city": "X", "country": "US" });
    let updates = json!({ "orderId": order.order(), "updates": { "shippingAddress": address } });
    let updated = fixture.server.call("update-order", updates).await;
    assert!(!updated.is_failure(), "{}", updated.whole);
    let shipped = fixture.server.call("fulfill-order", ship).await;
    assert!(!shipped.is_failure(), "{}", shipped.whole);
}

fn assert_left_free(refused: &ToolResponse) {
    assert_eq!(refused.context("key"), "free", "{}", refused.whole);
    let remedy = refused.at("/error/details/suggestion").as_str().unwrap();
    assert!(
        remedy.ends_with("This call did not bind the idempotencyKey."),
        "{remedy}"
    );
}

pub(crate) async fn expiry(fixture: &StoreFixture) {
    let first = fixture.server.call(CREATE, mugs("k", 1)).await;
    fixture.clock.advance(DAY - Duration::from_secs(10));
    assert_eq!(
        fixture.server.call(CREATE, mugs("k", 1)).await.whole,
        first.whole
    );
    assert_eq!(
        fixture.server.call(CREATE, mugs("k", 2)).await.failure(),
        (4001, "IDEMPOTENCY_KEY_REUSED")
    );
    // A repeated call does not renew its key.
    fixture.clock.advance(Duration::from_secs(10));
    let second = fixture.server.call(CREATE, mugs("k", 2)).await;
    assert_ne!(second.order(), first.order());
    assert_eq!(
        fixture.server.call(CREATE, mugs("k", 2)).await.whole,
        second.whole
    );
    assert_eq!(
        fixture.server.call(CREATE, mugs("k", 1)).await.failure(),
        (4001, "IDEMPOTENCY_KEY_REUSED")
    );
    let counts = fixture.rows("SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)").await;
    assert_eq!(counts, ["2 1 2"]);
}

pub(crate) async fn forgotten(fixture: &StoreFixture) {
    for number in 0..200 {
        fixture
            .server
            .call(
                "cancel-order",
                json!({ "orderId": "none", "idempotencyKey": format!("old-{number}") }),
            )
            .await;
    }
    fixture.clock.advance(2 * DAY);
    let mut made = 0;
    while fixture
        .number("SELECT COUNT(*) FROM keys WHERE key LIKE 'old-%'")
        .await
        > 0
    {
        let response = fixture
            .server
            .call(
                "cancel-order",
                json!({ "orderId": "none", "idempotencyKey": format!("new-{made}") }),
            )
            .await;
        assert_eq!(response.failure(), (4001, "ORDER_NOT_FOUND"));
        made += 1;
        assert!(
            made < 1_000,
            "old keys are still there after {made} changes"
        );
    }
    let kept = fixture
        .number("SELECT COUNT(*) FROM keys WHERE key LIKE 'new-%'")
        .await;
    assert_eq!(
        (kept, fixture.number("SELECT COUNT(*) FROM records").await),
        (made, made + 200)
    );
}

pub(crate) async fn duplicates_at_once(fixture: &StoreFixture) {
    const TIMES: usize = 32;
    let calls = [
        (CREATE, mugs("done", 3)),
        (CREATE, mugs("refused", 101)),
        (
            "cancel-order",
            json!({ "orderId": "none", "idempotencyKey": "none" }),
        ),
    ];
    for (tool, arguments) in calls {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..TIMES {
            let (server, arguments) = (fixture.server.clone(), arguments.clone());
            tasks.spawn(async move { server.call(tool, arguments).await.whole });
        }
        let response = tasks.join_all().await;
        assert_eq!(response.len(), TIMES);
        assert!(
            response.iter().all(|one| *one == response[0]),
            "{response:#?}"
        );
    }
    let counts = fixture.rows("SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)").await;
    assert_eq!(counts, ["1 3 3"]);
}

/// The age of a key is measured by the database: a server whose clock is ahead replaces no key.
#[tokio::test(flavor = "multi_thread")]
async fn clock_of_one_server_does_not_age_keys() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let options = StoreOptions {
        database_clock: true,
        ..StoreOptions::default()
    };
    let fixture = StoreFixture::with_options(database, options).await;
    let first = fixture.server.call(CREATE, mugs("k", 1)).await;
    fixture.clock.advance(2 * DAY);
    let ahead = StoreOptions {
        first_id: 1 << 32,
        ..options
    };
    let ahead = fixture.another_server(ahead).await;
    let again = ahead.call(CREATE, mugs("k", 1)).await;
    assert_eq!(again.whole, first.whole);
    let second = ahead.call(CREATE, mugs("l", 1)).await;
    let apart = fixture
        .number("SELECT MAX(created_at) - MIN(created_at) FROM orders")
        .await;
    assert!(!second.is_failure() && apart < 3_600_000_000, "{apart}");
    let now = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) - MAX(at) FROM keys";
    assert!((0..3_600_000_000).contains(&fixture.number(now).await));
    assert_eq!(orders(&fixture).await, 2);
}
