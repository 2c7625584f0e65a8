//! A PostgreSQL server that hangs, stops and restarts.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions};
use crate::sql::deadlines::wait_for_idle_database;
use crate::sql::invariants;
use serde_json::{Value, json};
use std::time::Duration;

const CREATE: &str = "create-sales-order";

fn mug(key: &str) -> Value {
    json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] }, "idempotencyKey": key })
}

async fn fixture(deadline: Duration) -> Option<StoreFixture> {
    let database = TestDatabase::postgres()?;
    let options = StoreOptions {
        deadline,
        connections: 4,
        ..StoreOptions::default()
    };
    Some(StoreFixture::with_options(database, options).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_server_times_out_until_it_resumes() {
    let Some(fixture) = fixture(Duration::from_millis(800)).await else {
        return;
    };
    let first = fixture.server.call(CREATE, mug("first")).await;
    assert_eq!(first.status(), "pending");
    fixture.database.server().pause();
    for _ in 0..2 {
        let response = fixture.server.call(CREATE, mug("second")).await;
        assert_eq!(response.failure(), (3002, ""), "{}", response.whole);
        assert_eq!(response.context("effect"), "none");
    }
    fixture.database.server().resume();
    wait_for_idle_database(&fixture, 0).await;
    assert_eq!(fixture.number("SELECT COUNT(*) FROM orders").await, 1);
    let response = fixture.server.call(CREATE, mug("second")).await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
    assert_eq!(
        fixture.server.call(CREATE, mug("first")).await.whole,
        first.whole
    );
    assert_eq!(fixture.number("SELECT COUNT(*) FROM orders").await, 2);
    invariants::assert_hold(&fixture).await;
}

/// Stops the server with `end`, and restarts it.
async fn gone_and_back(end: fn(&candor_testkit::postgres::Postgres)) {
    let Some(fixture) = fixture(Duration::from_secs(60)).await else {
        return;
    };
    // Several connections are open and idle when the server stops.
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let server = fixture.server.clone();
        tasks.spawn(async move { server.call(CREATE, mug(&format!("first-{number}"))).await });
    }
    let firsts = tasks.join_all().await;
    assert!(firsts.iter().all(|response| !response.is_failure()));
    end(fixture.database.server());
    let response = fixture.server.call(CREATE, mug("second")).await;
    assert_eq!(response.failure(), (4002, ""), "{}", response.whole);
    assert_eq!(response.context("effect"), "none");
    assert!(
        response.context("retryAfterMs").is_u64(),
        "{}",
        response.whole
    );
    fixture.database.server().restart().unwrap();
    let response = fixture.server.call(CREATE, mug("second")).await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
    assert_eq!(fixture.number("SELECT COUNT(*) FROM orders").await, 9);
    invariants::assert_hold(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_server_is_unavailable_until_it_restarts() {
    gone_and_back(|server| server.stop()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn crashed_server_is_unavailable_until_it_restarts() {
    gone_and_back(|server| server.kill()).await;
}

/// Connections that broke while they were idle do not fail a call.
#[tokio::test(flavor = "multi_thread")]
async fn restart_between_calls_fails_no_call() {
    let Some(fixture) = fixture(Duration::from_secs(60)).await else {
        return;
    };
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let server = fixture.server.clone();
        tasks.spawn(async move { server.call(CREATE, mug(&format!("{number}"))).await });
    }
    assert!(
        tasks
            .join_all()
            .await
            .iter()
            .all(|response| !response.is_failure())
    );
    fixture.database.server().restart().unwrap();
    let page = String::from(r#"{"pageSize":1}"#);
    let response = fixture.server.call_text(None, "get-orders", page).await;
    assert!(!response.is_failure(), "{}", response.whole);
    for number in 16..20 {
        let response = fixture.server.call(CREATE, mug(&format!("{number}"))).await;
        assert_eq!(response.status(), "pending", "{}", response.whole);
    }
}
