//! Many changes of one SKU: they wait in the server, and stop nothing else.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions, StoreServer};
use crate::requests::ToolResponse;
use crate::sql::invariants;
use serde_json::{Value, json};
use sqlx::{AnyConnection, Connection as _};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

pub(crate) const CREATE: &str = "create-sales-order";

/// The time after which a test gives up.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn buy(sku: &str, key: &str) -> Value {
    json!({ "order": { "lineItems": [{ "sku": sku, "quantity": 1 }] }, "idempotencyKey": key })
}

/// Locks a variant in an open transaction.
pub(crate) async fn hold(fixture: &StoreFixture, sku: &str) -> AnyConnection {
    let url = fixture.database.raw_url();
    let mut holder = AnyConnection::connect(&url).await.unwrap();
    lock(&mut holder, sku).await;
    holder
}

pub(crate) async fn lock(holder: &mut AnyConnection, sku: &str) {
    sqlx::query("BEGIN").execute(&mut *holder).await.unwrap();
    let lock = "SELECT sku FROM variants WHERE sku = $1 FOR UPDATE";
    let lock = sqlx::query(lock).bind(sku.to_owned());
    lock.fetch_all(holder).await.unwrap();
}

pub(crate) async fn release(holder: &mut AnyConnection) {
    sqlx::query("ROLLBACK").execute(holder).await.unwrap();
}

/// Returns the number of backends that wait for a lock.
pub(crate) async fn waiting(fixture: &StoreFixture) -> i64 {
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    fixture.number(waiting).await
}

/// Waits until this many backends wait for a lock.
pub(crate) async fn until_waiting(fixture: &StoreFixture, backends: i64) {
    let until = Instant::now() + PATIENCE;
    while waiting(fixture).await != backends {
        assert!(Instant::now() < until, "{}", waiting(fixture).await);
    }
}

/// Waits until the server has received this many changes and not answered them.
pub(crate) async fn until_open(server: &StoreServer, changes: usize) {
    let until = Instant::now() + PATIENCE;
    while server.open_changes() != changes {
        assert!(Instant::now() < until, "{}", server.open_changes());
        tokio::task::yield_now().await;
    }
}

/// Sends creates of one unit each, with the keys `PREFIX-0`, `PREFIX-1` and so on.
pub(crate) fn send(
    server: &StoreServer,
    (sku, prefix): (&'static str, &'static str),
    count: usize,
) -> JoinSet<(usize, ToolResponse)> {
    let mut calls = JoinSet::new();
    for number in 0..count {
        let server = server.clone();
        let arguments = buy(sku, &format!("{prefix}-{number}"));
        calls.spawn(async move { (number, server.call(CREATE, arguments).await) });
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_sku_stops_neither_reads_nor_other_skus() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    fixture.server.call(CREATE, buy("PIN", "before")).await;
    let mut holder = hold(&fixture, "MUG").await;
    let calls = send(&fixture.server, ("MUG", "hot"), 48);
    until_waiting(&fixture, 1).await;
    until_open(&fixture.server, 48).await;
    let start = Instant::now();
    let page = String::from(r#"{"pageSize":1}"#);
    let read = fixture.server.call_text(None, "get-orders", page).await;
    assert_eq!(read.at("/orders/0/lineItems/0/sku"), "PIN");
    let other = fixture.server.call(CREATE, buy("PIN", "other")).await;
    assert_eq!(other.status(), "pending", "{}", other.whole);
    // Far less than the wait for a lock.
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(waiting(&fixture).await, 1);
    let writing = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()";
    assert_eq!(fixture.number(writing).await, 2);
    release(&mut holder).await;
    for (_, response) in calls.join_all().await {
        assert_eq!(response.status(), "pending", "{}", response.whole);
    }
    let counts = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(DISTINCT key) FROM keys), (SELECT reserved FROM variants WHERE sku = 'MUG')";
    assert_eq!(fixture.rows(counts).await, ["50 50 48"]);
    invariants::assert_hold(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_waits_do_not_open_the_breaker() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let options = StoreOptions {
        deadline: Duration::from_secs(1),
        breaker_failures: Some(5),
        ..StoreOptions::default()
    };
    let fixture = StoreFixture::with_options(database, options).await;
    let mut holder = hold(&fixture, "MUG").await;
    for number in 0..6 {
        let start = Instant::now();
        let key = format!("k{number}");
        let response = fixture.server.call(CREATE, buy("MUG", &key)).await;
        assert_eq!(response.failure(), (3002, ""), "{}", response.whole);
        let context = ["effect", "key", "waitedFor"].map(|name| response.context(name));
        assert_eq!(context, ["none", "keep", "lock"]);
        assert!(start.elapsed() >= options.deadline / 2 - Duration::from_millis(50));
    }
    let text = String::from("{}");
    let products = fixture.server.call_text(None, "get-products", text).await;
    assert!(!products.is_failure(), "{}", products.whole);
    let other = fixture.server.call(CREATE, buy("PIN", "other")).await;
    assert_eq!(other.status(), "pending", "{}", other.whole);
    release(&mut holder).await;
    let response = fixture.server.call(CREATE, buy("MUG", "k0")).await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
    assert_eq!(fixture.number("SELECT COUNT(*) FROM orders").await, 2);
    invariants::assert_hold(&fixture).await;
}

/// A server whose connections for changes are all in use still answers queries.
#[tokio::test(flavor = "multi_thread")]
async fn queries_have_their_own_connections() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let options = StoreOptions {
        connections: 1,
        read_connections: 1,
        ..StoreOptions::default()
    };
    let fixture = StoreFixture::with_options(database, options).await;
    let mut holder = hold(&fixture, "MUG").await;
    let blocked = send(&fixture.server, ("MUG", "hot"), 1);
    until_waiting(&fixture, 1).await;
    let waits = send(&fixture.server, ("PIN", "other"), 1);
    let text = String::from("{}");
    let products = fixture.server.call_text(None, "get-products", text).await;
    assert!(!products.is_failure(), "{}", products.whole);
    release(&mut holder).await;
    for (_, response) in blocked
        .join_all()
        .await
        .into_iter()
        .chain(waits.join_all().await)
    {
        assert_eq!(response.status(), "pending", "{}", response.whole);
    }
}

/// Another server takes the stock between the reading and the last statement of a change.
#[tokio::test(flavor = "multi_thread")]
async fn stock_that_is_gone_in_the_end_is_refused() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    let mut holder = hold(&fixture, "MUG").await;
    let calls = send(&fixture.server, ("MUG", "late"), 3);
    until_waiting(&fixture, 1).await;
    let take = "UPDATE variants SET reserved = 98 WHERE sku = 'MUG'";
    sqlx::query(take).execute(&mut holder).await.unwrap();
    sqlx::query("COMMIT").execute(&mut holder).await.unwrap();
    let mut refused = 0;
    for (_, response) in calls.join_all().await {
        match response.failure() {
            (0, "") => {}
            failure => {
                assert_eq!(failure, (4001, "INSUFFICIENT_INVENTORY"));
                assert_eq!(response.context("available"), 0);
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 1);
    let counts = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM records), (SELECT reserved FROM variants WHERE sku = 'MUG')";
    assert_eq!(fixture.rows(counts).await, ["2 3 100"]);
}
