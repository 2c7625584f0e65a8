//! The metrics of a database: its connections, the changes that wait, and the sizes of commits.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions, StoreServer};
use crate::sql::contention::{CREATE, buy, hold, release, send, until_open, until_waiting};
use serde_json::json;
use sqlx::{AnyConnection, Connection as _};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// The time after which a test gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most changes of a group. Others wait.
const GROUP: u16 = 8;

async fn start(database: TestDatabase) -> StoreFixture {
    let options = StoreOptions {
        commit_group: GROUP,
        ..StoreOptions::default()
    };
    StoreFixture::with_options(database, options).await
}

/// Returns the value of a metric with its labels.
fn value(server: &StoreServer, name: &str) -> Option<u64> {
    let text = server.metrics.text();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map(|value| value.trim().parse::<f64>().unwrap() as u64)
}

fn connections(server: &StoreServer, pool: &str, state: &str) -> u64 {
    let name = format!(r#"candor_orders_connections{{pool="{pool}",state="{state}"}}"#);
    value(server, &name).unwrap()
}

fn waiting(server: &StoreServer) -> u64 {
    value(server, "candor_orders_changes_waiting").unwrap()
}

/// Waits until a metric has one of these values.
async fn until(expected: RangeInclusive<u64>, read: impl Fn() -> u64) {
    let until = Instant::now() + PATIENCE;
    while !expected.contains(&read()) {
        assert!(Instant::now() < until, "{} instead of {expected:?}", read());
        tokio::task::yield_now().await;
    }
}

/// Checks the histogram after this many changes, of which the first was alone.
fn assert_groups(server: &StoreServer, changes: u64) {
    let sum = value(server, "candor_orders_commit_group_size_sum").unwrap();
    let commits = value(server, "candor_orders_commit_group_size_count").unwrap();
    assert_eq!(sum, changes, "{}", server.metrics.text());
    assert!((2..changes).contains(&commits), "{commits}");
    let all = r#"candor_orders_commit_group_size_bucket{le="1024.0"}"#;
    assert_eq!(value(server, all), Some(commits));
}

/// Refused, replayed and wrong changes: only what is stored is in a commit.
async fn assert_only_stored_changes_count(server: &StoreServer, changes: u64) {
    let none = json!({ "orderId": "ord_none", "idempotencyKey": "none" });
    for _ in 0..2 {
        let refused = server.call("cancel-order", none.clone()).await;
        assert_eq!(refused.summary(), "4001 ORDER_NOT_FOUND none");
    }
    server.call(CREATE, buy("PIN", "first")).await;
    let mut wrong = buy("PIN", "wrong");
    wrong["order"]["total"] = json!("0.01");
    server.call(CREATE, wrong).await;
    let sum = value(server, "candor_orders_commit_group_size_sum");
    assert_eq!(sum, Some(changes + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_of_a_file() {
    let fixture = start(TestDatabase::sqlite()).await;
    let server = &fixture.server;
    assert_eq!(waiting(server), 0);
    assert_eq!(value(server, "candor_orders_commit_group_size_count"), None);
    server.call(CREATE, buy("PIN", "first")).await;
    let url = fixture.database.raw_url();
    let mut holder = AnyConnection::connect(&url).await.unwrap();
    let begin = sqlx::query("BEGIN IMMEDIATE");
    begin.execute(&mut holder).await.unwrap();
    let calls = send(server, ("PIN", "k"), 33);
    until_open(server, 33).await;
    // All but the group that is being made.
    until(25..=32, || waiting(server)).await;
    until(1..=1, || connections(server, "write", "used")).await;
    release(&mut holder).await;
    calls.join_all().await;
    assert_eq!(waiting(server), 0);
    until(1..=1, || connections(server, "write", "idle")).await;
    assert_eq!(connections(server, "write", "used"), 0);
    assert_groups(server, 34);
    assert_only_stored_changes_count(server, 34).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_of_a_server() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = start(database).await;
    let server = &fixture.server;
    server.call(CREATE, buy("PIN", "first")).await;
    let mut holder = hold(&fixture, "MUG").await;
    let calls = send(server, ("MUG", "k"), 33);
    until_waiting(&fixture, 1).await;
    until_open(server, 33).await;
    until(25..=32, || waiting(server)).await;
    until(1..=1, || connections(server, "write", "used")).await;
    let page = String::from(r#"{"pageSize":1}"#);
    server.call_text(None, "get-orders", page).await;
    until(1..=1, || connections(server, "read", "idle")).await;
    assert_eq!(connections(server, "read", "used"), 0);
    release(&mut holder).await;
    calls.join_all().await;
    assert_eq!(waiting(server), 0);
    until(0..=0, || connections(server, "write", "used")).await;
    assert_groups(server, 34);
    assert_only_stored_changes_count(server, 34).await;
}
