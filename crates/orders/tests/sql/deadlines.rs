//! Calls whose time is over: nothing was done, and nothing goes on.

use crate::ground::Ground;
use crate::stage::{Plan, Stage};
use candor_street::CancellationToken;
use serde_json::json;
use sqlx::{AnyConnection, Connection as _};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(800);

/// How long what was given up may take to be gone: the database ends a statement after a deadline.
const GONE: Duration = Duration::from_secs(20);

fn short() -> Plan {
    Plan {
        deadline: SHORT,
        first_id: 1 << 32,
        ..Plan::default()
    }
}

/// Takes what every create of mugs needs, and holds it.
async fn holding(ground: &Ground) -> AnyConnection {
    let mut holder = AnyConnection::connect(&ground.url()).await.unwrap();
    if ground.is_postgres() {
        sqlx::query("BEGIN").execute(&mut holder).await.unwrap();
        let lock = "SELECT sku FROM variants WHERE sku = 'MUG' FOR UPDATE";
        sqlx::query(lock).fetch_all(&mut holder).await.unwrap();
    } else {
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut holder)
            .await
            .unwrap();
    }
    holder
}

/// Waits until nobody but the holder has a transaction.
pub(crate) async fn nobody_is_at_work(stage: &Stage, holders: i64) {
    let until = Instant::now() + GONE;
    let open = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()";
    while stage.number(open).await > holders {
        assert!(Instant::now() < until, "a transaction is still open");
    }
}

pub(crate) async fn blocked(stage: &Stage) {
    let house = stage.another(short()).await;
    let order = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] }, "idempotencyKey": "k" });
    let mut holder = holding(&stage.ground).await;
    let began = Instant::now();
    let said = house.ask("create-sales-order", order.clone()).await;
    assert!(began.elapsed() < 10 * SHORT, "{:?}", began.elapsed());
    insta::assert_snapshot!("blocked", said.text);
    // What was given up is gone while the holder still holds.
    if stage.ground.is_postgres() {
        nobody_is_at_work(stage, 1).await;
    }
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    let counts = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)";
    assert_eq!(stage.rows(counts).await, ["0 0 0"]);
    // The same key makes it now.
    let said = house.ask("create-sales-order", order).await;
    assert_eq!(said.status(), "pending", "{}", said.whole);
    assert_eq!(stage.rows(counts).await, ["1 1 1"]);
}

/// Somebody who gives up while the call waits for others.
pub(crate) async fn cancelled(stage: &Stage) {
    let order = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] }, "idempotencyKey": "k" });
    let mut holder = holding(&stage.ground).await;
    let cancel = CancellationToken::new();
    let call = {
        let (house, order, cancel) = (stage.house.clone(), order.clone(), cancel.clone());
        tokio::spawn(async move { house.ask_until("create-sales-order", order, cancel).await })
    };
    if stage.ground.is_postgres() {
        let until = Instant::now() + GONE;
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while stage.number(waiting).await == 0 {
            assert!(Instant::now() < until, "the call does not wait");
        }
    }
    cancel.cancel();
    let said = call.await.unwrap();
    insta::assert_snapshot!("cancelled", said.text);
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    let said = stage.house.ask("create-sales-order", order).await;
    assert_eq!(said.status(), "pending", "{}", said.whole);
    let counts = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)";
    assert_eq!(stage.rows(counts).await, ["1 1 1"]);
}

/// Waiting for others is no failure of the database, however long it takes within the deadline.
pub(crate) async fn in_line(stage: &Stage) {
    // Longer than connecting may take.
    const LONG: Duration = Duration::from_millis(2_500);
    let plan = Plan {
        connections: 1,
        first_id: 1 << 32,
        ..Plan::default()
    };
    let house = stage.another(plan).await;
    let mut holder = holding(&stage.ground).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let house = house.clone();
        let order = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] } });
        calls.spawn(async move { house.ask("create-sales-order", order).await });
    }
    let early = tokio::time::timeout(LONG, calls.join_next()).await;
    assert!(early.is_err(), "{early:?}");
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    for said in calls.join_all().await {
        assert_eq!(said.status(), "pending", "{}", said.whole);
    }
}
