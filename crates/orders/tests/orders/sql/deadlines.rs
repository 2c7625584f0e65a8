//! Calls at their deadline: nothing was done, and nothing goes on.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions};
use candor_street::CancellationToken;
use serde_json::json;
use sqlx::{AnyConnection, Connection as _};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(800);

/// The time until an abandoned statement is gone: the database cancels it after a deadline.
const GONE: Duration = Duration::from_secs(20);

fn short() -> StoreOptions {
    StoreOptions {
        deadline: SHORT,
        first_id: 1 << 32,
        ..StoreOptions::default()
    }
}

/// Takes a lock that every order of mugs needs.
async fn hold_lock(database: &TestDatabase) -> AnyConnection {
    let mut holder = AnyConnection::connect(&database.raw_url()).await.unwrap();
    if database.is_postgres() {
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

/// Waits until only the holders have a transaction.
pub(crate) async fn wait_for_idle_database(fixture: &StoreFixture, holders: i64) {
    let until = Instant::now() + GONE;
    let open = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()";
    while fixture.number(open).await > holders {
        assert!(Instant::now() < until, "a transaction is still open");
    }
}

pub(crate) async fn blocked(fixture: &StoreFixture) {
    let server = fixture.another_server(short()).await;
    let order = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] }, "idempotencyKey": "k" });
    let mut holder = hold_lock(&fixture.database).await;
    let start = Instant::now();
    let response = server.call("create-sales-order", order.clone()).await;
    assert!(start.elapsed() < 10 * SHORT, "{:?}", start.elapsed());
    insta::assert_snapshot!("blocked", response.text);
    // The abandoned transaction is gone while the lock is still held.
    if fixture.database.is_postgres() {
        wait_for_idle_database(fixture, 1).await;
    }
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    let counts = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)";
    assert_eq!(fixture.rows(counts).await, ["0 0 0"]);
    // The same key succeeds now.
    let response = server.call("create-sales-order", order).await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
    assert_eq!(fixture.rows(counts).await, ["1 1 1"]);
}

/// A client cancels a call that waits for a lock.
pub(crate) async fn cancelled(fixture: &StoreFixture) {
    let order = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] }, "idempotencyKey": "k" });
    let mut holder = hold_lock(&fixture.database).await;
    let cancel = CancellationToken::new();
    let call = {
        let (server, order, cancel) = (fixture.server.clone(), order.clone(), cancel.clone());
        tokio::spawn(async move { server.call_until("create-sales-order", order, cancel).await })
    };
    if fixture.database.is_postgres() {
        let until = Instant::now() + GONE;
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while fixture.number(waiting).await == 0 {
            assert!(Instant::now() < until, "the call does not wait");
        }
    }
    cancel.cancel();
    let response = call.await.unwrap();
    insta::assert_snapshot!("cancelled", response.text);
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    let response = fixture.server.call("create-sales-order", order).await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
    let counts = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records)";
    assert_eq!(fixture.rows(counts).await, ["1 1 1"]);
}

/// Waiting for a connection is not a failure, however long it takes within the deadline.
pub(crate) async fn in_line(fixture: &StoreFixture) {
    // Longer than connecting may take.
    const LONG: Duration = Duration::from_millis(2_500);
    let options = StoreOptions {
        connections: 1,
        first_id: 1 << 32,
        ..StoreOptions::default()
    };
    let server = fixture.another_server(options).await;
    let mut holder = hold_lock(&fixture.database).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let server = server.clone();
        let order = json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] } });
        calls.spawn(async move { server.call("create-sales-order", order).await });
    }
    let early = tokio::time::timeout(LONG, calls.join_next()).await;
    assert!(early.is_err(), "{early:?}");
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    for response in calls.join_all().await {
        assert_eq!(response.status(), "pending", "{}", response.whole);
    }
}
