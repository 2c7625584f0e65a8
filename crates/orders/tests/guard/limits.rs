//! How many calls may be made: by client, by tool, and by nobody's count.

use crate::house::{Plan, SECOND, order};
use crate::scripted::fails;
use candor_orders::RefusalReason;
use serde_json::json;
use std::num::NonZeroU32;
use tokio::time::advance;

fn limited(by_client: u32, by_tool: u32) -> Plan {
    let mut plan = Plan::default();
    plan.config.calls_a_minute = NonZeroU32::new(by_client);
    plan.config.tool_calls_a_minute = NonZeroU32::new(by_tool);
    plan
}

#[tokio::test(start_paused = true)]
async fn a_client_is_limited_over_all_its_tools_and_others_are_not() {
    let house = limited(2, 0).house();
    assert_eq!(
        house.ask_as("a", "get-orders", json!({})).await.told(),
        "ok"
    );
    advance(10 * SECOND).await;
    assert_eq!(
        house.ask_as("a", "get-returns", json!({})).await.told(),
        "ok"
    );
    let refused = house.ask_as("a", "get-products", json!({})).await.told();
    assert_eq!(refused, "3001 retryable none 50000ms");
    assert_eq!(
        house.ask_as("b", "get-orders", json!({})).await.told(),
        "ok"
    );
    assert_eq!(house.adapter.count(), 3);
    advance(50 * SECOND).await;
    assert_eq!(
        house.ask_as("a", "get-products", json!({})).await.told(),
        "ok"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_limited_for_each_client() {
    let house = limited(0, 1).house();
    for client in ["a", "b"] {
        assert_eq!(
            house.ask_as(client, "get-orders", json!({})).await.told(),
            "ok"
        );
        let again = house.ask_as(client, "get-orders", json!({})).await.told();
        assert_eq!(again, "3001 retryable none 60000ms");
        let change = house.ask_as(client, "create-sales-order", order()).await;
        assert_eq!(change.told(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_one_limit_refuses_uses_up_no_other() {
    let house = limited(2, 2).house();
    let ask = |tool| house.ask_as("a", tool, json!({}));
    for tool in ["get-returns", "get-returns"] {
        assert_eq!(ask(tool).await.told(), "ok");
    }
    advance(30 * SECOND).await;
    // Refused for the client's sake: the quota of the tool is as it was.
    for _ in 0..5 {
        assert_eq!(
            ask("get-orders").await.told(),
            "3001 retryable none 30000ms"
        );
    }
    advance(30 * SECOND).await;
    for _ in 0..2 {
        assert_eq!(ask("get-orders").await.told(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_enough_for_both_limits() {
    let house = limited(2, 1).house();
    let ask = |tool| house.ask_as("a", tool, json!({}));
    assert_eq!(ask("get-orders").await.told(), "ok");
    advance(20 * SECOND).await;
    assert_eq!(ask("get-returns").await.told(), "ok");
    // The client may call in 40 seconds, but this tool not before 60.
    assert_eq!(
        ask("get-returns").await.told(),
        "3001 retryable none 60000ms"
    );
    assert_eq!(
        ask("get-orders").await.told(),
        "3001 retryable none 40000ms"
    );
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_and_missing_permission_are_not_counted() {
    let house = limited(1, 1).house();
    for _ in 0..3 {
        let wrong = house.ask("get-orders", json!({ "pageSize": 0 })).await;
        assert_eq!(wrong.told(), "2001 none");
    }
    assert_eq!(house.find().await.told(), "ok");
}

#[tokio::test(start_paused = true)]
async fn without_limits_nobody_is_limited() {
    let house = Plan::default()
        .always(fails(RefusalReason::OrderNotFound))
        .house();
    for _ in 0..1000 {
        assert_eq!(house.find().await.told(), "4001 ORDER_NOT_FOUND none");
    }
}
