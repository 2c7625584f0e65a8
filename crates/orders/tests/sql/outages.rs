//! A PostgreSQL that stands still, that is gone, and that is back.

use crate::deadlines::nobody_is_at_work;
use crate::ground::Ground;
use crate::invariants;
use crate::stage::{Plan, Stage};
use serde_json::{Value, json};
use std::time::Duration;

const CREATE: &str = "create-sales-order";

fn mug(key: &str) -> Value {
    json!({ "order": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] }, "idempotencyKey": key })
}

async fn stage(deadline: Duration) -> Option<Stage> {
    let ground = Ground::postgres()?;
    let plan = Plan {
        deadline,
        connections: 4,
        ..Plan::default()
    };
    Some(Stage::planned(ground, plan).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_too_slow_and_then_works() {
    let Some(stage) = stage(Duration::from_millis(800)).await else {
        return;
    };
    let first = stage.house.ask(CREATE, mug("first")).await;
    assert_eq!(first.status(), "pending");
    stage.ground.server().pause();
    for _ in 0..2 {
        let said = stage.house.ask(CREATE, mug("second")).await;
        assert_eq!(said.failure(), (3002, ""), "{}", said.whole);
        assert_eq!(said.context("effect"), "none");
    }
    stage.ground.server().resume();
    nobody_is_at_work(&stage, 0).await;
    assert_eq!(stage.number("SELECT COUNT(*) FROM orders").await, 1);
    let said = stage.house.ask(CREATE, mug("second")).await;
    assert_eq!(said.status(), "pending", "{}", said.whole);
    assert_eq!(
        stage.house.ask(CREATE, mug("first")).await.whole,
        first.whole
    );
    assert_eq!(stage.number("SELECT COUNT(*) FROM orders").await, 2);
    invariants::hold(&stage).await;
}

/// Ended in order, or broken off.
async fn gone_and_back(end: fn(&candor_testkit::postgres::Postgres)) {
    let Some(stage) = stage(Duration::from_secs(60)).await else {
        return;
    };
    // Several connections are open and idle when the server goes.
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let house = stage.house.clone();
        tasks.spawn(async move { house.ask(CREATE, mug(&format!("first-{number}"))).await });
    }
    let firsts = tasks.join_all().await;
    assert!(firsts.iter().all(|said| !said.is_failure()));
    end(stage.ground.server());
    let said = stage.house.ask(CREATE, mug("second")).await;
    assert_eq!(said.failure(), (4002, ""), "{}", said.whole);
    assert_eq!(said.context("effect"), "none");
    assert!(said.context("retryAfterMs").is_u64(), "{}", said.whole);
    stage.ground.server().restart().unwrap();
    let said = stage.house.ask(CREATE, mug("second")).await;
    assert_eq!(said.status(), "pending", "{}", said.whole);
    assert_eq!(stage.number("SELECT COUNT(*) FROM orders").await, 9);
    invariants::hold(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_stopped_is_unavailable_and_then_works() {
    gone_and_back(|server| server.stop()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashed_is_unavailable_and_then_works() {
    gone_and_back(|server| server.kill()).await;
}

/// Connections that broke while nobody used them are nobody's failure.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_calls_is_not_noticed() {
    let Some(stage) = stage(Duration::from_secs(60)).await else {
        return;
    };
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let house = stage.house.clone();
        tasks.spawn(async move { house.ask(CREATE, mug(&format!("{number}"))).await });
    }
    assert!(tasks.join_all().await.iter().all(|said| !said.is_failure()));
    stage.ground.server().restart().unwrap();
    let page = String::from(r#"{"pageSize":1}"#);
    let said = stage.house.ask_text(None, "get-orders", page).await;
    assert!(!said.is_failure(), "{}", said.whole);
    for number in 16..20 {
        let said = stage.house.ask(CREATE, mug(&format!("{number}"))).await;
        assert_eq!(said.status(), "pending", "{}", said.whole);
    }
}
