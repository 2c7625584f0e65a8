//! Limits by client and by tool.

use crate::fixture::guarded::{SECOND, ServerBuilder, order};
use crate::fixture::scripted_adapter::fails;
use candor_orders::RefusalReason;
use serde_json::json;
use std::num::NonZeroU32;
use tokio::time::advance;

fn limited(by_client: u32, by_tool: u32) -> ServerBuilder {
    let mut builder = ServerBuilder::default();
    builder.config.calls_a_minute = NonZeroU32::new(by_client);
    builder.config.tool_calls_a_minute = NonZeroU32::new(by_tool);
    builder
}

#[tokio::test(start_paused = true)]
async fn client_is_limited_over_all_tools_and_others_are_not() {
    let server = limited(2, 0).build();
    assert_eq!(
        server.call_as("a", "get-orders", json!({})).await.summary(),
        "ok"
    );
    advance(10 * SECOND).await;
    assert_eq!(
        server
            .call_as("a", "get-returns", json!({}))
            .await
            .summary(),
        "ok"
    );
    let refused = server
        .call_as("a", "get-products", json!({}))
        .await
        .summary();
    assert_eq!(refused, "3001 retryable none 50000ms");
    assert_eq!(
        server.call_as("b", "get-orders", json!({})).await.summary(),
        "ok"
    );
    assert_eq!(server.adapter.count(), 3);
    advance(50 * SECOND).await;
    assert_eq!(
        server
            .call_as("a", "get-products", json!({}))
            .await
            .summary(),
        "ok"
    );
}

#[tokio::test(start_paused = true)]
async fn tool_is_limited_for_each_client() {
    let server = limited(0, 1).build();
    for client in ["a", "b"] {
        assert_eq!(
            server
                .call_as(client, "get-orders", json!({}))
                .await
                .summary(),
            "ok"
        );
        let again = server
            .call_as(client, "get-orders", json!({}))
            .await
            .summary();
        assert_eq!(again, "3001 retryable none 60000ms");
        let change = server.call_as(client, "create-sales-order", order()).await;
        assert_eq!(change.summary(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn call_refused_by_one_limit_does_not_use_the_other() {
    let server = limited(2, 2).build();
    let call = |tool| server.call_as("a", tool, json!({}));
    for tool in ["get-returns", "get-returns"] {
        assert_eq!(call(tool).await.summary(), "ok");
    }
    advance(30 * SECOND).await;
    // Refused by the client's limit: the quota of the tool is unchanged.
    for _ in 0..5 {
        assert_eq!(
            call("get-orders").await.summary(),
            "3001 retryable none 30000ms"
        );
    }
    advance(30 * SECOND).await;
    for _ in 0..2 {
        assert_eq!(call("get-orders").await.summary(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn wait_is_enough_for_both_limits() {
    let server = limited(2, 1).build();
    let call = |tool| server.call_as("a", tool, json!({}));
    assert_eq!(call("get-orders").await.summary(), "ok");
    advance(20 * SECOND).await;
    assert_eq!(call("get-returns").await.summary(), "ok");
    // The client may call in 40 seconds, but this tool not before 60.
    assert_eq!(
        call("get-returns").await.summary(),
        "3001 retryable none 60000ms"
    );
    assert_eq!(
        call("get-orders").await.summary(),
        "3001 retryable none 40000ms"
    );
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_are_not_counted_by_the_limits() {
    let server = limited(1, 1).build();
    for _ in 0..3 {
        let wrong = server.call("get-orders", json!({ "pageSize": 0 })).await;
        assert_eq!(wrong.summary(), "2001 none");
    }
    assert_eq!(server.find().await.summary(), "ok");
}

#[tokio::test(start_paused = true)]
async fn no_limits_allow_any_number_of_calls() {
    let server = ServerBuilder::default()
        .with_every_call(fails(RefusalReason::OrderNotFound))
        .build();
    for _ in 0..1000 {
        assert_eq!(server.find().await.summary(), "4001 ORDER_NOT_FOUND none");
    }
}
