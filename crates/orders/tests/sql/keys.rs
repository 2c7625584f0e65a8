//! Keys: one effect and one answer for each, however often and however it is sent.

use crate::stage::Stage;
use serde_json::json;
use std::time::Duration;

const CREATE: &str = "create-sales-order";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn mugs(key: &str, quantity: i64) -> serde_json::Value {
    json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": quantity }] }, "idempotencyKey": key })
}

async fn orders(stage: &Stage) -> i64 {
    stage.number("SELECT COUNT(*) FROM orders").await
}

/// Every tool, done and refused: asked again, the same bytes and nothing more in the tables.
pub(crate) async fn replayed(stage: &Stage) {
    let made = stage.house.ask(CREATE, mugs("made", 4)).await;
    let id = made.order();
    let address = json!({ "address1": "1", "city": "X", "country": "US" });
    let calls = [
        (CREATE, mugs("made", 4)),
        (CREATE, mugs("refused", 1000)),
        (
            CREATE,
            json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }], "total": "1" } }),
        ),
        ("fulfill-order", json!({ "orderId": id })),
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
            all.push(stage.number(&format!("SELECT COUNT(*) FROM {table}")).await);
        }
        all.extend(
            stage
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
        let first = stage.house.ask(tool, arguments.clone()).await;
        let before = tables().await;
        let again = stage.house.ask(tool, arguments.clone()).await;
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
        (made.whole.as_str(), 7)
    );
    // Later, after all that happened since, still the first answers.
    let before = tables().await;
    for (tool, arguments, first) in firsts {
        let again = stage.house.ask(tool, arguments).await;
        assert_eq!(again.whole, first.whole);
    }
    assert_eq!(tables().await, before);
}

pub(crate) async fn written_differently(stage: &Stage) {
    let first = stage.house.ask(CREATE, mugs("k", 2)).await;
    for arguments in [
        r#"{"order":{"lineItems":[{"sku":"MUG","quantity":2}]},"idempotencyKey":"k"}"#,
        r#"{"idempotencyKey":"k","order":{"lineItems":[{"quantity":2.0,"sku":"MUG"}]}}"#,
        r#" { "idempotencyKey" : "\u006b" , "order" : { "lineItems" : [ { "sku" : "M\u0055G", "quantity" : 20e-1 } ] } } "#,
    ] {
        let again = stage
            .house
            .ask_text(None, CREATE, arguments.to_owned())
            .await;
        assert_eq!(again.whole, first.whole, "{arguments}");
    }
    assert_eq!(orders(stage).await, 1);
    let refused = stage.house.ask(CREATE, mugs("r", 101)).await;
    let again = r#"{"idempotencyKey":"r","order":{"lineItems":[{"quantity":101.0,"sku":"MUG"}]}}"#;
    let again = stage.house.ask_text(None, CREATE, again.to_owned()).await;
    assert_eq!(
        (again.whole, again.text.contains("INSUFFICIENT_INVENTORY")),
        (refused.whole, true)
    );
}

pub(crate) async fn reused_and_apart(stage: &Stage) {
    stage.tell(CREATE, mugs("k", 2)).await;
    stage.tell(CREATE, mugs("k", 3)).await;
    let tagged = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 2 }], "tags": [] }, "idempotencyKey": "k" });
    stage.tell(CREATE, tagged).await;
    assert_eq!(orders(stage).await, 1);
    // The first outcome stands.
    stage.tell(CREATE, mugs("k", 2)).await;
    // Another tool has keys of its own, another client too; case tells keys apart.
    stage
        .tell(
            "cancel-order",
            json!({ "orderId": "none", "idempotencyKey": "k" }),
        )
        .await;
    stage.tell(CREATE, mugs("K", 2)).await;
    stage.tell(CREATE, mugs("ｋ", 2)).await;
    for client in ["a", "b", "a"] {
        stage
            .house
            .ask_text(Some(client), CREATE, mugs("k", 5).to_string())
            .await;
    }
    assert_eq!(orders(stage).await, 5);
    stage
        .show("SELECT client, tool, key FROM keys ORDER BY client, tool, key")
        .await;
    insta::assert_snapshot!("reused_and_apart", stage.script());
}

pub(crate) async fn expiry(stage: &Stage) {
    let first = stage.house.ask(CREATE, mugs("k", 1)).await;
    stage.clock.go_on(DAY - Duration::from_secs(10));
    assert_eq!(
        stage.house.ask(CREATE, mugs("k", 1)).await.whole,
        first.whole
    );
    assert_eq!(
        stage.house.ask(CREATE, mugs("k", 2)).await.failure(),
        (4001, "IDEMPOTENCY_KEY_REUSED")
    );
    // Being asked again makes no key younger.
    stage.clock.go_on(Duration::from_secs(10));
    let second = stage.house.ask(CREATE, mugs("k", 2)).await;
    assert_ne!(second.order(), first.order());
    assert_eq!(
        stage.house.ask(CREATE, mugs("k", 2)).await.whole,
        second.whole
    );
    assert_eq!(
        stage.house.ask(CREATE, mugs("k", 1)).await.failure(),
        (4001, "IDEMPOTENCY_KEY_REUSED")
    );
    let counts = stage.rows("SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)").await;
    assert_eq!(counts, ["2 1 2"]);
}

pub(crate) async fn forgotten(stage: &Stage) {
    for number in 0..200 {
        stage
            .house
            .ask(
                "cancel-order",
                json!({ "orderId": "none", "idempotencyKey": format!("old-{number}") }),
            )
            .await;
    }
    stage.clock.go_on(2 * DAY);
    let mut made = 0;
    while stage
        .number("SELECT COUNT(*) FROM keys WHERE key LIKE 'old-%'")
        .await
        > 0
    {
        let said = stage
            .house
            .ask(
                "cancel-order",
                json!({ "orderId": "none", "idempotencyKey": format!("new-{made}") }),
            )
            .await;
        assert_eq!(said.failure(), (4001, "ORDER_NOT_FOUND"));
        made += 1;
        assert!(
            made < 1_000,
            "old keys are still there after {made} changes"
        );
    }
    let kept = stage
        .number("SELECT COUNT(*) FROM keys WHERE key LIKE 'new-%'")
        .await;
    assert_eq!(
        (kept, stage.number("SELECT COUNT(*) FROM records").await),
        (made, made + 200)
    );
}

pub(crate) async fn duplicates_at_once(stage: &Stage) {
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
            let (house, arguments) = (stage.house.clone(), arguments.clone());
            tasks.spawn(async move { house.ask(tool, arguments).await.whole });
        }
        let said = tasks.join_all().await;
        assert_eq!(said.len(), TIMES);
        assert!(said.iter().all(|one| *one == said[0]), "{said:#?}");
    }
    let counts = stage.rows("SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)").await;
    assert_eq!(counts, ["1 3 3"]);
}
